from random import Random

from core.swarm.back_off import DOUBTS_MAX, BackOff


def test_rests_grow_to_their_limit_and_end_when_it_was_good_after_all() -> None:
    doubts = BackOff(first_s=1.0, longest_s=8.0, random=Random(1))
    rests = [doubts.failed("x", 100.0) - 100.0 for _ in range(6)]
    for rest, middle in zip(rests, (1, 2, 4, 8, 8, 8), strict=True):
        assert 0.5 * middle <= rest <= 1.5 * middle
    assert doubts.resting("x", 101.0)
    assert not doubts.resting("x", 113.0)
    assert not doubts.resting("y", 100.0)
    doubts.cleared("x")
    assert not doubts.resting("x", 101.0)
    assert doubts.failed("y", 100.0, times=3) - 100.0 >= 2.0


def test_only_so_many_are_remembered() -> None:
    doubts = BackOff(first_s=1.0, longest_s=8.0, random=Random(1))
    for number in range(DOUBTS_MAX + 1):
        doubts.failed(number, 100.0)
    assert not doubts.resting(0, 100.1)
    assert doubts.resting(1, 100.1)
