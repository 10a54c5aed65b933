"""Peers as a session runs them, in the simulated world: with the authority's records and shards that are shared."""

from collections.abc import Sequence
from random import Random
from typing import Any, Final

import numpy as np

from core.authority.news import AuthorityNews
from core.authority.records import AuthorityRecords
from core.base.ids import PEER_ID_BYTES, PeerId, hashed_key
from core.base.mixture import ExpertNumbers
from core.base.signing import KeyPair
from core.base.wire import MessageCodec
from core.codecs.registry import codec_of
from core.dht.events import Found
from core.experts import hosting
from core.experts.calls import ExpertAsk
from core.experts.queue import CallKind
from core.nat.events import LocalAddressesChanged, PeerWanted, PublicPeerFound
from core.nat.messages import Address
from core.session.session import BESIDE_MESSAGES, _Together
from core.swarm.catching_up.donor import PastMembers
from core.swarm.experts.exchange import ExchangeParts, ExpertExchange, HostExperts, SearchExperts
from core.swarm.experts.places import PlaceTaken
from core.swarm.experts.records import Mixture
from core.swarm.participant import Participant
from core.swarm.shards.exchange import ShardExchange
from core.swarm.shards.names import Catalogue, OwnRounds, ShardEntry, ShardsWanted
from tests.sim.checkers import Checker
from tests.sim.shards.parts import CHUNK, MemoryShard, MemoryShards, MemorySink
from tests.sim.swarm.swarm import Swarm
from tests.sim.world.datagrams import PORT
from tests.sim.world.node import Node
from tests.unit.authority.people import founders

MESSAGES: Final = (*Participant.MESSAGES, *AuthorityNews.MESSAGES, *BESIDE_MESSAGES)
"""All that a session speaks."""
CODEC: Final = MessageCodec(MESSAGES)
SHARDS: Final = 24
ROOM: Final = 8
"""Number of shards for which a peer has room."""
WISH_S: Final = 5.0
"""Seconds between two wishes of a peer: for shards, for a way to somebody, for another network."""
AUTHORITY: Final = KeyPair(hashed_key(b"authority of a world that is fuzzed"))


