"""Documents that wait for more signatures.

Signatures of one proposal are put together wherever they meet, so that nobody is needed to collect them.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from core.authority import decisions
from core.authority.documents import Document, DocumentKind, DocumentSeal
from core.authority.roles import SCHEMA as ROLES
from core.authority.roles import Roles, read_roles
from core.base.ids import PeerId
from core.base.problems import ProofProblem

PROPOSAL_S: Final = 14 * 24 * 3600
"""A proposal ends after this."""
OPEN_MAX: Final = 2
"""Number of open proposals of one moderator; the latest count."""


class Proposal(NamedTuple):
    """A document that has not enough signatures yet."""

    document: Document
    content: decisions.Decisions | Roles
    author: PeerId
    at: int
    """When it was made, Unix seconds."""


def proposal_of(document: Document) -> Proposal:
    """A document as a proposal.

    Raises:
        WireProblem: it is neither decisions nor roles.
    """
    if document.kind is DocumentKind.ROLES:
        roles = read_roles(document.body)
        return Proposal(document, roles, PeerId(roles.author), roles.at)
    decided = decisions.SCHEMA.decode(document.body)
    return Proposal(document, decided, PeerId(decided.author), decided.number)


def is_understood(proposal: Proposal) -> bool:
    """Whether a proposal says nothing but what this version reads in it, so that people see all that they sign."""
    content = proposal.content
    read = ROLES.encode(content) if isinstance(content, Roles) else decisions.SCHEMA.encode(content)
    return read == proposal.document.body


class Proposals:
    """All that wait, of one collaboration.

    Args:
        seal: The collaboration's.
    """

    def __init__(self, seal: DocumentSeal) -> None:
        self._seal = seal
        self._open: dict[bytes, Proposal] = {}

    def __iter__(self) -> Iterator[Proposal]:
        """All proposals, the oldest first."""
        return iter(sorted(self._open.values(), key=lambda one: (one.at, one.document.name)))

    def joined(self, document: Document, moderators: frozenset[PeerId]) -> Document:
        """The document with those signatures that hold, and those of the proposal that it was till now."""
        known = self._open.get(document.name)
        document = self._seal.only(document, moderators)
        return document if known is None else self._seal.only(self._seal.merged(document, known.document), moderators)

    def add(self, document: Document, moderators: frozenset[PeerId], now: float) -> bool:
        """Keep a proposal; returns whether it, or a signature of it, is new.

        Args:
            document: As `joined` has made it.
            moderators: Those of the roles in force.
            now: Unix seconds.

        Raises:
            RemoteProblem: no moderator has proposed it, or it is too old.
        """
        proposal, signers = proposal_of(document), self._seal.signers(document)
        if proposal.author not in signers & moderators:
            raise ProofProblem("A proposal that its author has not signed.")
        if proposal.at < now - PROPOSAL_S:
            raise ProofProblem("A proposal that has ended.")
        known = self._open.get(document.name)
        if known is not None and signers <= self._seal.signers(known.document):
            return False
        self._open[document.name] = proposal
        return True

    def forget(self, now: float, *, can_follow: Callable[[Document], bool]) -> None:
        """Drop those that can no longer be adopted.

        Args:
            now: Unix seconds.
            can_follow: Tells whether a document is about what is in force now.
        """
        opened = Counter[PeerId]()
        for one in reversed(list(self)):
            opened[one.author] += 1
            if opened[one.author] > OPEN_MAX or one.at < now - PROPOSAL_S or not can_follow(one.document):
                del self._open[one.document.name]
