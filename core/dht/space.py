"""Points of the key space as whole numbers, so that distances cost one XOR."""

from functools import lru_cache

from core.base.ids import Key, PeerId, node_key

_PEERS_REMEMBERED = 65_536


@lru_cache(maxsize=_PEERS_REMEMBERED)
def position(peer: PeerId | bytes) -> int:
    """Where a peer stands.  It is the hash of the peer's public key: nobody can choose it (S/Kademlia, section 4.1)."""
    return int.from_bytes(node_key(PeerId(peer)), "big")


def point(key: Key | bytes) -> int:
    """The key as a number, whose distance from a peer is `position(peer)` XOR it."""
    return int.from_bytes(key, "big")
