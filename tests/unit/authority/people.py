"""Moderators with fixed keys, and what they sign."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from core.authority.changes import new_decisions, new_roles
from core.authority.decisions import SCHEMA, Decisions
from core.authority.documents import Document, DocumentKind, DocumentSeal
from core.authority.records import AuthorityRecords
from core.authority.roles import Moderator
from core.base.ids import PeerId
from core.base.signing import Ed25519Verifier, KeyPair
from tests.unit.net.people import NOW, RUN, id_of, keys

FOUNDER_KEYS = keys("authority")
FOUNDER = FOUNDER_KEYS.peer_id
SEAL = DocumentSeal(RUN, FOUNDER, Ed25519Verifier())


def known(*documents: Document, now: float = NOW) -> AuthorityRecords:
    records = AuthorityRecords(FOUNDER, RUN)
    for document in documents:
        records.take(document, now)
    return records


def signed(document: Document, *names: str) -> Document:
    for name in names:
        document = SEAL.countersign(document, keys(name))
    return document


def only_signed(document: Document, *names: str) -> Document:
    """The same words with these people's signatures alone."""
    alone = SEAL.sign(document.kind, document.body, keys(names[0]))
    return signed(alone, *names[1:])


def decided(records: AuthorityRecords, by: str, *others: str, now: float = NOW, **changes: Any) -> Document:
    return signed(new_decisions(records, keys(by), now, **changes), *others)


def roles(
    records: AuthorityRecords,
    by: str,
    *others: str,
    moderators: Iterable[str],
    threshold: int,
    now: float = NOW,
    called: Mapping[str, str] = MappingProxyType({}),
) -> Document:
    people = [Moderator(id_of(name), called.get(name, name)) for name in moderators]
    return signed(new_roles(records, keys(by), now, moderators=people, threshold=threshold), *others)


def founders(
    number: int, *revoked: PeerId, by: KeyPair = FOUNDER_KEYS, manifest_id: bytes = RUN, since: float = 0.0
) -> bytes:
    """Decisions of a founder who decides alone, as they are kept."""
    seal = DocumentSeal(manifest_id, by.peer_id, Ed25519Verifier())
    decisions = Decisions(number=number, revoked=revoked, passes_since=since)
    return seal.written(seal.sign(DocumentKind.DECISIONS, SCHEMA.encode(decisions), by))


def town(*names: str, threshold: int = 2) -> AuthorityRecords:
    """A collaboration whose founder has handed over to moderators."""
    records = known()
    records.take(roles(records, "authority", *names, moderators=names, threshold=threshold), NOW)
    assert records.roles.number == 1
    return records


def copy_of(records: AuthorityRecords) -> AuthorityRecords:
    again = known()
    again.learn(records.to_bytes(), NOW)
    return again
