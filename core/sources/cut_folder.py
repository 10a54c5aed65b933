"""Where cut shards are kept: a folder of this computer, or any address that `fsspec` reads and writes."""

from pathlib import Path
from typing import Any

from core.base.problems import BadInput, UserProblem
from core.system.atomic_files import (
    PRIVATE_FILE,
    PUBLIC_DIRECTORY,
    PUBLIC_FILE,
    make_directory,
    problem_of,
    users_umask,
    write_atomic,
)


class CutFolder:
    """Files by their names.

    Args:
        address: The path of a folder, or a URL.

    Raises:
        BadInput: no library that is installed knows such addresses.
    """

    def __init__(self, address: str) -> None:
        self.address = address.rstrip("/")
        self._folder = None if "://" in address else Path(address)
        self._files: Any = None
        if self._folder is None:
            from fsspec.core import url_to_fs  # noqa: PLC0415 - only those who keep shards elsewhere need it

            try:
                self._files, self._root = url_to_fs(self.address)
            except (ImportError, ValueError) as error:
                raise BadInput(
                    f"{address[:200]} cannot be used: {error}.", hint="Name a folder, or an address that fsspec knows."
                ) from error

    def read(self, name: str, bytes_max: int) -> bytes | None:
        """A file's first bytes; None: there is no such file.

        Args:
            name: Of the file.
            bytes_max: How many at most.

        Raises:
            UserProblem: it cannot be read.
        """
        try:
            if self._folder is not None:
                with (self._folder / name).open("rb") as file:
                    return file.read(bytes_max)
            with self._files.open(f"{self._root}/{name}", "rb") as file:
                data: bytes = file.read(bytes_max)
                return data
        except FileNotFoundError as error:
            if isinstance(error.__cause__, OSError):  # a server that cannot be reached
                raise BadInput(
                    f"{self.address} does not answer.", hint="Check the address and the connection, and try again."
                ) from error
            return None
        except OSError as error:
            raise self._problem(error, name) from error
        except Exception as error:  # each kind of address raises its own
            raise self._cannot("read", name, error) from error

    def write(self, name: str, data: bytes) -> None:
        """Keep a file, whole or not at all, in the place of an earlier one.

        In a folder others may read it, a web server among them, unless its name begins with a full stop, or the
        person's own umask forbids it.

        Raises:
            UserProblem: it cannot be written.
        """
        try:
            if self._folder is not None:
                hidden = users_umask()
                make_directory(self._folder, mode=PUBLIC_DIRECTORY & ~hidden)
                mode = PRIVATE_FILE if name.startswith(".") else PUBLIC_FILE & ~hidden
                write_atomic(self._folder / name, data, mode=mode)
                return
            self._files.makedirs(self._root, exist_ok=True)
            self._files.pipe_file(f"{self._root}/{name}", data)
        except OSError as error:
            raise self._problem(error, name) from error
        except UserProblem:
            raise
        except Exception as error:  # each kind of address raises its own
            raise self._cannot("written", name, error) from error

    def _problem(self, error: OSError, name: str) -> UserProblem:
        if self._folder is not None:
            return problem_of(error, self._folder / name)
        return self._cannot("used", name, error)

    def _cannot(self, what: str, name: str, error: Exception) -> BadInput:
        return BadInput(
            f"{self.address}/{name} cannot be {what}: {str(error)[:200] or type(error).__name__}.",
            hint="Check the address, the connection, and your right to it.",
        )
