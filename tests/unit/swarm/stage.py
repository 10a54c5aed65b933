"""A participant on its own: the test plays the trainer, the clock and everybody else."""

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np

from core.averaging.feedback import MemoryStore
from core.averaging.matchmaking.plans import PlanRequest, make_plan
from core.averaging.plan import Member, Plan
from core.base.ids import Observed, PeerId
from core.base.machine import Received, Send, Tick
from core.base.manifest import AveragingNumbers
from core.base.work import Progress
from core.codecs.codec import norm_of
from core.dht.events import Found
from core.dht.records import sign_record
from core.swarm.catching_up.fetch import Sinks
from core.swarm.participant import Participant
from core.swarm.presence.beacon import REPORT_LIFETIME_S
from core.swarm.trainer_side import INFORMED_AFTER_S
from core.swarm.words import orders
from core.swarm.words.answers import StateOffered, TrainerAnswer, TrainerReady
from core.swarm.words.epoch import Phase
from core.swarm.words.outputs import Formed
from core.swarm.words.progress import ProgressReport, encode_report, progress_key
from core.swarm.words.settings import ParticipantSettings
from core.swarm.words.states import State, StateName, first_state
from tests.sim.swarm.disk import MemoryFile
from tests.sim.world.signing import SimSigner, SimVerifier
from tests.unit.swarm.test_fetch import MemorySink

RUN = b"r" * 32
NUMEL = 1000
FIRST = first_state(RUN)
FILE = MemoryFile(b"state 0" * 1000)
"""File of the first state."""


def signer(number: int) -> SimSigner:
    return SimSigner.numbered(0, number)


def peer(number: int) -> PeerId:
    return signer(number).peer_id


def report_of(state: StateName = FIRST, /, *, time: float, **changes: Any) -> ProgressReport:
    fields: dict[str, Any] = {
        "role": "volunteer",
        "activity": "training",
        "host": "",
        "port": 0,
        "epoch": state.epoch,
        "lineage": state.lineage,
        "digest": FILE.digest if state == FIRST else b"d" * 32,
        "in_step": True,
        "samples": 0,
        "samples_per_s": 1.0,
        "time": time,
    }
    return ProgressReport(**(fields | changes))


def plan_of(
    round_: bytes, leader: int, members: Sequence[Member], numbers: AveragingNumbers, numel: int = NUMEL
) -> Plan:
    """As `leader` makes it for the first state."""
    request = PlanRequest(round=round_, epoch=FIRST.epoch, lineage=FIRST.lineage, numel=numel, numbers=numbers)
    others = [PeerId(member.peer) for member in members if member.peer != peer(leader)]
    return make_plan(request, members, [peer(leader), *others])


def own_row(stage: "Stage", samples: int, **more: Any) -> Member:
    """What the participant offers."""
    return Member(peer(0), samples, 1.0, norm=norm_of(stage.contribution), **more)


class Stage:
    """The participant under test, and all that it has said."""

    def __init__(
        self,
        *,
        target_samples: int = 100,
        last_epoch: int | None = None,
        seed: int = 0,
        delayed: bool = False,
        averaging: AveragingNumbers | None = None,
        backbone: int | None = None,
    ) -> None:
        self.now = 1000.0
        self.said: list[Any] = []
        self.sink, self.mean_sink = MemorySink(), MemorySink()
        self.file = FILE
        self.actor = Participant(
            settings=ParticipantSettings(
                run=RUN,
                target_samples=target_samples,
                averaging=averaging or AveragingNumbers(chunk_numel=256, delayed=delayed),
                evaluate_every=5,
                role="volunteer",
                met=tuple(peer(number) for number in range(1, 10)),
                last_epoch=last_epoch,
                backbone=None if backbone is None else peer(backbone),
            ),
            signer=signer(0),
            verifier=SimVerifier(),
            random=Random(seed),
            sinks=Sinks(self.sink, self.mean_sink),
        )
        self.passes = True
        """Whether all others have shown their passes."""
        self.contribution = np.ones(NUMEL, dtype=np.float32)
        self.residuals = MemoryStore()
        self.hear(self.actor.start([], now=self.now))

    @property
    def phase(self) -> Phase:
        """Where the participant stands."""
        return self.actor.view(self.now).phase

    @property
    def held(self) -> StateName | None:
        """The state that its trainer holds."""
        return self.actor.view(self.now).state

    def hear(self, outputs: Sequence[Any]) -> list[Any]:
        self.said += outputs
        return list(outputs)

    def ready(self, name: StateName = FIRST) -> None:
        """The trainer is there and the participant trains."""
        self.answer(StateOffered(self.file))
        state = State(name, self.file.digest, "here")
        mean = np.zeros(NUMEL, dtype=np.float32)
        self.answer(TrainerReady(state=state, contribution=self.contribution, mean=mean, residuals=self.residuals))
        self.wait(INFORMED_AFTER_S + 0.1)

    def answer(self, answer: TrainerAnswer) -> list[Any]:
        """The trainer answers."""
        return self.hear(self.actor.handle(answer, self.now))

    def progress(self, *, samples: int, samples_per_s: float, loss: float, ahead: int = 0) -> list[Any]:
        """The trainer says how far it is with the state that it holds."""
        assert self.held is not None
        counted = Progress(epoch=self.held.epoch, samples=samples, samples_per_s=samples_per_s, loss=loss, ahead=ahead)
        return self.answer(counted)

    def formed(self) -> list[Any]:
        """The group of the round stands; the participant leaves its plan to `Rounds`."""
        return self.hear(self.actor.handle(Formed(None), self.now))  # type: ignore[arg-type]

    def wait(self, seconds: float) -> list[Any]:
        """Let time pass, with a Tick at each deadline; returns what was said meanwhile."""
        until, before = self.now + seconds, len(self.said)
        while (deadline := self.actor.deadline) is not None and deadline <= until:
            self.now = max(self.now, deadline)
            self.hear(self.actor.handle(Tick(), self.now))
        self.now = until
        return self.said[before:]

    def read(self, **reports: ProgressReport) -> list[Any]:
        """A read of the DHT brings these reports, by the number of their peers: p1=..., p2=..."""
        records = []
        for name, report in reports.items():
            who = signer(int(name[1:]))
            if self.passes:
                self.hear(self.actor.handle(Observed(who.peer_id, f"198.51.100.{name[1:]}", 4000), self.now))
            expires_ms = int((self.now + REPORT_LIFETIME_S) * 1000)
            records.append(
                sign_record(
                    who, progress_key(RUN), encode_report(report), subkey=bytes(who.peer_id), expires_ms=expires_ms
                )
            )
        return self.hear(self.actor.handle(Found(progress_key(RUN), tuple(records)), self.now))

    def tell(self, number: int, message: Any) -> list[Any]:
        return self.hear(self.actor.handle(Received(peer(number), message), self.now))

    def heard_by(self, number: int, kind: type) -> list[Any]:
        """Messages of a class that went to a peer."""
        return [
            o.message for o in self.said if isinstance(o, Send) and o.to == peer(number) and type(o.message) is kind
        ]

    def ordered(self, kind: type[orders.TrainerOrder]) -> list[Any]:
        return [output for output in self.said if isinstance(output, kind)]
