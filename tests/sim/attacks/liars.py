"""Hostile peers: DHT nodes that join like any other, and whose answers are bent before they leave."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from random import Random
from typing import Any

from core.base.ids import Contact, Key, PeerId, distance, node_key
from core.base.machine import Received, Send
from core.dht.bundles import bundle_answers
from core.dht.events import Output
from core.dht.messages import (
    NODES_MAX,
    Answer,
    AnyAnswer,
    Bundled,
    Cache,
    Fetch,
    Find,
    Get,
    Nodes,
    Ping,
    Records,
    Request,
    RequestBundle,
    Store,
    Stored,
    Values,
)
from core.dht.node import DhtNode
from core.dht.space import point, position
from tests.sim.world.datagrams import PORT

TRIES_MAX = 400_000
"""Ids made at most when a place in the key space is wanted."""

Lie = Callable[[PeerId, Request, Answer, float], Answer | None]
"""Replaces an answer: requester, request, the honest answer, Unix seconds; None: no answer."""


class Liar:
    """A machine that behaves like a DHT node, except for its answers.

    Args:
        node: Joins, asks and is asked.
        lie: Replaces each answer.
    """

    def __init__(self, node: DhtNode, lie: Lie) -> None:
        self.node = node
        self._lie = lie

    @property
    def deadline(self) -> float | None:
        """Time at which the node wants a Tick, Unix seconds."""
        return self.node.deadline

    def handle(self, event: Any, now: float) -> Sequence[Output]:
        """Advance by one event, with lies for answers."""
        outputs = self.node.handle(event, now)
        if not isinstance(event, Received) or not isinstance(event.message, Request):
            return outputs
        message = event.message
        asked = {one.query: one for one in (message.requests if isinstance(message, RequestBundle) else (message,))}
        others: list[Output] = []
        answers: list[Answer] = []
        for output in outputs:
            if not isinstance(output, Send) or not isinstance(output.message, Answer):
                others.append(output)
                continue
            if isinstance(output.message, Bundled) and output.message.ping:
                others.append(Send(event.sender, Ping(output.message.ping, client=False)))
            for honest in _single(output.message):
                answer = self._lie(event.sender, asked[honest.query], honest, now)
                answers += [] if answer is None else [answer]
        return [*(Send(event.sender, answer) for answer in bundle_answers(answers)), *others]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.node, name)


def _single(answer: Answer) -> tuple[AnyAnswer | Answer, ...]:
    return answer.answers if isinstance(answer, Bundled) else (answer,)


@dataclass(slots=True)
class Gang:
    """Hostile peers who know each other."""

    members: list[Contact] = field(default_factory=list)

    def nearest(self, key: bytes, count: int = NODES_MAX) -> tuple[Contact, ...]:
        """Those nearest to a key, nearest first, as an honest answer has them."""
        target = point(Key(key))
        return tuple(nsmallest(count, self.members, key=lambda contact: position(contact.peer) ^ target))


def says_nothing_of_values(gang: Gang) -> Lie:
    """Accepts what is to be stored and forgets it, holds nothing, and names only members of the gang."""

    def lie(asker: PeerId, request: Request, honest: Answer, now: float) -> Answer:
        del now
        match request:
            case Find(key=key):
                return Nodes(request.query, _without(asker, gang.nearest(key)))
            case Get(key=key):
                return Values(request.query, _without(asker, gang.nearest(key)), (), b"", more=False)
            case Store() | Cache():
                return Stored(request.query, accepted=True)
            case Fetch():
                return Records(request.query, ())
            case _:
                return honest

    return lie


def ground_ids(random: Random, key: Key, *, count: int, among: int) -> list[PeerId]:
    """Ids next to a key: keys are made, and those that fit are kept.

    Args:
        random: Makes them.
        key: Where they are wanted.
        count: How many.
        among: Honest peers: twice as many keys are made for each id, so that most are nearer than any of them.
    """
    made = (PeerId(random.randbytes(len(key))) for _ in range(min(2 * count * among, TRIES_MAX)))
    return nsmallest(count, made, key=lambda peer: distance(node_key(peer), key))


def contacts_of(peers: Iterable[PeerId], host: Callable[[int], str]) -> list[Contact]:
    """Peers with the address that `host` gives to the number of each."""
    return [Contact(peer, host(number), PORT) for number, peer in enumerate(peers)]


def one_network(number: int) -> str:
    """Address of hostile peer `number`, all in one /24."""
    return f"203.0.113.{1 + number % 254}"


def many_networks(number: int) -> str:
    """Each in a /24 of its own."""
    return f"{120 + number // 62_500 % 60}.{number // 250 % 250}.{number % 250}.77"


def _without(asker: PeerId, contacts: tuple[Contact, ...]) -> tuple[Contact, ...]:
    return tuple(contact for contact in contacts if contact.peer != asker)
