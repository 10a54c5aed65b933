"""Who may decide: numbered lists of moderators, each signed by those of the list before and by its own.

The rule is that of TUF's root role (The Update Framework, version 1.0.33, section 5.3): number N + 1 is signed by the
threshold of N *and* of N + 1, and a key counts once.  Number 0 is the manifest's key alone.
"""

from collections.abc import Collection, Mapping
from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import Meta

from core.api.moderation import FOUNDER_NAME
from core.authority.documents import BODY_BYTES_MAX, MODERATORS_MAX, Document
from core.authority.issuers import ISSUERS_MAX, Issuer, check_issuers, issuing
from core.base.content import DIGEST_BYTES
from core.base.ids import Peer32, PeerId
from core.base.problems import BadInput, ProofProblem, WireProblem
from core.base.wire import Schema

NAME_BYTES_MAX: Final = 40
CHAIN_MAX: Final = 256
"""Number of lists after the manifest's."""
ROLES_BYTES_MAX: Final = 8 * 1024
SETTLED_S: Final = 24 * 3600
"""After this nothing takes the place of a list that holds: the moderators before could do so for ever otherwise."""


class Moderator(msgspec.Struct, frozen=True, array_like=True):
    """Somebody who may sign for the collaboration."""

    key: Peer32
    name: Annotated[str, Meta(min_length=1, max_length=NAME_BYTES_MAX)]


class Roles(msgspec.Struct, frozen=True, kw_only=True):
    """A list of moderators, as it is signed."""

    number: Annotated[int, Meta(ge=0, le=CHAIN_MAX)]
    """One more than that of the list before."""
    previous: Annotated[bytes, Meta(max_length=DIGEST_BYTES)] = b""
    """`Document.name` of the list before; empty: it is the manifest's."""
    moderators: Annotated[tuple[Moderator, ...], Meta(min_length=1, max_length=MODERATORS_MAX)]
    threshold: Annotated[int, Meta(ge=1, le=MODERATORS_MAX)]
    """How many of them have to agree."""
    decisions: Annotated[bytes, Meta(max_length=DIGEST_BYTES)] = b""
    """`Document.name` of the decisions that go on to hold, made by an earlier list; empty: there were none.

    So nobody who was removed decides anything with a list in which they still stand."""
    author: Peer32
    """Who has proposed it."""
    at: Annotated[int, Meta(ge=0, lt=2**53)]
    """When, Unix seconds."""
    listed: Annotated[tuple[Issuer, ...], Meta(max_length=ISSUERS_MAX)] | msgspec.UnsetType = msgspec.field(
        default=msgspec.UNSET, name="issuers"
    )
    """`issuers`; a list without any is written as earlier versions write it."""

    @property
    def issuers(self) -> tuple[Issuer, ...]:
        """Whose passes hold, or did; without the manifest's key, its passes hold."""
        return () if isinstance(self.listed, msgspec.UnsetType) else self.listed

    @property
    def keys(self) -> frozenset[PeerId]:
        """The keys of all moderators."""
        return frozenset(PeerId(one.key) for one in self.moderators)

    def name_of(self, key: bytes) -> str:
        """What a moderator is called; empty: the key is not a moderator's."""
        return next((one.name for one in self.moderators if one.key == key), "")


SCHEMA: Final = Schema(Roles, named="roles", bytes_max=BODY_BYTES_MAX)


def founders_roles(founder: PeerId) -> Roles:
    """Number 0: the key in the manifest decides alone."""
    return Roles(number=0, moderators=(Moderator(founder, FOUNDER_NAME),), threshold=1, author=founder, at=0)


def read_roles(body: bytes) -> Roles:
    """The list in a document's body.

    Raises:
        WireProblem: it is not a list by which anybody can decide.
    """
    roles = SCHEMA.decode(body)
    try:
        check_roles(roles)
    except BadInput as problem:
        raise WireProblem(problem.message) from problem
    if len(body) > ROLES_BYTES_MAX or roles.number < 1:
        raise WireProblem("roles without a number, or of too many bytes")
    return roles


