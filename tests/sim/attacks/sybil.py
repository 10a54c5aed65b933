"""Ids made to stand next to chosen keys: from one network (Sybil), and from many (eclipse).

An id follows from a public key, but an attacker with enough keys gets ids next to any point.  These peers accept
records and forget them, hold nothing, and name only each other.
"""

from dataclasses import replace

from core.base.ids import Key, PeerId
from core.dht.settings import DhtSettings
from tests.sim.attacks.hostile_dht import SETTLE_S, AttackOutcome, HostileDht, Scale, share_true, slowest_s, some_keys
from tests.sim.attacks.liars import contacts_of, ground_ids, many_networks, one_network, says_nothing_of_values

CROWD = 12
"""Hostile peers next to each key: as many as an answer names, and more than a reader asks."""
LATE_CROWD = 50
WAVE = 10


def sybil(scale: Scale, *, on: bool) -> AttackOutcome:
    """Peers of one /24 stand around keys before anything is stored; against it, limits for each network prefix."""
    settings = DhtSettings(paths_store=1, paths_again=1)  # which would help too
    if not on:
        settings = replace(settings, prefix_per_bucket=0, prefix_per_table=0, prefix_per_lookup=0)
    swarm = HostileDht(scale, settings)
    keys = some_keys(max(1, scale.hostile_peers // CROWD))
    contacts = contacts_of(_around(swarm, scale, keys), one_network)
    swarm.join_and_invade(contacts, says_nothing_of_values(swarm.gang))
    written = swarm.write(keys)
    reads = swarm.read(keys, scale.lookups)
    return AttackOutcome(
        attack="Sybil ids in one /24",
        defence="limits for each network prefix",
        on=on,
        scale=scale,
        lookups=len(reads),
        succeeded=share_true(reads, written),
        harm=swarm.hostile_share_of_tables(),
        harm_is="hostile share of the honest peers' tables",
    )


def eclipse(scale: Scale, *, on: bool) -> AttackOutcome:
    """Peers of many networks stand around keys before anything is stored; against it, disjoint paths."""
    swarm = HostileDht(scale, _settings(on=on))
    keys = some_keys(max(1, scale.hostile_peers // CROWD))
    swarm.join_and_invade(contacts_of(_around(swarm, scale, keys), many_networks), says_nothing_of_values(swarm.gang))
    written = swarm.write(keys)
    return _eclipsed(swarm, scale, written, attack="eclipse of empty keys", on=on)


def late_eclipse(scale: Scale, *, on: bool) -> AttackOutcome:
    """All hostile peers come to stand around few keys at which something is stored; against it, disjoint paths."""
    swarm = HostileDht(scale, _settings(on=on))
    keys = some_keys(max(1, scale.hostile_peers // LATE_CROWD))
    swarm.join_and_invade([])
    written = swarm.write(keys)
    contacts = contacts_of(_around(swarm, scale, keys), many_networks)
    lie = says_nothing_of_values(swarm.gang)
    for start in range(0, len(contacts), WAVE):
        swarm.invade(contacts[start : start + WAVE], lie)
        swarm.world.run(1.0)
    swarm.world.run(SETTLE_S)
    return _eclipsed(swarm, scale, written, attack="eclipse of stored keys", on=on)


def _settings(*, on: bool) -> DhtSettings:
    return DhtSettings() if on else DhtSettings(paths_store=1, paths_again=1)


def _eclipsed(swarm: HostileDht, scale: Scale, written: dict[Key, bytes], *, attack: str, on: bool) -> AttackOutcome:
    reads = swarm.read(list(written), scale.lookups)
    return AttackOutcome(
        attack=attack,
        defence=f"stores on {DhtSettings().paths_store} disjoint paths, second reads on {DhtSettings().paths_again}",
        on=on,
        scale=scale,
        lookups=len(reads),
        succeeded=share_true(reads, written),
        harm=slowest_s(reads),
        harm_is="p95 of a lookup, seconds",
    )


def _around(swarm: HostileDht, scale: Scale, keys: list[Key]) -> list[PeerId]:
    random = swarm.world.chance("grinding")
    ids: list[PeerId] = []
    for number, key in enumerate(keys):
        count = scale.hostile_peers * (number + 1) // len(keys) - len(ids)
        ids += ground_ids(random, key, count=count, among=scale.honest_peers)
    return ids
