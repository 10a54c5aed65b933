from core.base.signing import SIGNATURE_BYTES, Signer, Verifier
from tests.sim.world.signing import SimSigner, SimVerifier


def test_only_the_same_peer_and_data_verify() -> None:
    signer: Signer = SimSigner.numbered(1, 7)
    verifier: Verifier = SimVerifier()
    signature = signer.sign(b"data")
    assert len(signature) == SIGNATURE_BYTES
    assert verifier.verify(signer.peer_id, signature, b"data")
    assert not verifier.verify(signer.peer_id, signature, b"other")
    assert not verifier.verify(SimSigner.numbered(1, 8).peer_id, signature, b"data")
    assert not verifier.verify(SimSigner.numbered(2, 7).peer_id, signature, b"data")
    assert not verifier.verify(signer.peer_id[:5], signature, b"data")  # type: ignore[arg-type]


def test_a_name_is_the_same_every_time() -> None:
    assert SimSigner.numbered(3, 4) == SimSigner.numbered(3, 4)
