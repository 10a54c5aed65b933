"""Many marks, few snapshots - on a simulated clock."""

from itertools import pairwise

from core.control.service import Announcer


def test_at_most_one_an_interval():
    clock = [100.0]
    planned: list[tuple[float, object]] = []
    published: list[float] = []
    announcer = Announcer(
        lambda: published.append(clock[0]),
        later=lambda delay_s, call: planned.append((clock[0] + delay_s, call)),
        now=lambda: clock[0],
        interval_s=0.25,
    )
    for step in range(1000):
        clock[0] = 100.0 + step / 1000
        while planned and planned[0][0] <= clock[0]:
            planned.pop(0)[1]()
        announcer.mark()
    assert published[0] <= 100.001
    assert len(published) in {4, 5}
    assert all(later - earlier >= 0.25 for earlier, later in pairwise(published))
    assert len(planned) == 1


def test_quiet_when_nothing_changes():
    planned: list[object] = []
    Announcer(lambda: None, later=lambda _delay_s, call: planned.append(call), now=lambda: 0.0)
    assert planned == []
