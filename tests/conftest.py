"""What all tests share."""

import gc
import itertools
import os
import sys
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("OMP_NUM_THREADS", "1")
"""Several processes of tests share the cores: threads of torch that wait for one another would take them away."""
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
"""Where a test has two threads all the same, the one that waits sleeps."""
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
"""The program is started hundreds of times: it is compiled once."""
if "PYTEST_XDIST_WORKER" in os.environ and hasattr(os, "nice"):
    os.nice(10)
    """Workers and readers of the program step back for others, and several processes of tests leave no core idle."""

settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""No example has a time in which it must be found or must end: others compute on the same cores."""
settings.load_profile("any machine")

gc.set_threshold(10_000, 20, 50)
"""Simulated worlds make and drop millions of objects, hardly any in a circle: looking took an eighth of the time."""

Files = Sequence[Sequence[pytest.Item]]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let each process that runs tests begin with its share of the slow ones: none is left to the end."""
    if "POTLUCK_LONG" not in os.environ:
        for item in items:
            if item.get_closest_marker("long"):
                item.add_marker(pytest.mark.skip(reason="It takes long, and runs when asked for: POTLUCK_LONG=1."))
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if processes == 1:
        return
    files = [list(tests) for _, tests in itertools.groupby(items, key=lambda item: item.path)]
    slow, quick = ([file for file in files if is_slow(file) is wanted] for wanted in (True, False))
    items[:] = dealt(slow, quick, processes)


def is_slow(file: Sequence[pytest.Item]) -> bool:
    """Whether the tests of a file start processes or draw windows."""
    return any(file[0].get_closest_marker(name) for name in ("process", "gui"))


def dealt(slow: Files, quick: Files, processes: int) -> list[pytest.Item]:
    """The tests in the order in which xdist cuts them into parts of one length, one for each process.

    Args:
        slow: Files of slow tests: they are dealt out, and come first in each part.
        quick: Files of other tests, which fill the parts up.
        processes: Number of parts.
    """
    rest = list(itertools.chain.from_iterable(quick))
    left = sum(map(len, slow)) + len(rest)
    order: list[pytest.Item] = []
    for number in range(processes):
        part = list(itertools.chain.from_iterable(slow[number::processes]))
        size = left // (processes - number)
        missing = max(0, size - len(part))
        order += [*part, *rest[:missing]]
        rest = rest[missing:]
        left -= size
    return [*order, *rest]


def pytest_collection_finish() -> None:
    """Spare the garbage collector what was imported and collected, which it would look at again and again."""
    gc.collect()
    gc.freeze()
