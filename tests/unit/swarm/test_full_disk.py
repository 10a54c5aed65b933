"""A participant whose disk has no room for the others' state."""

from core.base.problems import NoSpace
from core.swarm.words.messages import StateOffer
from core.swarm.words.orders import StateNotTaken
from core.swarm.words.states import StateName
from tests.sim.swarm.disk import MemoryFile
from tests.unit.swarm.stage import Stage, report_of


def test_disk_that_refuses_a_state_is_told_to_the_person() -> None:
    stage, file = Stage(), MemoryFile(b"state 1" * 1000)
    stage.ready()

    def full(*_: object) -> set[int]:
        raise NoSpace("The disk is full.", hint="Free some space.")

    stage.sink.begin = full  # type: ignore[method-assign]
    stage.read(p1=report_of(StateName(1, b"\xff" * 32), time=stage.now, digest=file.digest))
    stage.tell(1, StateOffer(file.digest, file.size_bytes, list(file.chunks)))
    [told] = [str(output.why) for output in stage.said if isinstance(output, StateNotTaken)]
    assert told == "The disk is full. Free some space."
