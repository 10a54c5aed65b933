"""One peer of `python -m tests.bench averaging`: a host, a vector, and rounds, whose group is found each time."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, ClassVar

import psutil

from core.api.snapshot import HELPER, VOLUNTEER
from core.averaging.aggregators import AGGREGATORS, Aggregator
from core.averaging.bandwidth.demand import demand_of
from core.averaging.bandwidth.records import decode_facts, encode_facts
from core.averaging.butterfly import RoundInput
from core.averaging.plan import Plan
from core.base import arrays
from core.base.arrays import np
from core.base.content import digest
from core.base.ids import Contact, PeerId, hashed_key
from core.base.machine import Lost, Received, Tick, Trace, earliest
from core.base.manifest import AveragingNumbers
from core.base.recipe import AMONG_STRANGERS
from core.base.signing import Ed25519Verifier
from core.base.wire import Message
from core.net.clock import Clock
from core.session.session import Session
from core.swarm.rounds.rounds import Rounds, RoundVectors
from core.swarm.words.outputs import Asked, Committed, Formed, Missed
from core.swarm.words.settings import ParticipantSettings
from core.swarm.words.states import StateName
from core.system.one_thread import one_thread
from tests.bench.averaging.calls import Calls
from tests.bench.averaging.messages import Ended, Meet, Met, PeerListening, RoundDone, Setup, Show, StartRound
from tests.bench.averaging.vectors import contribution, error_of, exact_mean, layout_of, samples_of
from tests.bench.children import say, told
from tests.bench.stage import MANIFEST_ID, admission_of, keys, peer_id

LOOK_S = 0.05
MISSED_MAX = 100
"""Attempts at one round."""


@dataclass(frozen=True, slots=True)
class AggregatedVectors(RoundVectors):
    """Vectors of a round whose aggregator is told, so that all kinds of rounds go by what one peer knows of lines."""

    aggregator: str = "mean"

    def round_input(self, plan: Plan, me: PeerId, aggregator: Aggregator) -> RoundInput:
        """What this peer brings to a round: the aggregator of its settings is replaced."""
        del aggregator
        return RoundVectors.round_input(self, plan, me, AGGREGATORS[self.aggregator]())


class Averaging:
    """In the place of a participant: rounds with matchmaking, and their reports.

    Args:
        setup: Number and options of this peer.
        contribution: Shape (numel,).
        result: Shape (numel,).
    """

    MESSAGES: ClassVar[tuple[type[Message], ...]] = (*Rounds.MESSAGES, *Calls.MESSAGES)

    def __init__(self, setup: Setup, contribution: np.ndarray[Any, Any], result: np.ndarray[Any, Any]) -> None:
        self._setup = setup
        self.trace = Trace()
        self.rounds = Rounds(
            settings_of(setup),
            signer=keys(setup.index),
            verifier=Ed25519Verifier(),
            random=Random(setup.index),
            trace=self.trace,
        )
        self.meter = self.rounds.lines.own.meter
        self.traversal = None
        self.rounds.reduces = not setup.client
        self._vectors = AggregatedVectors()
        if not setup.helps:
            self._vectors = AggregatedVectors(contribution, result, layout_of(setup.numel))
        self._peers = [peer_id(index) for index in range(setup.peers)]
        self.calls = Calls([peer for peer in self._peers if peer != peer_id(setup.index)], Random(setup.index))
        self.helpers: Sequence[int] = ()
        self.formed_at = 0.0
        self.plan: Plan | None = None
        self.missed: list[str] = []
        """Reasons of failed attempts at this round."""
        self._number = 0
        self.ended: asyncio.Queue[Committed] = asyncio.Queue()

    @property
    def deadline(self) -> float | None:
        """Time at which the rounds or calls want a Tick, Unix seconds."""
        return earliest(self.rounds.deadline, self.calls.deadline)

    def start(self, contacts: Sequence[Contact], *, host: str, port: int, now: float) -> Sequence[Any]:
        """Wait: rounds begin when the bench says so."""
        del contacts, host, port, now
        return ()

    def handle(self, event: Any, now: float) -> Sequence[Any]:
        """Pass on what concerns a round."""
        if not isinstance(event, Received | Tick | Lost):
            return []
        if isinstance(event, Received) and isinstance(event.message, Calls.MESSAGES):
            return self.calls.handle(event, now)
        called = self.calls.handle(event, now) if isinstance(event, Tick) else ()
        return [*called, *self.follow(self.rounds.handle(event, now), now)]

    def stand(self, number: int, now: float, *, strangers: bool) -> Sequence[Any]:
        """Stand where round `number` begins, among strangers or friends: calls are welcome."""
        vectors = replace(self._vectors, aggregator=AMONG_STRANGERS if strangers else "mean")
        self.rounds.serve(vectors, helped_numel=self._setup.numel if self._setup.helps else 0)
        self.formed_at = 0.0
        self.missed = []
        self._number = number
        return self.look(now, full=False)

    def look(self, now: float, *, full: bool = True) -> Sequence[Any]:
        """Look for the group of the next round."""
        trainers = [peer for index, peer in enumerate(self._peers) if index not in self.helpers]
        helpers = [self._peers[index] for index in self.helpers]
        full = full and not self._setup.helps
        return self.follow(
            self.rounds.position(state_of(self._number), trainers, full=full, now=now, helpers=helpers), now
        )

    async def end(self, limit_s: float) -> Committed | None:
        """The round's end; None if it has none within the time."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                return await self.ended.get()
        return None

    def follow(self, outputs: Sequence[Any], now: float) -> Sequence[Any]:
        """Do what the trainer would, and note what happened."""
        left: list[Any] = []
        for output in outputs:
            match output:
                case Asked():
                    left += self.follow(
                        self.rounds.offer(samples=samples_of(self._setup.index), loss=1.0, now=now), now
                    )
                case Formed(plan=plan):
                    self.formed_at = now
                    self.plan = plan
                case Missed(reason=reason):
                    self.missed.append(reason)
                    left += self.look(now) if len(self.missed) < MISSED_MAX else []
                case Committed():
                    self.ended.put_nowait(output)
                case _:
                    left.append(output)
        return left


