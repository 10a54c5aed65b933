"""The parts of a peer of the lab: the one file here that knows how the host is put together."""

import asyncio
import contextlib
import time
from collections.abc import Sequence
from random import SystemRandom
from typing import Any

from core.base.ids import PeerId
from core.base.machine import Send, Trace
from core.base.wire import Message, MessageCodec
from core.nat import peer_record as peer_records
from core.nat.messages import NAT_MESSAGES
from core.nat.reachability import Reachability
from core.nat.relay import RelaySettings
from core.nat.traversal import NatSettings, Traversal
from core.net.admission import HostOwner
from core.net.clock import Clock
from core.net.host import Host
from tests.lab.bridge import Bridge
from tests.process.net_people import admission_of, keys

GENEROUS = NatSettings(relay=RelaySettings(rate_bytes_per_s=1e9, bytes_per_peer_and_hour=10**12))
"""A relay whose own limits are not what is measured."""


class Stack:
    """A host around the lab's machine.

    Args:
        name: Who this is; the key follows from it.
        machine: The lab's own.
        messages: What it speaks.
    """

    def __init__(self, name: str, machine: Any, *, messages: Sequence[type[Message]]) -> None:
        own, clock = keys(name), Clock()
        self.trace = Trace()
        traversal = Traversal(own.peer_id, random=SystemRandom(), trace=self.trace, settings=GENEROUS)
        self.bridge = Bridge(machine, traversal=traversal, now=clock.now)
        self.host = Host(
            self.bridge,
            admission=admission_of(name, now=clock.now()),
            codec=MessageCodec([*messages, *NAT_MESSAGES]),
            clock=clock,
            owner=HostOwner(
                trace=self.trace, event=self.bridge.act, wanted=self.bridge.wanted, opened=self.bridge.opened
            ),
        )

    async def start(self, bind: str) -> int:
        """Returns the port."""
        port = await self.host.start(bind=bind)
        self.bridge.begin(self.host, port)
        return port

    async def close(self) -> None:
        await self.host.close()

    def volunteer(self, peer: PeerId, host: str, port: int) -> None:
        """Note that a peer is public, and willing to help."""
        self.bridge.volunteer(peer, host, port)

    def meet(self, peer: PeerId, peer_record: bytes) -> None:
        """Take what a peer says of where it is."""
        found = peer_records.decode(peer_record)
        assert found is not None
        self.bridge.peer_records[peer] = found

    async def know_self(self, timeout_s: float) -> dict[str, Any]:
        """Findings about this peer's own reachability, after at most some seconds; with its peer record."""
        traversal = self.bridge.traversal
        began = time.monotonic()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while not self._knows_itself():
                    self.bridge.changed.clear()
                    await self.bridge.changed.wait()
        reach = traversal.reach
        return {
            "standing": reach.standing,
            "tcp": reach.tcp,
            "udp": reach.udp,
            "relays": reach.relays,
            "ipv6": reach.ipv6,
            "seconds": time.monotonic() - began,
            "peer_record": peer_records.encode(traversal.peer_record).hex(),
        }

    def _knows_itself(self) -> bool:
        reach = self.bridge.traversal.reach
        return reach.standing is Reachability.REACHABLE or reach.relays == peer_records.RELAYS_MAX

    def say(self, to: PeerId, *messages: Message) -> None:
        self.host.perform([Send(to, message) for message in messages])

    def way(self, peer: PeerId) -> str | None:
        """How what we say to a peer travels now: tcp, quic, relay; None: not at all."""
        preferred = self.host.links.to(peer).preferred
        return None if preferred is None else preferred.route.way

    def place(self, peer: PeerId) -> str | None:
        """The address at which the link to a peer ends."""
        addresses = [stream.route.other_address for stream in self.host.links.streams() if stream.peer == peer]
        return next((address[0] for address in addresses if address is not None), None)

    async def lost(self, peer: PeerId) -> None:
        """Until the host says that a peer is lost."""
        event = self.bridge.lost[peer] = asyncio.Event()
        await event.wait()

    def reason(self, peer: PeerId) -> str:
        """Why the last link to a peer ended, or was not made."""
        return self.bridge.reasons.get(peer, "nothing was heard")
