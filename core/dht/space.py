"""Points of the key space as integers, so that a distance costs one XOR."""

from functools import lru_cache

from core.base.ids import Key, PeerId, node_key

_PEERS_REMEMBERED = 65_536


@lru_cache(maxsize=_PEERS_REMEMBERED)
def position(peer: PeerId | bytes) -> int:
    """Position of a peer: the hash of its public key, so nobody can choose it (S/Kademlia, section 4.1)."""
    return int.from_bytes(node_key(PeerId(peer)), "big")


def point(key: Key | bytes) -> int:
    """The key as an integer; its distance from a peer is `position(peer)` XOR it."""
    return int.from_bytes(key, "big")
