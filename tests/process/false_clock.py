"""Runs the program on a computer with false clocks.

python -m tests.process.false_clock FILE WORDS...     as `python -m core WORDS...`

The file says how many seconds the wall clock is ahead, and how many the steady clock has gone on beyond the others'.
"""

import runpy
import sys
import time
from pathlib import Path

if __name__ == "__main__":
    file, wall, steady = Path(sys.argv[1]), time.time, time.clock_gettime  # noqa: TID251 - what is made false
    time.time = lambda: wall() + float(file.read_text().split()[0])  # noqa: TID251
    time.clock_gettime = lambda kind: steady(kind) + float(file.read_text().split()[1])
    sys.argv = sys.argv[1:]
    runpy.run_module("core", run_name="__main__")
