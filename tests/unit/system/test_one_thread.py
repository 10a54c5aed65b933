"""An engine computes on one thread, and what it starts is free to use more."""

import os
import subprocess
import sys

import pytest

from core.system.one_thread import THREADS

PROGRAM = f"""
import os, psutil
from core.__main__ import main
main(["--version"])
from core.base.arrays import np
print(psutil.Process().num_threads(), end=" ")
np.ones((512, 512)) @ np.ones((512, 512))
print(psutil.Process().num_threads(), os.environ.get({THREADS!r}, "unset"))
"""


def threads(**variables: str) -> list[str]:
    environment = {name: value for name, value in os.environ.items() if name not in (THREADS, "OMP_NUM_THREADS")}
    order = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(order, env={**environment, **variables}, capture_output=True, text=True, check=True)
    return done.stdout.split()[-3:]


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="One core has one thread.")
def test_products_start_no_threads_and_programs_are_not_told() -> None:
    before, after, told = threads()
    assert before == after
    assert told == "unset"


@pytest.mark.skipif((os.cpu_count() or 1) < 2 or sys.platform != "linux", reason="There OpenBLAS has no threads.")
def test_a_number_that_the_person_chose_stays() -> None:
    before, after, told = threads(**{THREADS: "2"})
    assert (int(after) - int(before), told) == (1, "2")
