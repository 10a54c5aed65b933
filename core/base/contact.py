"""A peer and the address at which it is reached or was seen, as every protocol names them."""

from dataclasses import dataclass
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.base.ids import PEER_ID_BYTES, PeerId

HOST_CHARACTERS_MAX: Final = 60
"""Upper bound on an address as text: an IPv6 address with its zone has fewer."""

Peer32 = Annotated[bytes, Meta(min_length=PEER_ID_BYTES, max_length=PEER_ID_BYTES)]


class Contact(msgspec.Struct, frozen=True, array_like=True):
    """A peer and its address.  `host` is an IP address as text."""

    peer: Peer32
    host: Annotated[str, Meta(min_length=1, max_length=HOST_CHARACTERS_MAX)]
    port: Annotated[int, Meta(ge=1, le=65535)]

    @property
    def peer_id(self) -> PeerId:
        """The peer's id as the type that names peers."""
        return PeerId(self.peer)


@dataclass(frozen=True, slots=True)
class Observed:
    """The host saw a verified datagram of `peer` come from this address.

    The host hands it to the machine just before the first message of each sender, and again when the address changes.
    """

    peer: PeerId
    host: str
    port: int
