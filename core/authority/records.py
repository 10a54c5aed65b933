"""All that a peer knows of what the moderators have said, and the one place that decides whose signatures count.

Every peer comes to know the same, in any order of arrival:

- **Roles** follow each other by the rule of `core.authority.roles`.  If two lists have one number, which needs
  moderators who have signed both, the one with the smaller name holds, and what followed the other ends with it; a
  day later it is too late for that.
- **Decisions** need the threshold of the roles in force.  The greater number holds.  Those of earlier roles hold on
  if the roles in force name them, and end otherwise.
- What has too few signatures yet is a **proposal** (`core.authority.proposals`).
- **Holds** are one moderator's (`core.authority.holds`).

What the worst sender gains: a member, the check of 30 signatures; a moderator, two open proposals with its name on
them, and `HELD_MAX` people kept out for a week, until the others pardon them or remove the moderator; a threshold of
moderators, everything, before everybody's eyes.
"""

import contextlib
from typing import Final

import msgspec

from core.authority import decisions as made
from core.authority import holds
from core.authority.decisions import Decisions
from core.authority.documents import AHEAD_S, MARK_BYTES, Document, DocumentKind, DocumentSeal
from core.authority.holds import HoldLists
from core.authority.proposals import Proposals, proposal_of
from core.authority.roles import CHAIN_MAX, RoleChain, Roles, can_follow, read_roles
from core.base.content import digest
from core.base.ids import PeerId
from core.base.problems import ProofProblem, RemoteProblem, WireProblem
from core.base.signing import Ed25519Verifier, Verifier

BUNDLE_BYTES_MAX: Final = 6 * 1024 * 1024
"""Upper bound on all documents of a collaboration, bytes."""
LISTS_BYTES_MAX: Final = 4 * 1024 * 1024
"""Upper bound on all lists of moderators, bytes: 256 of 8 KiB, with 30 signatures each."""

_BUNDLE: Final = msgspec.msgpack.Decoder(tuple[Document, ...])
_ALONE: Final = msgspec.msgpack.Decoder(Document)


