"""Verdicts of a long run in a file, so that the same command can go on after an interruption."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from core.base.problems import BadInput


class VerdictRecord:
    """Verdicts by seed, one JSON object a line; the first line holds the settings of the run.

    Args:
        path: The file; None: nothing is kept.
        settings: The settings of the run.

    Raises:
        BadInput: the file is of another run, or is not a record.
    """

    def __init__(self, path: Path | None, settings: dict[str, Any]) -> None:
        self.seeds: set[int] = set()
        self._path = path
        self._verdicts: dict[int, dict[str, Any]] = {}
        self._file = None
        if path is None:
            return
        whole = self._read(path, settings) if path.exists() else 0
        try:
            self._file = path.open("r+" if whole else "w", encoding="utf-8")
        except OSError as error:
            raise BadInput(f"The record {path} cannot be written: {error.strerror}.") from error
        if whole:
            self._file.seek(whole)
            self._file.truncate()  # a line that an interruption cut off
        else:
            self._write(settings)

    def verdicts(self, seeds: Sequence[int]) -> Iterator[dict[str, Any]]:
        """Those that an earlier run has left, in the order of `seeds`."""
        self.seeds = self._verdicts.keys() & set(seeds)
        for seed in seeds:
            if seed in self.seeds:
                yield self._verdicts[seed]

    def add(self, verdict: dict[str, Any]) -> None:
        """Append a verdict to the file."""
        self._write(verdict)

    def close(self) -> None:
        """Close the file; nothing more will be kept."""
        if self._file is not None:
            self._file.close()

    def _write(self, fields: dict[str, Any]) -> None:
        if self._file is not None:
            self._file.write(json.dumps(fields) + "\n")
            self._file.flush()

    def _read(self, path: Path, settings: dict[str, Any]) -> int:
        """Read what is there; how many bytes of it are whole lines."""
        try:
            data = path.read_bytes()
        except OSError as error:
            raise BadInput(f"The record {path} cannot be read: {error.strerror}.") from error
        whole = data.rfind(b"\n") + 1
        try:
            first, *others = [json.loads(line) for line in data[:whole].splitlines()] or [settings]
            self._verdicts = {int(verdict["seed"]): verdict for verdict in others}
        except (ValueError, KeyError, TypeError) as error:
            raise BadInput(f"{path} is no record of rounds.", hint="Name another file.") from error
        if first != settings:
            raise BadInput(f"The record {path} is of other rounds.", hint="Name another file.")
        return whole
