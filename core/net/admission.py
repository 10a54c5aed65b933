"""What a host is given of its collaboration, of its owner, and of the line that it uses."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from core.base.ids import PeerId
from core.base.machine import Trace
from core.base.meter import Meter
from core.base.signing import KeyPair
from core.net.identity.passes import PassVerifier
from core.net.limits.pace import Pace
from core.net.links.streams import PeerStream


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """What lets this peer into a collaboration, and what it asks of others.

    Attributes:
        keys: This peer's identity.
        pass_der: Its first pass; see `Host.renew`.
        authority_id: The key that the manifest names.
        manifest_id: The collaboration; passes of another are refused.
        records: The newest records of the authority that are known, signed; empty: none.
    """

    keys: KeyPair
    pass_der: bytes
    authority_id: PeerId
    manifest_id: bytes
    records: bytes = b""

    def verifier(self) -> PassVerifier:
        """Make what decides whose pass holds."""
        return PassVerifier(self.authority_id, self.manifest_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostOwner:
    """What a host tells its owner.

    Attributes:
        event: Takes the machine's events, with the time in unix seconds.
        trace: Counts what others do wrong.
        wanted: Told that a peer does not answer at its addresses; None: nothing may help.
        opened: Told of each link that stands.
    """

    event: Callable[[Any, float], None]
    trace: Trace
    wanted: Callable[[PeerId], None] | None = None
    opened: Callable[[PeerStream], None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LineUse:
    """What a host may take of this computer's line, and who is shown what it takes.

    Attributes:
        pace: The volunteer's limits; None: there are none.
        meter: Is shown how fast bulk moves; None: nobody wants to know.
    """

    pace: Pace | None = None
    meter: Meter | None = None


ANY_LINE = LineUse()
"""No limits, and nobody wants to know."""
