"""Signed documents: what a collaboration's moderators have said, each with their signatures over its bytes.

A later version may write more into a document: fields that this one does not know are signed with the rest, passed on,
and skipped.
"""

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.base.content import digest
from core.base.ids import Peer32, PeerId
from core.base.signing import SIGNATURE_BYTES, Signer, Verifier
from core.base.wire import Schema

BODY_BYTES_MAX: Final = 40 * 1024
"""Upper bound on what is signed, bytes: it fits a message, and an answer of the welcome desk."""
MODERATORS_MAX: Final = 15
SIGNATURES_MAX: Final = 2 * MODERATORS_MAX
"""Roles are signed by the moderators before and after."""
MARK_BYTES: Final = 8
AHEAD_S: Final = 24 * 3600
"""What is of a later time than this from now is refused: nothing would ever follow a list of next year."""
Bytes64 = Annotated[bytes, Meta(min_length=SIGNATURE_BYTES, max_length=SIGNATURE_BYTES)]


class DocumentKind(StrEnum):
    """What a document is about."""

    DECISIONS = "decisions"
    ROLES = "roles"
    HOLDS = "holds"


PURPOSES: Final[Mapping[DocumentKind, bytes]] = {
    DocumentKind.DECISIONS: b"potluck records of authority 1\n",
    DocumentKind.ROLES: b"potluck roles 1\n",
    DocumentKind.HOLDS: b"potluck holds 1\n",
}


class Signature(msgspec.Struct, frozen=True, array_like=True):
    """One key's signature over a document."""

    key: Peer32
    signature: Bytes64


class Document(msgspec.Struct, frozen=True, array_like=True, dict=True):
    """A document as it travels and lies on disks."""

    body: Annotated[bytes, Meta(max_length=BODY_BYTES_MAX)]
    signatures: Bytes64 | Annotated[tuple[Signature, ...], Meta(max_length=SIGNATURES_MAX)]
    """A signature alone is that of the key which the manifest names: so wrote earlier versions."""
    kind: DocumentKind = DocumentKind.DECISIONS

    @cached_property
    def name(self) -> bytes:
        """Digest of what is signed, 32 bytes: two documents with one name differ in their signatures only."""
        return digest(PURPOSES[self.kind] + self.body)


ONE: Final = Schema(Document, named="a signed document", bytes_max=BODY_BYTES_MAX + 8 * 1024)


class DocumentSeal:
    """Signs documents of one collaboration, and tells whose signatures they have.

    Args:
        manifest_id: The collaboration; one key may have a part in several.
        founder: The key that the manifest names.
        verifier: Checks signatures.
    """

    def __init__(self, manifest_id: bytes, founder: PeerId, verifier: Verifier) -> None:
        self.manifest_id = manifest_id
        self.founder = founder
        self._verifier = verifier

    def sign(self, kind: DocumentKind, body: bytes, signer: Signer) -> Document:
        """Make a document with one signature."""
        return Document(body, (Signature(signer.peer_id, signer.sign(self._signed_bytes(kind, body))),), kind)

    def countersign(self, document: Document, signer: Signer) -> Document:
        """The document with one signature more."""
        return self.merged(document, self.sign(document.kind, document.body, signer))

    def merged(self, document: Document, other: Document) -> Document:
        """One document with the signatures of both; a key counts once."""
        both = {one.key: one for one in (*self._signatures(other), *self._signatures(document))}
        return msgspec.structs.replace(document, signatures=tuple(both.values())[:SIGNATURES_MAX])

    def only(self, document: Document, allowed: Collection[PeerId]) -> Document:
        """The document without signatures that do not hold, or are not of these keys."""
        data = self._signed_bytes(document.kind, document.body)
        claimed = {PeerId(one.key): one for one in self._signatures(document) if one.key in allowed}
        held = {key: one for key, one in claimed.items() if self._verifier.verify(key, one.signature, data)}
        return msgspec.structs.replace(document, signatures=tuple(held.values()))

    def signers(self, document: Document) -> frozenset[PeerId]:
        """The keys whose signatures a document has, whether or not they hold."""
        return frozenset(PeerId(one.key) for one in self._signatures(document))

    def written(self, document: Document) -> bytes:
        """The document's bytes; what the founder's key alone has decided is written as earlier versions read it."""
        match self._signatures(document):
            case (Signature(key=key, signature=signature),) if (
                key == self.founder and document.kind is DocumentKind.DECISIONS
            ):
                return msgspec.msgpack.encode([document.body, signature])
        return ONE.encode(document)

    def _signatures(self, document: Document) -> Iterable[Signature]:
        if isinstance(document.signatures, bytes):
            return (Signature(self.founder, document.signatures),)
        return document.signatures

    def _signed_bytes(self, kind: DocumentKind, body: bytes) -> bytes:
        return PURPOSES[kind] + self.manifest_id + body
