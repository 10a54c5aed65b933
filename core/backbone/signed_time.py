"""The time as the authority signs it for one newcomer, so that a wrong clock cannot hide an expired certificate.

A newcomer draws a nonce, and the welcome desk answers with the authority's time and signature (as Roughtime does, RFC
draft-ietf-ntp-roughtime).  Only that time is believed: neither this computer's clock, which may be wrong, nor the word
of a server that has yet to prove by its certificate, which must be valid now, that it is a backbone.

What the worst sender gains: a server in between may delay the answer, by `TIMEOUT_S` of `core.joining.join` at most.
A newcomer that asks again and again costs the backbone one signature, about 50 us, each time.
"""

import struct
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.base.ids import PEER_ID_BYTES, PeerId
from core.base.problems import NotTrusted, WireProblem
from core.base.signing import SIGNATURE_BYTES, Ed25519Verifier
from core.base.wire import Schema

TIME_NONCE_BYTES: Final = 16
_BYTES_MAX: Final = 1024


class SignedTime(msgspec.Struct, frozen=True):
    """The welcome desk's answer to a nonce."""

    time: Annotated[float, Meta(ge=0, le=1e12)]
    """The backbone's clock, Unix seconds."""
    signature: Annotated[bytes, Meta(min_length=SIGNATURE_BYTES, max_length=SIGNATURE_BYTES)]
    """The issuer's, over `time_signed_bytes`."""
    by: Annotated[bytes, Meta(max_length=PEER_ID_BYTES)] = b""
    """The issuer's key; empty: the manifest's, at a backbone of an earlier version."""

    def issuer(self, founder: PeerId) -> PeerId:
        """The key by which it is signed; `founder` is the manifest's."""
        return PeerId(self.by) if self.by else founder


TIMES: Final = Schema(SignedTime, named="a signed time", bytes_max=_BYTES_MAX, form="json")


def time_signed_bytes(nonce: bytes, time: float) -> bytes:
    """Bytes that the authority signs: purpose, nonce, time.

    Args:
        nonce: The newcomer's.
        time: Unix seconds.
    """
    return b"potluck time 1\n" + nonce + struct.pack(">d", time)


def read_time(data: bytes, nonce: bytes, authority_id: PeerId) -> SignedTime:
    """The time in an answer; whether its issuer is one of the collaboration, its reader has to know.

    Args:
        data: The answer.
        nonce: Drawn for this question.
        authority_id: The authority's public key, from the manifest.

    Raises:
        NotTrusted: its issuer has not signed it for this nonce.
    """
    try:
        signed = TIMES.decode(data)
    except WireProblem as error:
        raise _unproven() from error
    issuer = signed.issuer(authority_id)
    if not Ed25519Verifier().verify(issuer, signed.signature, time_signed_bytes(nonce, signed.time)):
        raise _unproven()
    return signed


def _unproven() -> NotTrusted:
    return NotTrusted(
        "The server at the backbone's address cannot prove what time it is.", hint="Ask the organiser for a new link."
    )
