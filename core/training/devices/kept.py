"""What a worker has found out about passes on this computer, kept for its next start."""

import contextlib
import sys
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.base.problems import Problem
from core.system.atomic_files import make_directory, read_bounded, write_atomic

FITS_MAX: Final = 16
"""Upper bound on the entries for other devices, models and versions of torch; the last ones found stay."""
FILE_BYTES_MAX: Final = 64 * 1024


class BatchFit(msgspec.Struct, frozen=True):
    """How passes of one model are best computed on one device."""

    size: Annotated[int, Meta(ge=1, le=2**31)]
    """Samples of one pass."""


class KeptFits:
    """A file with a fit for each key.  It saves time and nothing else: where it cannot be used, one goes without.

    Args:
        path: The file.
        key: Names what the fit is about.
    """

    def __init__(self, path: Path, key: str) -> None:
        self._path = path
        self._key = key
        self.fit = self._read().get(key)
        """What was found last; None: nothing yet."""

    def keep(self, fit: BatchFit) -> None:
        """Write what was found, if it is new."""
        if fit == self.fit:
            return
        self.fit = fit
        others = {key: value for key, value in self._read().items() if key != self._key}
        kept = dict([*others.items(), (self._key, fit)][-FITS_MAX:])
        try:
            make_directory(self._path.parent)
            write_atomic(self._path, msgspec.json.format(msgspec.json.encode(kept)))
        except Problem as problem:
            sys.stderr.write(f"{problem}\n")

    def _read(self) -> dict[str, BatchFit]:
        with contextlib.suppress(Problem, ValueError):  # msgspec's errors are ValueErrors
            return msgspec.json.decode(read_bounded(self._path, FILE_BYTES_MAX) or b"{}", type=dict[str, BatchFit])
        return {}