def check_roles(roles: Roles) -> None:
    """Refuse a list by which nobody could decide, or with names that cannot be shown.

    Raises:
        BadInput: it is one.
    """
    check_issuers(roles.issuers)
    if len(roles.keys) < len(roles.moderators):
        raise BadInput("A moderator stands in the list twice.")
    if roles.threshold > len(roles.moderators):
        raise BadInput(
            "More moderators would have to agree than there are.", hint="Lower the threshold, or add moderators first."
        )
    for one in roles.moderators:
        if not one.name.strip() or not one.name.isprintable() or len(one.name.encode()) > NAME_BYTES_MAX:
            raise BadInput(
                "A moderator's name cannot be shown.", NAME_BYTES_MAX, hint="Choose one of 1 to {most} printable bytes."
            )


def usual_threshold(moderators: int) -> int:
    """How many moderators have to agree where nobody says: one if there are up to two, else more than half."""
    return 1 if moderators <= 2 else moderators // 2 + 1


def can_follow(roles: Roles, before: Roles, signers: Collection[PeerId]) -> bool:
    """Whether these signers are enough for roles to follow others."""
    return all(len(each.keys & set(signers)) >= each.threshold for each in (before, roles))


class RoleLink(NamedTuple):
    """A link of the chain of roles."""

    name: bytes
    roles: Roles
    document: Document | None
    """None: the manifest."""


class RoleChain:
    """All lists since the manifest.

    Args:
        founder: The key that the manifest names.
    """

    def __init__(self, founder: PeerId) -> None:
        self._founder = founder
        self._links = [RoleLink(b"", founders_roles(founder), None)]

    @property
    def newest(self) -> RoleLink:
        """The list that is in force now."""
        return self._links[-1]

    @property
    def issuing(self) -> Mapping[PeerId, float]:
        """When the passes of each issuer end, Unix seconds; infinite: it goes on giving some."""
        return issuing(self.newest.roles.issuers, self._founder)

    def listed(self, issuer: PeerId) -> int:
        """When a list first named an issuer, Unix seconds; 0: none has, or the manifest did."""
        named = (link.roles.at for link in self._links if issuer in {PeerId(one.key) for one in link.roles.issuers})
        return 0 if issuer == self._founder else next(named, 0)

    @property
    def stolen(self) -> Mapping[PeerId, float]:
        """Issuers whose passes a list has ended after the fact, and since when, Unix seconds."""
        found: dict[PeerId, float] = {}
        before: Mapping[PeerId, float] = {}
        for link in self._links:
            ends = issuing(link.roles.issuers, self._founder)
            for key, until in ends.items():
                if until <= link.roles.at and until != before.get(key):
                    found[key] = min(until, found.get(key, until))
            before = ends
        return found

    @property
    def documents(self) -> list[Document]:
        """As they were signed, the first one first."""
        return [link.document for link in self._links if link.document is not None]

    def before(self, document: Document, roles: Roles, now: float) -> RoleLink | None:
        """The list that would be followed; None: this one is known, or is the one of two that does not hold.

        Args:
            document: The list as it was signed.
            roles: What it says.
            now: Unix seconds.

        Raises:
            ProofProblem: the list before is not known, or does not hold; or nobody would give passes.
        """
        try:
            issuing(roles.issuers, self._founder)
        except BadInput as problem:  # nobody could meet any more, to take it back
            raise ProofProblem("Roles by which nobody gives passes.") from problem
        if roles.number > len(self._links) or self._links[roles.number - 1].name != roles.previous:
            raise ProofProblem("Roles that do not follow those that are known.")
        for known in self._links[roles.number :][:1]:
            if known.name <= document.name or known.roles.at + SETTLED_S < now:
                return None
        return self._links[roles.number - 1]

    @property
    def ever(self) -> frozenset[PeerId]:
        """The keys of all who were moderators at any time."""
        return frozenset(key for link in self._links for key in link.roles.keys)

    def enter(self, document: Document, roles: Roles) -> None:
        """A list holds from now on, in place of another one with its number and of what followed that."""
        self._links[roles.number :] = [RoleLink(document.name, roles, document)]
