import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.swarm.words.epoch import TRANSITIONS, Cue, EpochMachine, Phase
from core.swarm.words.states import State, StateName


def state(epoch: int) -> State:
    return State(StateName(epoch, bytes(32)), b"d" * 32, "somewhere")


def test_an_epoch_goes_round() -> None:
    machine = EpochMachine()
    machine.begin(state(0), 1.0)
    for cue in (Cue.INFORMED, Cue.WANTED, Cue.COLLECTED, Cue.PLANNED, Cue.COMMITTED):
        machine.advance(cue, 1.0)
    machine.hold(state(1))
    machine.advance(Cue.STEPPED, 1.0)
    assert machine.phase is Phase.TRAINING
    assert machine.state == state(1)


@given(st.lists(st.sampled_from(list(Cue)), max_size=60))
def test_only_the_table_moves_it(cues: list[Cue]) -> None:
    machine = EpochMachine()
    for cue in cues:
        before = machine.phase
        if machine.may(cue):
            machine.advance(cue, 1.0)
            assert machine.phase is TRANSITIONS[before, cue]
        else:
            with pytest.raises(ValueError, match="in phase"):
                machine.advance(cue, 1.0)
            assert machine.phase is before


def test_every_phase_can_be_reached_and_left() -> None:
    reached = {Phase.IDLE}
    while True:
        more = {after for (before, _), after in TRANSITIONS.items() if before in reached} | reached
        if more == reached:
            break
        reached = more
    assert reached == set(Phase)
    for phase in Phase:
        assert any(before is phase for before, _ in TRANSITIONS)
