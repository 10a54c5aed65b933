"""Whatever members say, true to the schema or not, and whatever the trainer does: nothing is raised, nothing grows,
no epoch goes back, and once the liars fall silent the participant trains again."""

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.api.score import Score
from core.averaging.grid.plans import GRID_MESSAGES
from core.averaging.matchmaking import GROUP_MESSAGES, Call
from core.averaging.messages import ROUND_MESSAGES
from core.averaging.plan import Member
from core.base.bounds import EPOCH_MAX, FOLLOWED_EPOCH_MAX, SAMPLES_MAX
from core.base.ids import PEER_ID_BYTES
from core.base.machine import Lost
from core.base.work import Collect, Collected, Evaluate, Evaluated, Loaded, Stepped
from core.dht.events import Found
from core.dht.messages import Record
from core.swarm.epoch.contributing import ANSWER_S
from core.swarm.words import orders
from core.swarm.words.answers import TrainerGone
from core.swarm.words.epoch import Phase
from core.swarm.words.messages import ChunkAsk, ChunkGive, StateAsk, StateDenied, StateDone, StateOffer
from core.swarm.words.progress import encode_report, progress_key
from core.swarm.words.states import State, StateName
from tests.sim.probes import reachable_bytes
from tests.sim.swarm.disk import fields_of
from tests.unit.averaging import test_fuzz as fuzz
from tests.unit.swarm.stage import FIRST, RUN, Stage, own_row, peer, plan_of, report_of

OWN = Stage().file
LIARS = 3
BYTES_MAX = 2 * 1024 * 1024

fuzz_fields = {
    **fuzz.FIELDS,
    "epoch": st.sampled_from([0, 0, 0, 1, EPOCH_MAX]),
    "lineage": st.sampled_from([FIRST.lineage, FIRST.lineage, bytes(32)]),
    "attempt": st.sampled_from([0, 1, 10_000]),
}
epochs = st.sampled_from([0, 1, FOLLOWED_EPOCH_MAX, EPOCH_MAX])
digests = st.sampled_from([OWN.digest, b"d" * 32, bytes(32)])
times = st.sampled_from([float("nan"), float("inf"), -1.0, 0.0, 900.0, 1000.0, 1050.0, 1e300])
reports = st.builds(
    lambda epoch, **fields: encode_report(report_of(StateName(epoch, fields.pop("lineage")), **fields)),
    epoch=st.sampled_from([0, 0, 1, 5, FOLLOWED_EPOCH_MAX, EPOCH_MAX, 2**53 - 1, 2**60]),
    lineage=st.sampled_from([FIRST.lineage, FIRST.lineage, b"\xff" * 32]),
    time=times,
    digest=st.one_of(digests, st.binary(max_size=3)),
    samples=st.sampled_from([0, 1, 1000, SAMPLES_MAX, 2**53 - 1, -1]),
    samples_per_s=st.sampled_from([0.0, 1e12, float("nan"), float("inf")]),
    in_step=st.booleans(),
    host=st.text(max_size=62),
    port=st.integers(-1, 70_000),
    heldout_loss=st.one_of(st.none(), st.floats()),
    heldout_epoch=st.sampled_from([0, EPOCH_MAX]),
)
state_messages = st.one_of(
    st.builds(StateAsk, digests),
    st.builds(
        StateOffer,
        digests,
        st.sampled_from([1, OWN.size_bytes, 2**60]),
        st.sampled_from([list(OWN.chunks), [bytes(32)], [bytes(32)] * 1000]),
    ),
    st.builds(StateDenied, digests, st.sampled_from([0.0, 600.0])),
    st.builds(StateDone, digests),
    st.builds(ChunkAsk, digests, st.sampled_from([0, 1, 59_999])),
    st.builds(
        ChunkGive, digests, st.sampled_from([0, 1, 59_999]), st.sampled_from([b"", OWN.read(0), b"x"]).map(memoryview)
    ),
)
kinds = st.sampled_from([*GROUP_MESSAGES, *ROUND_MESSAGES, *GRID_MESSAGES])
averaging_messages = kinds.flatmap(lambda kind: fuzz.message_of(kind, fuzz_fields))
liars = st.integers(1, LIARS)
Step = tuple[str, Any, Any]
steps: st.SearchStrategy[list[Step]] = st.lists(
    st.one_of(
        st.tuples(st.just("says"), liars, averaging_messages),
        st.tuples(st.just("says in my round"), liars, averaging_messages),
        st.tuples(st.just("says"), liars, state_messages),
        st.tuples(st.just("reports"), liars, st.one_of(reports, reports, st.binary(max_size=40))),
        st.tuples(st.just("calls and plans"), liars, st.sampled_from([4, 4, 2**40])),
        st.tuples(st.just("promises"), liars, st.tuples(epochs, digests)),
        st.tuples(st.just("gives"), liars, st.sampled_from(["offer", "all"])),
        st.tuples(st.just("lost"), liars, st.none()),
        st.tuples(st.just("trainer"), st.sampled_from(["answer", "answer", "go", "come", "progress"]), st.none()),
        st.tuples(st.just("wait"), st.sampled_from([0.1, 1.0, 7.0]), st.none()),
    ),
    min_size=5,
    max_size=40,
)


