"""Ed25519 keys and signatures.  The primitives are the `cryptography` library's; nothing here is home-made."""

from typing import NamedTuple, Protocol

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from core.base.ids import PeerId

SIGNATURE_BYTES = 64
SEED_BYTES = 32


class Signer(Protocol):
    """Signs in the name of one peer."""

    @property
    def peer_id(self) -> PeerId:
        """The public key that verifies the signatures."""

    def sign(self, data: bytes) -> bytes:
        """A signature of 64 bytes over `data`."""


class Verifier(Protocol):
    """Tells a peer's signature from anything else."""

    def verify(self, peer: PeerId, signature: bytes, data: bytes) -> bool:
        """Whether `signature` is `peer`'s over `data`."""


class Signing(NamedTuple):
    """One peer's way to sign, and to tell others' signatures."""

    signer: Signer
    verifier: Verifier

    @property
    def peer_id(self) -> PeerId:
        """The public key of the peer that signs."""
        return self.signer.peer_id


class KeyPair:
    """A peer's identity: an Ed25519 private key.

    Args:
        seed: The 32 secret bytes.
    """

    def __init__(self, seed: bytes) -> None:
        if len(seed) != SEED_BYTES:
            raise ValueError(f"an Ed25519 seed has {SEED_BYTES} bytes, not {len(seed)}")
        self.private_key = Ed25519PrivateKey.from_private_bytes(seed)
        self.peer_id = PeerId(self.private_key.public_key().public_bytes_raw())

    @classmethod
    def generate(cls) -> "KeyPair":
        """A new identity from the operating system's randomness."""
        return cls(Ed25519PrivateKey.generate().private_bytes_raw())

    @property
    def seed(self) -> bytes:
        """The 32 secret bytes, to be stored safely."""
        return self.private_key.private_bytes_raw()

    def sign(self, data: bytes) -> bytes:
        """A signature of 64 bytes over `data`."""
        return self.private_key.sign(data)


class Ed25519Verifier:
    """Verifies signatures of peers, which are Ed25519 keys."""

    def verify(self, peer: PeerId, signature: bytes, data: bytes) -> bool:
        """Whether `signature` is `peer`'s over `data`; a malformed key or signature is simply not valid."""
        try:
            Ed25519PublicKey.from_public_bytes(peer).verify(signature, data)
        except (InvalidSignature, ValueError):
            return False
        return True
