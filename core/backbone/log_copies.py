"""Backbones copy each other's admission logs, and note whom they meet, so that people are the same at each.

A backbone asks each other one of the moderators' list for what is new, over TLS in which that one shows its pass, and
signs the question with its issuer's key: nobody else learns who was let in.

What the worst stranger gains: the check of one signature, as often as its household may ask for passes; who repeats a
question, nothing but from the backbone that it was for.  What the worst backbone gains: see `core.backbone.admitted`.
"""

import contextlib
from collections.abc import Callable
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.authority.issuers import Issuer
from core.authority.records import AuthorityRecords
from core.backbone.admission_log import AdmissionLog
from core.backbone.admitted import Admitted, given
from core.base.ids import Peer32, PeerId
from core.base.problems import NotTrusted, ProofProblem
from core.base.signing import SIGNATURE_BYTES, Ed25519Verifier, KeyPair
from core.base.wire import PROTOCOL, Schema
from core.net.identity.issuers import issuers_of
from core.net.identity.passes import Pass, PassRole, PassVerifier, verify_pass

PAGE: Final = 500
"""Number of lines of one answer."""
SIGNED_S: Final = 120.0
"""Seconds by which the clocks of two backbones may differ."""


class LogRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What one backbone asks another one."""

    key: Peer32
    """The issuer that asks."""
    to: Peer32
    """The issuer that is asked."""
    after: Annotated[int, Meta(ge=0, lt=2**31)]
    """Number of lines that it has had."""
    at: Annotated[float, Meta(ge=0, le=1e12)]
    """When it was signed, Unix seconds."""
    signature: Annotated[bytes, Meta(max_length=SIGNATURE_BYTES)] = b""
    """Over `signed_bytes`."""
    protocol: Annotated[int, Meta(ge=0, lt=2**53)] = PROTOCOL

    def signed_bytes(self, manifest_id: bytes) -> bytes:
        """Bytes that the asking issuer signs: purpose, collaboration, and all that is asked."""
        asked = (self.key, self.to, self.after, self.at, self.protocol)
        return b"potluck admissions 1\n" + manifest_id + msgspec.msgpack.encode(asked)


class LogPage(msgspec.Struct, frozen=True):
    """A part of an admission log."""

    lines: Annotated[list[Admitted], Meta(max_length=PAGE)]
    """Without households, invitations and numbers of the page, which mean nothing elsewhere."""
    total: Annotated[int, Meta(ge=0, lt=2**31)]
    """Number of all lines."""


LOG_REQUESTS: Final = Schema(LogRequest, named="a question about an admission log", bytes_max=1024, form="json")
LOG_PAGES: Final = Schema(LogPage, named="a part of an admission log", bytes_max=1024 * 1024, form="json")


class LogCopies:
    """One backbone's part in that.

    Args:
        issuer: Its own key.
        log: Its own log.
        records: What moderators have said.
    """

    def __init__(self, issuer: KeyPair, log: AdmissionLog, records: Callable[[], AuthorityRecords]) -> None:
        self._issuer = issuer
        self._log = log
        self.records = records
        self._had: dict[PeerId, int] = {}
        """Number of lines that each has told since this backbone started."""

    @property
    def others(self) -> list[Issuer]:
        """All other backbones that let people in."""
        listed = self.records().roles.issuers
        return [one for one in listed if one.until is None and one.places and one.key != self._issuer.peer_id]

    async def answer(self, asked: LogRequest, now: float) -> LogPage:
        """What another backbone has not had yet.

        Args:
            asked: As it came.
            now: Unix seconds.

        Raises:
            NotTrusted: no other backbone has signed it for this one now.
        """
        key, records = PeerId(asked.key), self.records()
        ours = asked.to == self._issuer.peer_id and abs(now - asked.at) <= SIGNED_S
        if (
            not ours
            or records.chain.issuing.get(key, 0.0) <= now
            or not Ed25519Verifier().verify(key, asked.signature, asked.signed_bytes(records.seal.manifest_id))
        ):
            raise NotTrusted("No backbone of this collaboration has signed this question.")
        lines = self._log.lines[asked.after : asked.after + PAGE]
        return LogPage([*map(given, lines)], len(self._log.lines))

    def heed(self) -> None:
        """Count nothing that a backbone has told after its key was stolen."""
        self._log.believe(self.records().chain.stolen)

    def note(self, passes: PassVerifier, now: float) -> None:
        """Note the members that this backbone has met as a peer: it knows them when the one that let them in is gone.

        Args:
            passes: Has those that they have shown.
            now: Unix seconds.

        Raises:
            NoSpace: the disk is full.
        """
        self.heed()
        met: dict[PeerId, list[Admitted]] = {}
        for key, one in passes.known.items():
            if key in self._log.admitted or one.role is PassRole.BACKBONE:
                continue
            with contextlib.suppress(ProofProblem):
                passes.check(one, now)
                account = "" if one.further is None else one.further.hex()
                line = Admitted(key=key.hex(), name=one.username, invitation="", at=one.begins, account=account)
                met.setdefault(one.issuer, []).append(line)
        for issuer, lines in met.items():
            self._log.copy(lines, by=issuer, now=now)

    def question(self, to: PeerId, now: float) -> LogRequest:
        """What this backbone asks another one next."""
        asked = LogRequest(key=self._issuer.peer_id, to=to, after=self._had.get(to, 0), at=now)
        signed = asked.signed_bytes(self.records().seal.manifest_id)
        return msgspec.structs.replace(asked, signature=self._issuer.sign(signed))

    def take(self, page: LogPage, by: PeerId, now: float) -> bool:
        """Take an answer; returns whether there is more.

        Args:
            page: The answer.
            by: Issuer of the backbone that gave it.
            now: Unix seconds.

        Raises:
            NoSpace: the disk is full.
        """
        self.heed()
        had = self._had.get(by, 0)
        if page.total < had:  # it goes on from an earlier copy of its charter
            self._had[by] = 0
            return True
        self._log.copy(page.lines, by=by, now=now)
        self._had[by] = had + len(page.lines)
        return bool(page.lines) and self._had[by] < page.total


def shown_pass(certificate: bytes, key: PeerId, records: AuthorityRecords, now: float) -> Pass | None:
    """The pass of another backbone by which a member is known; None: it has none that holds.

    Args:
        certificate: What it shows.
        key: The member's, who has proven to hold it.
        records: What moderators have said.
        now: Unix seconds.
    """
    decisions = records.decisions
    try:
        shown = verify_pass(certificate, issuers_of(records), now)
    except ProofProblem:
        return None
    refused = shown.account in decisions.banned or shown.begins < decisions.passes_since
    return None if refused or shown.peer != key else shown