class Trainer:
    """Answers what it was ordered, when it is told to."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.done = 0
        self.held = State(FIRST, OWN.digest, "here")

    def answer(self) -> None:
        stage = self.stage
        while self.done < len(stage.said):
            order = stage.said[self.done]
            self.done += 1
            match order:
                case Collect():
                    stage.answer(Collected(round=order.round, epoch=0, samples=4, loss=1.0))
                case orders.Absorb():
                    self.held = State(order.name, OWN.digest, "here")
                    stage.answer(Stepped(**fields_of(self.held)))
                case orders.Load():
                    stage.answer(Loaded(**fields_of(self.held)))
                case Evaluate():
                    stage.answer(Evaluated(epoch=self.held.name.epoch, score=Score(2.0), baselines={}))
                case orders.Restart():
                    self.go()
                    self.come()

    def progress(self) -> None:
        self.stage.progress(samples=50, samples_per_s=3.0, loss=1.0)

    def go(self) -> None:
        if self.stage.phase is not Phase.IDLE:
            self.done = len(self.stage.said)
            self.stage.answer(TrainerGone())

    def come(self) -> None:
        if self.stage.phase is Phase.IDLE:
            self.done = len(self.stage.said)
            self.stage.ready(self.held.name)


def play(stage: Stage, trainer: Trainer, step: Step) -> None:  # noqa: C901 - a table of what may happen
    match step:
        case ("says", number, message):
            stage.tell(number, message)
        case ("says in my round", number, message):
            current = stage.actor.rounds.current
            if current is not None and hasattr(message, "round"):
                stage.tell(number, type(message)(**{**_fields(message), "round": current}))
        case ("calls and plans", number, samples):
            _call_and_plan(stage, trainer, number, samples)
        case ("promises", number, (epoch, digest)):
            state = StateName(epoch, FIRST.lineage if epoch == 0 else b"\xff" * 32)
            report = report_of(state, time=stage.now, digest=digest, samples=SAMPLES_MAX)
            stage.read(**{f"p{number}": report})
        case ("gives", number, what):
            play(stage, trainer, ("promises", number, (FOLLOWED_EPOCH_MAX, OWN.digest)))
            stage.tell(number, StateOffer(OWN.digest, OWN.size_bytes, list(OWN.chunks)))
            if what == "all":
                stage.tell(number, ChunkGive(OWN.digest, 0, memoryview(OWN.read(0))))
        case ("reports", number, value):
            subkey = bytes(peer(number))
            record = Record(subkey[:PEER_ID_BYTES], value, int((stage.now + 20) * 1000), bytes(64))
            stage.hear(stage.actor.handle(Found(progress_key(RUN), (record,)), stage.now))
        case ("lost", number, _):
            stage.hear(stage.actor.handle(Lost(peer(number), "x"), stage.now))
        case ("wait", seconds, _):
            stage.wait(seconds)
        case ("trainer", what, _):
            getattr(trainer, what)()


def _fields(message: Any) -> dict[str, Any]:
    return {name: getattr(message, name) for name in message.__struct_fields__}


def _call_and_plan(stage: Stage, trainer: Trainer, number: int, samples: int) -> None:
    """A liar gets the participant into a round."""
    stage.tell(number, Call(FIRST.epoch, FIRST.lineage, 0, len(stage.said)))
    trainer.answer()
    members = [own_row(stage, 4), Member(peer(number), samples, 1.0)]
    round_ = stage.actor.rounds.current or bytes(32)
    stage.tell(number, plan_of(round_, number, members, stage.actor.settings.averaging))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps)
def test_nothing_that_members_say_stops_a_participant(happenings: list[Step]) -> None:
    stage = Stage()
    trainer = Trainer(stage)
    stage.ready()
    trainer.done = len(stage.said)
    held = FIRST
    for step in happenings:
        before = len(stage.said)
        play(stage, trainer, step)
        assert len(stage.said) - before < 3000
        assert stage.held is not None
        assert stage.held >= held
        held = stage.held
    assert reachable_bytes(stage.actor) < BYTES_MAX
    trainer.come()
    for _ in range(30):
        trainer.answer()
        stage.wait(ANSWER_S / 10)
    trainer.answer()
    assert stage.phase is Phase.TRAINING
