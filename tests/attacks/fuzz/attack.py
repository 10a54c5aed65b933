"""Members that say anything at all, to the peers of one simulated collaboration, at any moment of its life."""

import time
import traceback
from collections import deque
from random import Random
from typing import Any, Final

from core.base.ids import Observed, PeerId
from core.base.machine import Lost, Received
from core.base.problems import WireProblem
from core.base.wire import CONTROL_BYTES_MAX
from core.swarm.participant import Participant
from core.swarm.rounds.rounds import Rounds
from core.swarm.view import ParticipantView
from tests.attacks.fuzz.counts import Counts, Failure, RoundsCounter
from tests.attacks.fuzz.kinds import settings_of
from tests.attacks.fuzz.letters import Letters, greet
from tests.attacks.fuzz.peers import CODEC, Sessions
from tests.attacks.fuzz.writer import KINDS, Writer, tag_of
from tests.sim.checkers import CheckFailed
from tests.sim.probes import reachable_bytes
from tests.sim.swarm.swarm import Swarm
from tests.sim.world.node import Node
from tests.sim.world.signing import SimSigner

HOSTILE_MEMBERS: Final = 2
"""Volunteers that train as all do, and say anything besides."""
NEWCOMERS: Final = 200
"""Members that are in no round, and have shown a pass."""
BURST: Final = 10
BURST_S: Final = 0.01
"""Time between two bursts of messages."""
QUIET: Final = 0.6
"""Share of the time in which nothing hostile is said, so that rounds get on."""
SPELL_S: Final = 4.0
"""Seconds after which it is drawn anew whether anything is said."""
ON_THE_WAY: Final = 0.05
"""Share of what hostile members say anyway that is changed."""
LAST: Final = 10
"""Number of messages that are told with an exception."""
TOLD_BYTES: Final = 400
"""Upper bound on the bytes of each of them that are told."""
STRETCH_S: Final = 5.0
MEMBERS: Final = 0.75
"""Share of the messages that come from hostile members; the rest comes from newcomers."""
AIMED: Final = 0.5
"""Share of the messages to a peer in a round that are of rounds, and from a member."""
RECORDED: Final = 0.2
"""Share of the real ones that are recorded."""
LOST: Final = 0.002
LETTERS: Final = 0.05
HANDSHAKES: Final = 0.02
"""Share of them, with which a handshake comes."""
NAMES: Final = tuple(KINDS)
OF_ROUNDS: Final = tuple(tag_of(kind) for kind in Rounds.MESSAGES)


class _Over(BaseException):
    """An exception has ended the world."""


