"""Peers: their names, the distance between names (Kademlia's XOR metric), and the addresses where they are reached."""

import base64
import hashlib
from dataclasses import dataclass
from typing import Annotated, Final, NewType

import msgspec
from msgspec import Meta

PeerId = NewType("PeerId", bytes)
"""A peer is its raw Ed25519 public key: 32 bytes."""

AccountId = NewType("AccountId", bytes)
"""A person, whose computers have a key each: 16 bytes, which follow from the key that was let in first."""

Key = NewType("Key", bytes)
"""A point of the DHT's key space: 32 bytes (256 bits)."""

PEER_ID_BYTES = 32
KEY_BYTES = 32
ACCOUNT_BYTES = 16


def hashed_key(*parts: bytes) -> Key:
    """The point of the key space that belongs to `parts`; each part is length-prefixed, so no two lists collide."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(4, "big"))
        digest.update(part)
    return Key(digest.digest())


def account_of(key: PeerId) -> AccountId:
    """The account whose first key this is: nobody finds another key with the same 128 bits."""
    return AccountId(hashed_key(b"account", key)[:ACCOUNT_BYTES])


def node_key(peer: PeerId) -> Key:
    """Where a peer stands in the key space.  It follows from the public key, so nobody can choose it freely."""
    return hashed_key(b"node", peer)


def distance(a: bytes, b: bytes) -> int:
    """XOR distance of two keys (Maymounkov and Mazieres 2002, section 2.1)."""
    return int.from_bytes(a, "big") ^ int.from_bytes(b, "big")


def short(peer: bytes) -> str:
    """Eight letters that people can compare: the beginning of the peer's hash in base 32."""
    return base64.b32encode(hashlib.sha256(peer).digest()[:5]).decode().lower()


FINGERPRINT_BYTES = 16
"""Length of a key's fingerprint: nobody finds another key with the same 128 bits."""


def fingerprint(key: bytes) -> str:
    """The beginning of a public key as people compare it over the telephone: 8 groups of 4 letters."""
    letters = key[:FINGERPRINT_BYTES].hex()
    return " ".join(letters[at : at + 4] for at in range(0, len(letters), 4))


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
