"""Records of authority: what a collaboration's authority has decided since its manifest, as one signed, numbered list.

Every peer holds the newest list and hands it on (`core.session.authority_news`); lists with smaller numbers are
ignored.  `read_records` is the one place that decides whose signature counts.  A later version may write more into a
list: fields that this one does not know are signed with the rest, passed on, and skipped.

What the worst sender gains: nothing but the check of one signature; only the authority can make a list, and an older
one replaces none.
"""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.base.contact import Peer32
from core.base.ids import PeerId
from core.base.problems import ProofProblem
from core.base.signing import SIGNATURE_BYTES, Signer, Verifier
from core.base.wire import Schema

REVOKED_MAX: Final = 1000
"""Number of keys that a list names, the latest.  Earlier ones have no pass that holds: `AuthorityRecords.passes_since`
is just after the last revocation that has left the list, and the backbone renews none of them."""
ROLLOVER_S: Final = 600.0
"""Seconds from `passes_since` in which members get another pass; then older ones hold no longer."""
RECORDS_BYTES_MAX: Final = 40 * 1024
"""Upper bound on a signed list, bytes: it fits a message, and an answer of the welcome desk."""
PURPOSE: Final = b"potluck records of authority 1\n"


class AuthorityRecords(msgspec.Struct, frozen=True, kw_only=True):
    """The list itself."""

    number: Annotated[int, Meta(ge=0, lt=2**53)] = 0
    """Greater than that of every earlier list; 0: nothing has been decided."""
    revoked: Annotated[tuple[Peer32, ...], Meta(max_length=REVOKED_MAX)] = ()
    """Keys whose passes hold no longer, the latest last."""
    passes_since: Annotated[float, Meta(ge=0, le=1e12)] = 0.0
    """No pass that began before this holds, Unix seconds.  It is days ago, when all passes are younger anyway, unless
    more keys than a list has room for were shut out within the life of a pass."""


class _Signed(msgspec.Struct, frozen=True, array_like=True):
    records: Annotated[bytes, Meta(max_length=RECORDS_BYTES_MAX)]
    signature: Annotated[bytes, Meta(min_length=SIGNATURE_BYTES, max_length=SIGNATURE_BYTES)]


_LIST: Final = Schema(AuthorityRecords, named="records of an authority", bytes_max=RECORDS_BYTES_MAX)
_FILE: Final = Schema(_Signed, named="signed records", bytes_max=RECORDS_BYTES_MAX)


def sign_records(records: AuthorityRecords, signer: Signer, manifest_id: bytes) -> bytes:
    """The list with the authority's signature.

    Args:
        records: The list.
        signer: The authority.
        manifest_id: The collaboration; one authority may have several.
    """
    data = _LIST.encode(records)
    return _FILE.encode(_Signed(data, signer.sign(PURPOSE + manifest_id + data)))


def read_records(data: bytes, *, authority_id: PeerId, manifest_id: bytes, verifier: Verifier) -> AuthorityRecords:
    """The list in signed bytes, verified.

    Args:
        data: The signed bytes.
        authority_id: The authority's public key, from the manifest.
        manifest_id: The collaboration.
        verifier: Checks the signature.

    Raises:
        WireProblem: not a list.
        ProofProblem: not the authority's, or of another collaboration.
    """
    signed = _FILE.decode(data)
    if not verifier.verify(authority_id, signed.signature, PURPOSE + manifest_id + signed.records):
        raise ProofProblem("The records are not signed by the collaboration's authority.")
    return _LIST.decode(signed.records)