class Sessions(Checker):
    """Puts each participant of a swarm beside the machines that a session runs with it.

    Args:
        random: Draws what their owners want.
    """

    def __init__(self, random: Random) -> None:
        self._random = random
        self._library = {shard.digest: shard for shard in (MemoryShard(number, 3) for number in range(SHARDS))}
        entries = tuple(ShardEntry(shard.digest, shard.size_bytes) for shard in self._library.values())
        self.catalogue = Catalogue(bytes(32), {0: entries}, chunk_bytes=CHUNK)
        self._swarm: Swarm | None = None
        self._waiting: list[tuple[Node, AuthorityNews]] = []
        """Those that began before there was a swarm."""
        self.participants: dict[int, Participant] = {}
        """By the number of their node."""
        self._decided = 0

    def started(self, node: Node, now: float) -> None:
        """Dress a participant as a session does."""
        participant = node.machine
        assert isinstance(participant, Participant)
        self.participants[node.number] = participant
        node.host = f"198.51.100.{node.number % 250 + 1}"
        entries = self.catalogue.sources[0]
        held = self._random.sample(entries, ROOM - 2)
        store = MemoryShards(
            self.catalogue, ROOM * entries[0].size_bytes, self._library, tuple(entry.digest for entry in held)
        )
        shards = ShardExchange(
            participant.me,
            store=store,
            directory=participant.dht,
            random=Random(self._random.getrandbits(64)),
            trace=participant.trace,
            rounds=OwnRounds(lambda: participant.rounds.busy, PastMembers()),
        )
        records = AuthorityRecords(AUTHORITY.peer_id, bytes(32))
        news = AuthorityNews(records, random=Random(self._random.getrandbits(64)), trace=participant.trace)
        mixture = self._mixture_of(participant)
        shards.start(now)
        node.machine = _Together(participant, news, [shards, mixture])
        followed = node.on_event

        def on_event(event: Any, now: float) -> Sequence[Any]:
            """As a session and a worker that computes at once."""
            match event:
                case Found():
                    for companion in (shards, mixture):
                        if (outputs := companion.found(event, now)) is not None:
                            return outputs
                case PlaceTaken(layer=layer, place=place):
                    return mixture.handle(hosting.ExpertHosted(layer, place), now)
                case hosting.ComputeBatch(payloads=payloads):
                    answers = tuple(payload[: len(payload) // (1 + event.kind)] for payload in payloads)
                    return mixture.handle(hosting.BatchComputed(event.number, 1, answers), now)
            return followed(event, now)

        node.on_event = on_event
        if self._swarm is None:
            self._waiting.append((node, news))
        else:
            self._later(node, news)

    def _mixture_of(self, participant: Participant) -> ExpertExchange:
        """A peer's part in a mixture of experts, some of which it hosts."""
        numbers = ExpertNumbers(live=16, layers=2, width=8)
        codec = codec_of(numbers.codec)
        limits = hosting.HostLimits(calls_max=32, bytes_max=100_000, rows_max=64)
        host = hosting.ExpertHost(codec=codec, numbers=numbers.width, limits=limits, trace=participant.trace)
        return ExpertExchange(
            participant.me,
            Mixture.of(bytes(32), numbers),
            parts=ExchangeParts(host=host, directory=participant.dht, sink=MemorySink(), members=PastMembers()),
            random=Random(self._random.getrandbits(64)),
            trace=participant.trace,
        )

    def attach(self, swarm: Swarm) -> None:
        """Let the owners of this swarm's peers want something from now on."""
        self._swarm = swarm
        for node, news in self._waiting:
            self._later(node, news)

    def _later(self, node: Node, news: AuthorityNews) -> None:
        assert self._swarm is not None
        self._swarm.world.driver.when(
            node, self._random.uniform(0, 2 * WISH_S), lambda now: self._want(node, news, now)
        )

    def _want(self, node: Node, news: AuthorityNews, now: float) -> list[Any]:
        """The owner wants something."""
        self._later(node, news)
        random = self._random
        assert self._swarm is not None
        peer = random.choice([*self._swarm.world.nodes, PeerId(random.randbytes(PEER_ID_BYTES))])
        match random.randrange(8):
            case 0 if peer != node.peer:
                return [*node.machine.handle(PeerWanted(peer), now)]
            case 1:
                place = LocalAddressesChanged(hosts=(node.host, "192.168.1.7"), port=PORT, moved=random.random() < 0.5)
                return [*node.machine.handle(place, now)]
            case 2 if peer != node.peer and peer in self._swarm.world.nodes:
                address = Address(self._swarm.world.nodes[peer].host, PORT)
                return [*node.machine.handle(PublicPeerFound(peer, address, relay=True), now)]
            case 3:
                return [*node.machine.handle(HostExperts(random.randrange(8)), now)]
            case 4:
                scores = np.array([[random.random() for _ in range(8)]], np.float32)
                return [*node.machine.handle(SearchExperts(random.randrange(1 << 30), 0, scores, 4), now)]
            case 5:
                ask = ExpertAsk(
                    ticket=random.randrange(1 << 30),
                    layer=random.randrange(2),
                    place=(random.randrange(4), random.randrange(4)),
                    kind=CallKind.FORWARD,
                    rows=2,
                    payload=lambda: memoryview(bytes(20)),
                    bytes=20,
                )
                return [*node.machine.handle(ask, now)]
            case 6 if random.random() < 0.05:
                self._decided += 1
                gone = PeerId(random.randbytes(32))
                return [*news.learn(founders(self._decided, gone, by=AUTHORITY, manifest_id=bytes(32)), now)]
        wanted = random.sample(range(SHARDS), 4)
        return [*node.machine.handle(ShardsWanted(0, tuple(wanted)), now)]
