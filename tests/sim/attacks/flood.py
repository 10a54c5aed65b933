"""A flood: one peer asks one other more than its line can answer, so that the victim's own questions wait."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from core.base.ids import Key, PeerId
from core.base.machine import Send, Tick
from core.dht.messages import PAD, Find
from core.dht.settings import DhtSettings
from tests.sim.attacks.hostile_dht import (
    PATIENCE_S,
    AttackOutcome,
    HostileDht,
    Scale,
    quick,
    share_true,
    slowest_s,
    some_keys,
)
from tests.sim.attacks.liars import contacts_of, one_network
from tests.sim.world.links import LinkSettings

RATE_PER_S = 600.0
TICK_S = 0.05
BEFORE_S = 5.0
LOOKUPS = 20
EVERY_S = 0.25
QUICK_S = 2.0
"""A lookup that takes longer counts as failed."""
UPLINK_BYTES_PER_S = 150e3
"""The victim's line: 1.2 Mbit/s."""


class Flooder:
    """A machine that sends one peer the same request again and again.

    Args:
        victim: The flooded peer.
        key: The requested key.
        since: When it begins, Unix seconds.
    """

    def __init__(self, victim: PeerId, key: Key, since: float) -> None:
        self._victim = victim
        self._key = key
        self.deadline: float | None = since
        self.answers = 0

    def handle(self, event: Any, now: float) -> Sequence[Any]:
        """Send the request, at any event."""
        if not isinstance(event, Tick):
            self.answers += 1
            return ()
        self.deadline = now + TICK_S
        return [Send(self._victim, Find(number, True, self._key, PAD)) for number in range(int(RATE_PER_S * TICK_S))]


def flood(scale: Scale, *, on: bool) -> AttackOutcome:
    """One peer asks another without end; against it, who asks too much is not answered."""
    settings = DhtSettings() if on else DhtSettings(requests_per_s=0.0)
    links = LinkSettings(uplink_bytes_per_s=(UPLINK_BYTES_PER_S, UPLINK_BYTES_PER_S))
    swarm = HostileDht(scale, settings, links=links)
    swarm.join_and_invade([])
    keys = some_keys(LOOKUPS)
    written = swarm.write(keys)
    victim = swarm.random.choice(list(swarm.up))
    (contact,) = contacts_of([PeerId(swarm.world.chance("flooder").randbytes(32))], one_network)
    machine = Flooder(victim, keys[0], swarm.world.now)
    swarm.world.add(contact.peer_id, machine, host=contact.host).known.add(victim)
    swarm.world.run(BEFORE_S)
    reads = []
    for key in keys:
        reads.append(swarm.get(victim, key))
        swarm.world.run(EVERY_S)
    answered_per_s = machine.answers / (BEFORE_S + LOOKUPS * EVERY_S)
    machine.deadline = None
    swarm.world.run(PATIENCE_S)
    return AttackOutcome(
        attack="flood from one peer",
        defence=f"{DhtSettings().requests_per_s:.0f} requests a second of one peer",
        on=on,
        scale=replace(scale, hostile=1 / scale.peers),
        lookups=len(reads),
        succeeded=share_true(quick(reads, QUICK_S), written, of=len(reads)),
        harm=slowest_s(reads),
        harm_is=f"p95 of the victim's lookups, seconds ({answered_per_s:.0f} answers a second for the flooder)",
    )
