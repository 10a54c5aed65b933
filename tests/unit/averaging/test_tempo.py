"""With the pace or without: whichever rounds show to be quicker."""

import pytest

from core.averaging.bandwidth.tempo import BETTER, FIRST, OTHER_OF, Tempo


def live(tempo: Tempo, rounds: int, *, free: float, paced: float) -> list[bool]:
    chosen = []
    for _ in range(rounds):
        chosen.append(tempo.paced)
        tempo.late(paced if chosen[-1] else free, paced=chosen[-1])
    return chosen


def test_lines_are_learned_before_the_pace_is_tried() -> None:
    assert live(Tempo(), 2 * FIRST, free=1.3, paced=1.0) == [False] * FIRST + [True] * FIRST


@pytest.mark.parametrize(("free", "paced", "better"), [(1.4, 1.02, True), (1.2, 1.5, False), (1.0, BETTER, False)])
def test_the_quicker_way_is_taken_and_the_other_tried_now_and_then(free: float, paced: float, *, better: bool) -> None:
    tempo = Tempo()
    live(tempo, 2 * FIRST, free=free, paced=paced)
    chosen = live(tempo, 10 * OTHER_OF, free=free, paced=paced)
    assert chosen.count(better) == len(chosen) - 10


def test_what_changes_is_found_out() -> None:
    tempo = Tempo()
    live(tempo, 40, free=1.4, paced=1.0)
    live(tempo, 8 * OTHER_OF, free=1.0, paced=1.4)
    assert live(tempo, 8, free=1.0, paced=1.4).count(True) <= 1


def test_rounds_are_late_beside_others_of_their_kind() -> None:
    tempo = Tempo()
    for _ in range(5):
        tempo.late(2.0, paced=False)
        tempo.late(1.0, paced=True)
    assert tempo.usual(paced=False) == 2.0
    assert not tempo.late(2.1, paced=False)
    assert tempo.late(2.1, paced=True)
