"""The process that puts one copy of the model at a mirror: it may hang, and is killed then."""

import contextlib
import hashlib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from core.base.data_source import SECRETS
from core.system.child_process import end_with_parent

DIGEST: Final = ".sha256"
_BLOCK_BYTES: Final = 1 << 20


def put_copy(address: str, copy: Path) -> None:
    """Have a file at an address, with its digest beside it as `sha256sum -c` reads it.

    A file that is there with this digest is left; what is there in part is written anew, and the digest comes last.

    Args:
        address: Of a folder, as fsspec has it.
        copy: The file.

    Raises:
        OSError: the mirror does not take it; fsspec's packages raise others, too.
    """
    import fsspec  # noqa: PLC0415 - only where there is a mirror

    files, folder = fsspec.core.url_to_fs(address)
    target = f"{folder.rstrip('/')}/{copy.name}"
    line = f"{_sha256(copy)}  {copy.name}\n".encode()
    if _is_there(files, target, line, copy.stat().st_size):
        return
    with contextlib.suppress(NotImplementedError):
        files.makedirs(folder, exist_ok=True)
    options = {"method": "put"} if address.startswith(("http://", "https://")) else {}
    with tempfile.TemporaryDirectory(prefix="potluck-mirror-") as beside:
        told = Path(beside, f"{copy.name}{DIGEST}")
        told.write_bytes(line)
        files.put_file(str(copy), target, **options)
        files.invalidate_cache()
        size = files.info(target).get("size")
        if size not in {None, copy.stat().st_size}:
            raise OSError(f"it has {size} bytes of {copy.stat().st_size}")
        files.put_file(str(told), f"{target}{DIGEST}", **options)


def _is_there(files: Any, target: str, line: bytes, size: int) -> bool:
    try:
        return bool(files.info(target).get("size") == size and files.cat_file(f"{target}{DIGEST}") == line)
    except Exception:  # noqa: BLE001 - each package has its own way to say that nothing is there
        return False


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()


def main(argv: list[str]) -> None:
    """Put the copy whose path is the argument at the address among the secrets, and print what has come of it."""
    end_with_parent()
    fault = ""
    try:
        put_copy(json.loads(os.environ.pop(SECRETS))["mirror"], Path(argv[0]))
    except ModuleNotFoundError as error:
        fault = f"It needs {error.name}, which is not installed: pip install {error.name}"
    except Exception as error:  # noqa: BLE001 - fsspec's packages raise what they like
        fault = f"{type(error).__name__}: {error}"
    print(json.dumps({"event": "mirrored", "fault": fault}), flush=True)  # noqa: T201 - its answer


if __name__ == "__main__":
    main(sys.argv[1:])