def settings_of(setup: Setup) -> ParticipantSettings:
    """As a manifest would have them; any number of samples is enough for a round."""
    averaging = AveragingNumbers(codec=setup.codec, stall_timeout_s=20.0, round_timeout_s=setup.round_s)
    return ParticipantSettings(
        run=MANIFEST_ID,
        target_samples=0,
        averaging=averaging,
        evaluate_every=1,
        role=HELPER if setup.helps else VOLUNTEER,
    )


def state_of(number: int) -> StateName:
    """Where everybody stands in round `number`."""
    return StateName(number, hashed_key(b"bench round", number.to_bytes(4, "big")))


def in_order(plan: Plan, values: Sequence[int], *, peers: int) -> list[int]:
    """A plan's values for its members, in the order of their numbers; 0 for a peer that is not a member."""
    places = {peer: place for place, peer in enumerate(plan.peers)}
    everybody = (peer_id(index) for index in range(peers))
    return [values[places[peer]] if peer in places else 0 for peer in everybody]


def no_event(event: Any, now: float) -> None:
    """The machine reports nothing that anybody waits for."""
    del event, now


class Growth:
    """How much memory this process takes beyond what it has at the beginning; looks every `LOOK_S`."""

    def __init__(self) -> None:
        self._process = psutil.Process()
        self._before = self._process.memory_info().rss
        self.bytes = 0
        self._task = asyncio.get_running_loop().create_task(self._watch())

    def stop(self) -> None:
        """Look at the memory a last time."""
        self._task.cancel()
        self._look()

    def _look(self) -> None:
        self.bytes = max(self.bytes, self._process.memory_info().rss - self._before)

    async def _watch(self) -> None:
        while True:
            self._look()
            await asyncio.sleep(LOOK_S)


async def serve(setup: Setup) -> None:
    """Take part in rounds until stdin ends."""
    clock = Clock()
    own, result = contribution(setup.index, setup.numel), np.empty(setup.numel, dtype=np.float32)
    machine = Averaging(setup, own, result)
    session = Session(machine, admission=admission_of(setup.index, clock), clock=clock, owner=no_event)
    host = session.host
    say(PeerListening(port=await session.listen(bind=setup.bind)))
    meet = await told(Meet)
    addresses = meet.addresses if meet is not None else []
    await session.join([Contact(peer_id(index), address, port) for index, (address, port) in enumerate(addresses)])
    machine.helpers = meet.helpers if meet is not None else []
    givers = [index for index in range(setup.peers) if index not in machine.helpers]
    exact = exact_mean(givers, setup.numel) if not setup.helps else np.empty(0)
    say(Met())
    while (go := await told(StartRound)) is not None:
        result.fill(np.nan)
        for index, facts in enumerate(go.facts):
            machine.rounds.lines.heard(peer_id(index), decode_facts(facts))
        host.perform(machine.stand(go.number, clock.now(), strangers=go.strangers))
        if go.calls:
            machine.calls.begin(clock.now())
            host.perform(machine.handle(Tick(), clock.now()))  # which arms the next one
        await asyncio.sleep(max(0.0, go.at - clock.now()))
        growth = Growth()
        sent, cpu = host.stats.bytes_sent, time.process_time()
        host.perform(machine.look(clock.now()))
        ended = await machine.end(setup.round_s)
        ended_s = clock.now() - go.at
        alone_s, beside_s = machine.calls.end(go.at)
        growth.stop()
        say(Ended())
        await told(Show)
        cpu = time.process_time() - cpu
        say(
            RoundDone(
                formed_s=machine.formed_at - go.at,
                ended_s=ended_s,
                cpu_s=cpu,
                wire_bytes=host.stats.bytes_sent - sent,
                members=len(machine.plan.members) if machine.plan else 0,
                missing_chunks=sum(chunks for _, chunks in ended.record.missing) if ended else 0,
                ended=ended is not None,
                failed="; ".join(machine.missed),
                relative_error=error_of(result, exact) if ended and not setup.helps else -1.0,
                digest="" if setup.helps else digest(result.data.cast("B")).hex(),
                expected_s=(demand_of(machine.plan).seconds or 0.0) if machine.plan else 0.0,
                facts=encode_facts(machine.rounds.lines.facts()),
                growth_bytes=growth.bytes,
                chunks=in_order(machine.plan, machine.plan.chunks, peers=setup.peers) if machine.plan else [],
                portions=in_order(machine.plan, machine.plan.portions, peers=setup.peers)
                if machine.plan and machine.plan.portions
                else [],
                alone_s=alone_s,
                beside_s=beside_s,
            )
        )
    await session.close()


async def main() -> None:
    """Wait to be told who to be."""
    setup = await told(Setup)
    if setup is not None:
        await serve(setup)


if __name__ == "__main__":
    arrays.loading = one_thread  # as the program does
    asyncio.run(main())
