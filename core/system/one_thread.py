"""numpy on one thread, in processes that average beside a worker that has all cores.

OpenBLAS, with which numpy comes, shares small products among all cores.  Its threads wait for each other, long where
others have the cores: rounds of proven means took eight times as long.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

THREADS: Final = "OPENBLAS_NUM_THREADS"
"""What OpenBLAS reads while it is loaded."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Load numpy meanwhile, unless the person says on how many threads; programs started afterwards are not told."""
    if THREADS in os.environ:
        yield
        return
    os.environ[THREADS] = "1"
    try:
        yield
    finally:
        del os.environ[THREADS]
