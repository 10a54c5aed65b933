"""Where cut shards are kept: a folder of this computer, or any address that `fsspec` reads and writes.

What members can read is read as they read it, with the same credentials and bounds on time: only so does it say
anything about them, and a stranger's bucket never sees the credentials that this computer has for a cloud.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from core.api.data_state import DataCode
from core.base.problems import BadInput, UserProblem
from core.system.atomic_files import (
    PRIVATE_FILE,
    make_directory,
    problem_of,
    public_directory,
    public_file,
    write_atomic,
)
from core.text.sources.buckets import PACKAGES, options_of
from core.text.sources.opening import open_origin
from core.text.sources.source import Access, Origin, SourceTrouble, scheme_of, secret_name
from core.text.sources.texts import problem_of_trouble


class CutFolder:
    """Files by their names.

    Args:
        address: The path of a folder, or a URL.
        secrets: Credentials (`Access.secrets`); writing without any uses what this computer has for such an address.

    Raises:
        BadInput: no library that is installed knows such addresses, or they do not take these credentials.
    """

    def __init__(self, address: str, secrets: Mapping[str, str] = MappingProxyType({})) -> None:
        self.address = address.rstrip("/")
        self._folder = None if "://" in address else Path(address)
        self._secrets = secrets
        self._origin: Origin | None = None
        if scheme_of(address) in {"http", "https", "hf", *PACKAGES}:
            self._origin = open_origin(self.address, Access(secrets=secrets))
        elif self._folder is None:
            self._own()

    def read(self, name: str, bytes_max: int) -> bytes | None:
        """A file's first bytes, as members read it; None: there is no such file.

        Args:
            name: Name of the file.
            bytes_max: How many at most.

        Raises:
            UserProblem: it cannot be read.
        """
        if self._origin is None:
            return self.read_back(name, bytes_max)
        try:
            return _begun(self._origin, name, bytes_max)
        except SourceTrouble as trouble:
            if trouble.code == DataCode.MISSING:
                return None
            raise problem_of_trouble(trouble) from trouble

    def read_back(self, name: str, bytes_max: int) -> bytes | None:
        """A file's first bytes, read with the rights of `write`, to go on with what it wrote; None: there is none.

        Args:
            name: Name of the file.
            bytes_max: How many at most.

        Raises:
            UserProblem: it cannot be read.
        """
        try:
            if self._folder is not None:
                with (self._folder / name).open("rb") as file:
                    return file.read(bytes_max)
            files, root = self._own()
            with files.open(f"{root}/{name}", "rb") as file:
                data: bytes = file.read(bytes_max)
                return data
        except FileNotFoundError:
            return None
        except UserProblem:
            raise
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
                make_directory(self._folder, mode=public_directory())
                mode = PRIVATE_FILE if name.startswith(".") else public_file()
                write_atomic(self._folder / name, data, mode=mode)
                return
            files, root = self._own()
            files.makedirs(root, exist_ok=True)
            files.pipe_file(f"{root}/{name}", data)
        except OSError as error:
            raise self._problem(error, name) from error
        except UserProblem:
            raise
        except Exception as error:  # each kind of address raises its own
            raise self._cannot("written", name, error) from error

    def _own(self) -> tuple[Any, str]:
        """The file system of `fsspec`, which keeps it, and the folder in it.

        Raises:
            BadInput: no library that is installed knows such addresses, or they do not take these credentials.
        """
        from fsspec.core import url_to_fs  # noqa: PLC0415 - only those who keep shards elsewhere need it

        scheme, secret = scheme_of(self.address), self._secrets.get(secret_name(self.address), "")
        options = options_of(self.address, secret) if secret and scheme in PACKAGES else {}
        options |= {"token": secret} if secret and scheme == "hf" else {}
        try:
            files, root = url_to_fs(self.address, **options)
        except (ImportError, ValueError) as error:
            hint = "Name a folder, or an address that fsspec knows."
            raise BadInput("{address} cannot be used: {error}.", self.address[:200], error, hint=hint) from error
        return files, root

    def _problem(self, error: OSError, name: str) -> UserProblem:
        if self._folder is not None:
            return problem_of(error, self._folder / name)
        return self._cannot("used", name, error)

    def _cannot(self, what: str, name: str, error: Exception) -> BadInput:
        message = "{address}/{name} cannot be {what}: {error}."
        hint = "Check the address, the connection, and your right to it (potluck data login keeps a password)."
        return BadInput(message, self.address, name, what, str(error)[:200] or type(error).__name__, hint=hint)


def _begun(origin: Origin, name: str, bytes_max: int) -> bytes:
    """The beginning of a file that a server gives."""
    data = bytearray()
    for chunk in origin(name, 0, 0):
        data += chunk
        if len(data) >= bytes_max:
            break
    return bytes(data[:bytes_max])