class Attack:
    """One collaboration under attack.

    Args:
        seed: Decides everything.
        counts: Are added to.
    """

    def __init__(self, seed: int, counts: Counts) -> None:
        self._seed, self._counts = seed, counts
        self._random = Random(f"attack {seed}")
        self._letters = Letters(self._random, counts.marks)
        self._sessions = Sessions(Random(f"owners {seed}"))
        self._swarm = Swarm(seed, settings_of(seed), [self._sessions, RoundsCounter(counts)])
        self._sessions.attach(self._swarm)
        self._world = self._swarm.world
        self._world.codec, self._world.on_the_way = CODEC, self._on_the_way
        self._members = list(self._swarm.volunteers)[:HOSTILE_MEMBERS]
        newcomers = [SimSigner.numbered(seed, 1000 + number) for number in range(NEWCOMERS)]
        self._newcomers = [signer.peer_id for signer in newcomers]
        signers = [*newcomers, *(self._swarm.volunteers[peer].signer for peer in self._members)]
        shards = [entry.digest for entry in self._sessions.catalogue.sources[0][:2]]
        known = [self._swarm.run, self._swarm.backbone.peer, *self._members, *shards]
        self._writer = Writer(self._random, run=self._swarm.run, signers=signers, known=known)
        self._said = 0
        self._loud, self._loud_until = True, 0.0
        self._views: dict[int, ParticipantView] = {}
        """By the number of a node, as it was in this burst."""
        self._watched: set[int] = set()
        self._marked: set[str] = set()
        """Marks that the message left."""
        self._last: deque[str] = deque(maxlen=LAST)
        self._world.agenda.after(BURST_S, self._burst)

    def run(self, messages: int) -> None:
        """Say so many messages, unless an exception ends it."""
        half = 0
        try:
            while self._said < messages:
                self._world.run(STRETCH_S)
                if not half and self._said >= messages // 2:
                    half = self._held()
        except CheckFailed as failed:
            self._failed(failed.__cause__ or failed, "a Tick or an honest message")
        except _Over:
            pass
        self._counts.simulated_s += self._world.elapsed_s
        self._counts.held.append((half, self._held()))
        for participant in self._sessions.participants.values():
            self._counts.marks.update(participant.trace.counts())

    def _held(self) -> int:
        """Memory of the greatest machine."""
        victims = self._victims()
        return max((reachable_bytes(self._sessions.participants[node.number]) for node in victims), default=0)

    # --- what is said ------------------------------------------------------------------------------------------------

    def _victims(self) -> list[Node]:
        now = self._world.now
        living = self._world.living()
        return [node for node in living if node.peer not in self._members and node.frozen_until <= now]

    def _burst(self) -> None:
        now, random = self._world.now, self._random
        self._world.agenda.after(BURST_S, self._burst)
        self._views.clear()
        if now >= self._loud_until:
            self._loud, self._loud_until = random.random() >= QUIET, now + SPELL_S
        victims = self._victims()
        for _ in range(BURST if self._loud and victims else 0):
            victim = random.choice(victims)
            aimed = self._sessions.participants[victim.number].rounds.busy and random.random() < AIMED
            sender = random.choice(self._members) if aimed else self._sender(victim)
            if random.random() < LOST:
                self._do(victim, Lost(sender, "x"), "lost", b"")
                continue
            name = random.choice(OF_ROUNDS if aimed else NAMES)
            way, data = self._writer.drawn(name, sender, known=self._known(victim), now=now)
            self._give(victim, sender, data, way)
            if random.random() < LETTERS:
                self._letter(data)

    def _letter(self, body: bytes) -> None:
        """The same bytes in a datagram; or a handshake."""
        self._counts.ways["letters"] += 1
        try:
            self._letters.open(body)
            if self._random.random() < HANDSHAKES:
                self._counts.ways["handshakes"] += 1
                greet(self._random, self._counts.marks)
        except Exception as error:
            self._failed(error, "a letter")
            raise _Over from error

    def _sender(self, victim: Node) -> PeerId:
        if self._random.random() < MEMBERS:
            return self._random.choice(self._members)
        sender = self._random.choice(self._newcomers)
        if sender not in victim.met:
            victim.met.add(sender)
            self._do(victim, Observed(sender, "203.0.113.9", 4000), "observed", b"")
        return sender

    def _known(self, victim: Node) -> list[bytes]:
        """Ids that mean something to a peer just now; that of its round more often than others."""
        rounds, view = self._sessions.participants[victim.number].rounds, self._view(victim)
        known = [one for one in (rounds.current, view.plan and view.plan.round) if one] * 10
        known += [victim.peer] if view.state is None else [victim.peer, view.state.lineage, view.state.lineage]
        return known + [report.digest for report in list(view.peers.values())[:3]]

    def _view(self, node: Node) -> ParticipantView:
        if node.number not in self._views:
            self._views[node.number] = self._sessions.participants[node.number].view(node.local(self._world.now))
        return self._views[node.number]

    # --- what arrives ------------------------------------------------------------------------------------------------

    def _on_the_way(self, node: Node, sender: Node, data: bytes) -> bytes | None:
        """A message that a peer has really sent: it is recorded, and a hostile member's changed."""
        if self._random.random() < RECORDED:
            self._writer.record(data)
        hostile = sender.peer in self._members and node.peer not in self._members
        if not hostile or not self._loud or self._random.random() >= ON_THE_WAY or node.frozen_until > self._world.now:
            return data
        changed = self._writer.mutated(data, self._known(node))
        self._give(node, sender.peer, changed, "on the way")
        return None

    def _give(self, node: Node, sender: PeerId, data: bytes, way: str) -> None:
        """Give a peer a message as a host does: what it cannot read is dropped."""
        counts = self._counts
        counts.messages += 1
        counts.ways[way] += 1
        self._said += 1
        try:
            message = CODEC.decode(bytearray(data))
        except WireProblem:
            counts.kinds["(not a message)"] += 1
            return
        if not message.bulk and len(data) > CONTROL_BYTES_MAX:
            counts.kinds["(too long)"] += 1
            return
        counts.kinds[tag_of(type(message))] += 1
        self._do(node, Received(sender, message), way, data)

    def _do(self, node: Node, event: Any, way: str, data: bytes) -> None:
        counts, participant = self._counts, self._sessions.participants[node.number]
        self._watch(node.number, participant)
        phase = f"{participant.settings.role}, {self._view(node).phase}"
        phase += ", in a round" if participant.rounds.busy else ""
        counts.phases[phase] += 1
        self._marked.clear()
        kind = type(getattr(event, "message", event)).__name__
        self._last.append(f"{self._world.elapsed_s:.2f} s, {node}, {phase}: {way}: {kind} {data[:TOLD_BYTES].hex()}")
        before = time.perf_counter()
        try:
            outputs = node.machine.handle(event, node.local(self._world.now))
            counts.spent_s += time.perf_counter() - before
            said = frozenset(type(getattr(one, "message", one)).__name__ for one in outputs)
            self._world.driver.perform(node, outputs)
        except Exception as error:
            self._failed(error, kind)
            raise _Over from error
        behaviour = (kind, phase, frozenset(self._marked), said)
        if behaviour not in counts.seen:
            counts.seen.add(behaviour)
            counts.new_at = (counts.messages, time.monotonic())
            self._writer.record(data)

    def _watch(self, number: int, participant: Participant) -> None:
        """Note from now on the marks that messages leave at a peer."""
        if number in self._watched:
            return
        self._watched.add(number)
        mark = participant.trace.mark

        def noted(name: str) -> None:
            self._marked.add(name)
            mark(name)

        participant.trace.mark = noted  # type: ignore[method-assign]

    def _failed(self, error: BaseException, kind: str) -> None:
        """Note an exception, the first of its kind with all that is known."""
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if "/core/" in frame.filename] or list(frames)
        where = f"{type(error).__name__} at {own[-1].filename.rpartition('/core/')[2]}:{own[-1].lineno}"
        last = "\n  ".join(self._last)
        text = f"--seed {self._seed}, message {self._said} of that collaboration, {kind}: {error!r}\n"
        text += "".join(traceback.format_exception(error)[-LAST:]) + f"\n  {last}"
        self._counts.failures.setdefault(where, Failure(text)).count += 1