class AuthorityRecords:
    """What is known of one collaboration.

    Args:
        founder: The key that the manifest names.
        manifest_id: The collaboration.
        verifier: Checks signatures.
    """

    def __init__(self, founder: PeerId, manifest_id: bytes, verifier: Verifier | None = None) -> None:
        self.seal = DocumentSeal(manifest_id, founder, verifier or Ed25519Verifier())
        self.chain = RoleChain(founder)
        """All lists of moderators and issuers."""
        self._decided: Document | None = None
        self.decisions = Decisions()
        """Those in force."""
        self.holds = HoldLists()
        self.proposals = Proposals(self.seal)

    @property
    def roles(self) -> Roles:
        """Those in force."""
        return self.chain.newest.roles

    @property
    def in_force(self) -> tuple[bytes, bytes]:
        """`Document.name` of the roles and of the decisions in force; empty: the manifest's, and none."""
        return self.chain.newest.name, b"" if self._decided is None else self._decided.name

    @property
    def settled(self) -> list[Document]:
        """What holds, in the order in which it can be taken: all lists of roles, the decisions, and the holds."""
        decided = [] if self._decided is None else [self._decided]
        return [*self.chain.documents, *decided, *self.holds.documents]

    def marked(self) -> dict[bytes, Document]:
        """All documents, in the order in which they can be taken, by marks that differ where peers know different ones.

        Two proposals with one name differ in their signatures; those of what is settled do not matter any more.
        """
        marked = {document.name[:MARK_BYTES]: document for document in self.settled}
        for one in self.proposals:
            signers = b"".join(sorted(self.seal.signers(one.document)))
            marked[digest(one.document.name + signers)[:MARK_BYTES]] = one.document
        return marked

    def shut_out(self, now: float) -> frozenset[PeerId]:
        """Keys that are banned, or held now; no moderator holds another one."""
        spared = {*self.decisions.pardoned, *self.roles.keys, self.seal.founder}
        return frozenset({*map(PeerId, self.decisions.revoked), *(self.holds.now(now).keys() - spared)})

    def take(self, document: Document, now: float) -> bool:
        """Take a document; returns whether something is known now that was not.

        Args:
            document: From anybody.
            now: Unix seconds.

        Raises:
            RemoteProblem: it is not one, or its signatures do not allow it.
        """
        match document.kind:
            case DocumentKind.ROLES:
                is_new = self._take_roles(document, now)
            case DocumentKind.DECISIONS:
                is_new = self._take_decisions(document, now)
            case DocumentKind.HOLDS:
                is_new = self.holds.take(document, self.seal, self.roles.keys)
        if is_new:
            self.forget(now)
        return is_new and any(document.name == known.name for known in self.marked().values())

    def forget(self, now: float) -> None:
        """Drop holds of those who are not moderators any more, and proposals that can no longer be adopted."""
        self.holds.keep(self.roles.keys)
        self.proposals.forget(now, can_follow=self._can_follow)

    def to_bytes(self, *, proposals: bool = True) -> bytes:
        """All documents, also those that wait for signatures if `proposals`; empty: there are none."""
        match [*self.settled, *(one.document for one in self.proposals if proposals)]:
            case []:
                return b""
            case [Document(kind=DocumentKind.DECISIONS) as document]:
                return self.seal.written(document)
            case documents:
                return msgspec.msgpack.encode(documents)

    def learn(self, data: bytes, now: float | None) -> bool:
        """Take all documents of `to_bytes`, also of an earlier version; returns whether something is new.

        Args:
            data: What was kept or given; empty: nothing.
            now: Unix seconds; None: it was learned before, and a clock that is wrong today makes none of it false.

        Raises:
            RemoteProblem: it cannot be read, or a document's signatures do not allow it.
        """
        is_new, wrong = False, None
        for document in read_bundle(data) if data else ():
            try:
                if now is not None and _made_at(document) > now + AHEAD_S:
                    raise ProofProblem("A document of another time.")
                is_new |= self.take(document, now or 0.0)
            except RemoteProblem as problem:  # the others may be true
                wrong = problem
        if wrong is not None and not is_new:
            raise wrong
        return is_new

    # --- inside ------------------------------------------------------------------------------------------------------

    def _take_roles(self, document: Document, now: float) -> bool:
        roles = read_roles(document.body)
        before = self.chain.before(document, roles, now)
        if before is None:
            return False
        document = self.proposals.joined(document, before.roles.keys | roles.keys)
        if can_follow(roles, before.roles, self.seal.signers(document)):
            self.chain.enter(document, roles)
            if not self._standing(self._decided, self.decisions)[0]:  # found by none who would hand them on
                self._decided, self.decisions = None, Decisions()
            return True
        return self._can_follow(document) and self.proposals.add(document, self.roles.keys, now)

    def _take_decisions(self, document: Document, now: float) -> bool:
        decisions = made.SCHEMA.decode(document.body)
        if self._standing(document, decisions) <= self._standing(self._decided, self.decisions):
            return False
        if document.name == self.roles.decisions:  # which the threshold has named
            document = self.seal.only(document, self.chain.ever)
        else:
            if decisions.roles != self.chain.newest.name:
                raise ProofProblem("Decisions of other roles.")
            document = self.proposals.joined(document, self.roles.keys)
            if len(self.seal.signers(document)) < self.roles.threshold:
                return self._can_follow(document) and self.proposals.add(document, self.roles.keys, now)
        self._decided, self.decisions = document, decisions
        return True

    def _standing(self, document: Document | None, decisions: Decisions) -> tuple[int, int, bytes]:
        """The greater one of two holds."""
        if document is None:
            return 0, 0, b""
        by_roles = 2 if decisions.roles == self.chain.newest.name else int(document.name == self.roles.decisions)
        return by_roles, decisions.number, document.name

    def _can_follow(self, document: Document) -> bool:
        """Whether a proposal is about what is in force now."""
        if document.kind is DocumentKind.ROLES:
            roles = read_roles(document.body)
            return (roles.previous, roles.decisions) == self.in_force
        decisions = made.SCHEMA.decode(document.body)
        return (decisions.roles, decisions.previous) == self.in_force


def _made_at(document: Document) -> int:
    """When a document says that it was made, Unix seconds."""
    if document.kind is DocumentKind.HOLDS:
        return holds.SCHEMA.decode(document.body).number
    return proposal_of(document).at


def told_records(records: AuthorityRecords, known: bytes, lists: bytes, now: float) -> AuthorityRecords:
    """What moderators have said, as far as it is known here, with the lists of moderators that a stranger gives.

    What the worst stranger gains: the check of 16 signatures for each of 256 lists, about a fifth of a second; and a
    newcomer that knows no newer list takes an older one for the newest, until it meets a member.

    Args:
        records: Those of the collaboration, empty.
        known: `AuthorityRecords.to_bytes`; what of it cannot be read is passed over.
        lists: The stranger's; empty: none.
        now: Unix seconds.

    Raises:
        RemoteProblem: what the stranger gives are not lists that have the signatures they need.
    """
    with contextlib.suppress(RemoteProblem):
        records.learn(known, None)
    given = read_bundle(lists) if lists else ()
    if len(given) > CHAIN_MAX or any(one.kind is not DocumentKind.ROLES for one in given):
        raise WireProblem("not lists of moderators")
    records.learn(lists, now)
    return records


def read_bundle(data: bytes) -> tuple[Document, ...]:
    """The documents in bytes of `AuthorityRecords.to_bytes`; one alone stands there without a list.

    Raises:
        WireProblem: they are not documents.
    """
    if len(data) > BUNDLE_BYTES_MAX:
        raise WireProblem(f"records of {len(data)} bytes, the limit is {BUNDLE_BYTES_MAX}")
    problem: Exception | None = None
    for read in (_BUNDLE.decode, lambda alone: (_ALONE.decode(alone),)):
        try:
            return read(data)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            problem = error
    raise WireProblem(f"not records of an authority: {problem}")
