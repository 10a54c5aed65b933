"""Cheap signatures for simulations.  They prove nothing: with an id, anybody can make its signatures."""

import hashlib
from dataclasses import dataclass

from core.base.ids import PEER_ID_BYTES, PeerId
from core.base.signing import SIGNATURE_BYTES


@dataclass(frozen=True, slots=True)
class SimSigner:
    """A Signer whose signatures are keyed BLAKE2b: about a microsecond instead of Ed25519's fifty."""

    peer_id: PeerId

    @classmethod
    def numbered(cls, seed: int, number: int) -> "SimSigner":
        """The signer of peer `number` in the world of `seed`."""
        name = f"peer {number} of world {seed}".encode()
        return cls(PeerId(hashlib.blake2b(name, digest_size=PEER_ID_BYTES).digest()))

    def sign(self, data: bytes) -> bytes:
        """64 bytes that only this id and this data give."""
        return _signature(self.peer_id, data)


class SimVerifier:
    """Tells the signatures of `SimSigner` from anything else."""

    def verify(self, peer: PeerId, signature: bytes, data: bytes) -> bool:
        """Whether `signature` is `peer`'s over `data`."""
        return len(peer) == PEER_ID_BYTES and signature == _signature(peer, data)


def _signature(peer: bytes, data: bytes) -> bytes:
    return hashlib.blake2b(data, key=peer, digest_size=SIGNATURE_BYTES).digest()
