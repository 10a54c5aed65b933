import os

import pytest

from tests.bench.training.reading import one_core


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system does not say which cores may be used")
def test_one_core_is_used_for_a_while() -> None:
    before = os.sched_getaffinity(0)
    with one_core() as is_one:
        assert is_one
        assert len(os.sched_getaffinity(0)) == 1
    assert os.sched_getaffinity(0) == before
