"""Poisoned routing: hostile peers answer every question for the way with contacts that lead nowhere.

They accept each record and forget it, and name contacts at *private addresses*, which no distant peer can know;
*ghosts*, at public addresses without a peer; or *accomplices*, the nearest hostile peers.  Ghosts at either kind of
address are nearer to any key than all real peers.
"""

from bisect import bisect
from collections.abc import Sequence
from random import Random

from core.base.ids import Contact, Key, PeerId, node_key
from core.dht.messages import NODES_MAX, Answer, Find, Get, Nodes, Request, Values
from core.dht.settings import DhtSettings
from tests.sim.attacks.hostile_dht import AttackOutcome, HostileDht, Scale, quick, share_true, slowest_s, some_keys
from tests.sim.attacks.liars import Gang, Lie, contacts_of, many_networks, says_nothing_of_values
from tests.sim.dht.swarm import TimedOperation
from tests.sim.world.datagrams import PORT

GHOSTS = 20_000
"""Number of invented ids: many more than peers, so that those near to a key are nearer than any peer."""
NEAR = 3 * NODES_MAX
KEYS = 20
QUICK_S = 2.0
"""A read that takes longer counts as failed; without hostile peers, one of all holders has a p95 of 0.8 s."""


class Ghosts:
    """Contacts at which nobody lives, all over the key space.

    Args:
        random: Makes them.
        private: At private addresses.
    """

    def __init__(self, random: Random, *, private: bool) -> None:
        peers = [PeerId(random.randbytes(32)) for _ in range(GHOSTS)]
        self._random = random
        self._placed = sorted(
            (int.from_bytes(node_key(peer), "big"), Contact(peer, _host(random, private=private), PORT))
            for peer in peers
        )

    def near(self, key: bytes) -> tuple[Contact, ...]:
        """Some of those nearest to a key, nearest first, and other ones each time."""
        target = int.from_bytes(key, "big")
        at = bisect(self._placed, target, key=lambda placed: placed[0])
        around = sorted(self._placed[max(0, at - NEAR) : at + NEAR], key=lambda placed: placed[0] ^ target)[:NEAR]
        chosen = self._random.sample(around, NODES_MAX)
        return tuple(contact for _, contact in sorted(chosen, key=lambda placed: placed[0] ^ target))


def names_ghosts(ghosts: Ghosts, gang: Gang) -> Lie:
    """Names only contacts at which nobody lives."""
    silent = says_nothing_of_values(gang)

    def lie(asker: PeerId, request: Request, honest: Answer, now: float) -> Answer | None:
        match request:
            case Find(key=key):
                return Nodes(request.query, ghosts.near(key))
            case Get(key=key):
                return Values(request.query, ghosts.near(key), (), b"", more=False)
            case _:
                return silent(asker, request, honest, now)

    return lie


def private_addresses(scale: Scale, *, on: bool) -> AttackOutcome:
    """Hostile peers name contacts at private addresses; against it, answers are checked for what nobody can know."""
    swarm = HostileDht(scale, DhtSettings(check_replies=on, ghosts_max=0))
    reads, written = _poisoned(
        swarm, scale, names_ghosts(Ghosts(swarm.world.chance("doors"), private=True), swarm.gang)
    )
    return AttackOutcome(
        attack="poison: private addresses",
        defence="answers are checked",
        on=on,
        scale=scale,
        lookups=len(reads),
        succeeded=share_true(quick(reads, QUICK_S), written, of=len(reads)),
        harm=slowest_s(reads),
        harm_is=f"p95 of a read, seconds; more than {QUICK_S:g} s counts as failed",
    )


def ghosts(scale: Scale, *, on: bool) -> AttackOutcome:
    """Hostile peers name contacts that do not exist; the defence stops believing a peer that names too many of them."""
    swarm = HostileDht(scale, DhtSettings() if on else DhtSettings(ghosts_max=0))
    lie = names_ghosts(Ghosts(swarm.world.chance("ghosts"), private=False), swarm.gang)
    reads, written = _poisoned(swarm, scale, lie)
    return AttackOutcome(
        attack="poison: ghosts",
        defence=f"who names {DhtSettings().ghosts_max} silent peers is not believed",
        on=on,
        scale=scale,
        lookups=len(reads),
        succeeded=share_true(quick(reads, QUICK_S), written, of=len(reads)),
        harm=slowest_s(reads),
        harm_is=f"p95 of a read, seconds; more than {QUICK_S:g} s counts as failed",
    )


def accomplices(scale: Scale, *, on: bool) -> AttackOutcome:
    """Hostile peers name each other; against it, several holders of each record, of which several are asked."""
    swarm = HostileDht(
        scale,
        DhtSettings() if on else DhtSettings(replicas=1, replicas_brief=1, read_width=1, paths_store=1, paths_again=1),
    )
    reads, written = _poisoned(swarm, scale, says_nothing_of_values(swarm.gang))
    return AttackOutcome(
        attack="poison: accomplices",
        defence=f"{DhtSettings().replicas} holders of which {DhtSettings().read_width} are asked",
        on=on,
        scale=scale,
        lookups=len(reads),
        succeeded=share_true(reads, written),
        harm=slowest_s(reads),
        harm_is="p95 of a read, seconds",
    )


def _poisoned(swarm: HostileDht, scale: Scale, lie: Lie) -> tuple[Sequence[TimedOperation], dict[Key, bytes]]:
    random = swarm.world.chance("poison")
    peers = [PeerId(random.randbytes(32)) for _ in range(scale.hostile_peers)]
    swarm.join_and_invade(contacts_of(peers, many_networks), lie)
    keys = some_keys(KEYS)
    written = swarm.write(keys)
    return swarm.read(keys, scale.lookups), written


def _host(random: Random, *, private: bool) -> str:
    first = 10 if private else random.randrange(60, 100)
    return f"{first}.{random.randrange(256)}.{random.randrange(256)}.9"
