from hypothesis import given
from hypothesis import strategies as st

from core.swarm.words.states import StateName, first_state

names = st.builds(StateName, st.integers(0, 2**40), st.binary(min_size=32, max_size=32))


def test_everybody_starts_from_the_same_state() -> None:
    assert first_state(b"m" * 32) == StateName(0, b"m" * 32)


@given(names, st.binary(min_size=1, max_size=40))
def test_next_state_is_the_same_on_all_members(name: StateName, outcome: bytes) -> None:
    one = name.next(round_id=b"r", outcome=outcome)
    assert one == name.next(round_id=b"r", outcome=outcome)
    assert one.epoch == name.epoch + 1
    assert len(one.lineage) == 32


def test_same_outcome_after_another_state_has_another_name() -> None:
    parents = StateName(7, b"a" * 32), StateName(7, b"b" * 32)
    assert len({parent.next(round_id=b"r", outcome=b"o") for parent in parents}) == 2


def test_other_rounds_and_other_outcomes_have_other_names() -> None:
    name = first_state(bytes(32))
    children = {name.next(round_id=round_id, outcome=outcome) for round_id in (b"a", b"b") for outcome in (b"c", b"d")}
    assert len(children) == 4
