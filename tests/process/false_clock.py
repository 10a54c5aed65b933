"""Runs the program on a computer with false clocks.

python -m tests.process.false_clock FILE WORDS...     as `python -m core WORDS...`

The file says how many seconds the wall clock is ahead, and how many the steady clock has gone on beyond the others'.
"""

import runpy
import sys
import time
from pathlib import Path


class FalseClock:
    """A computer whose clocks can be set; `program` stands in for `python -m core`."""

    def __init__(self, folder: Path, name: str, ahead_s: float = 0.0) -> None:
        self._file = folder / f"{name}.clock"
        self.set(ahead_s)
        self.program = (sys.executable, "-m", "tests.process.false_clock", str(self._file))

    def set(self, ahead_s: float, *, steady_s: float = 0.0) -> None:
        before = self._file.with_suffix(".new")
        before.write_text(f"{ahead_s} {steady_s}")
        before.replace(self._file)


if __name__ == "__main__":
    file, wall, steady = Path(sys.argv[1]), time.time, time.clock_gettime  # noqa: TID251 - what is made false
    time.time = lambda: wall() + float(file.read_text().split()[0])  # noqa: TID251
    time.clock_gettime = lambda kind: steady(kind) + float(file.read_text().split()[1])
    sys.argv = sys.argv[1:]
    runpy.run_module("core", run_name="__main__")
