"""What a moderator may do alone: keep people out for some days, until the others have had time to look."""

from collections.abc import Collection
from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import Meta

from core.authority.decisions import Second, Words
from core.authority.documents import BODY_BYTES_MAX, Document, DocumentSeal
from core.base.ids import Peer32, PeerId
from core.base.problems import ProofProblem
from core.base.wire import Schema

HELD_MAX: Final = 20
GAP_S: Final = 5
"""Least difference between the numbers of two lists of a moderator: nobody is kept busy with empty ones."""
CLOCKS_S: Final = 3600
"""Who answers a drill follows the asker's clock for so long at most: a later number would keep the next holds out."""
DRILL_S: Final = 7 * 24 * 3600
"""A moderator who has not signed anything for so long since a drill began is named."""
HOLD_S: Final = 7 * 24 * 3600
"""A hold ends after this, at the latest."""


class HeldPerson(msgspec.Struct, frozen=True, array_like=True):
    """A person's key is kept out for some days."""

    key: Peer32
    until: Second
    words: Words


class Holds(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All that one moderator holds; signed by that one alone."""

    number: Second
    """Greater than that of the moderator's list before; the Unix second at which it was made."""
    held: Annotated[tuple[HeldPerson, ...], Meta(max_length=HELD_MAX)] = ()
    drill: Second = 0
    """When this moderator has last asked all others whether they can still sign; 0: never, or it was long ago."""


SCHEMA: Final = Schema(Holds, named="holds", bytes_max=BODY_BYTES_MAX)


class Drill(NamedTuple):
    """The newest question whether all moderators can still sign."""

    at: int
    """When it was asked, Unix seconds."""
    by: PeerId
    missing: frozenset[PeerId]
    """Those who have signed no list of their own since."""


class HoldLists:
    """The newest list of each moderator."""

    def __init__(self) -> None:
        self._newest: dict[PeerId, tuple[Document, Holds]] = {}

    @property
    def documents(self) -> list[Document]:
        """The lists as they were signed."""
        return [document for document, _ in self._newest.values()]

    def take(self, document: Document, seal: DocumentSeal, moderators: Collection[PeerId]) -> bool:
        """Take a list, if its moderator has made no later one; returns whether it is new.

        Args:
            document: From anybody.
            seal: The collaboration's.
            moderators: Those of the roles in force.

        Raises:
            RemoteProblem: it is not one, or its signature does not allow it.
        """
        holds = SCHEMA.decode(document.body)
        document = seal.only(document, moderators)
        signers = list(seal.signers(document))
        if len(signers) != 1:
            raise ProofProblem("holds that no moderator has signed, or several have")
        signer = signers[0]
        if any(one.until > holds.number + HOLD_S for one in holds.held):
            raise ProofProblem("Holds for too long.")
        if holds.drill > holds.number:
            raise ProofProblem("A document of another time.")
        if signer in self._newest and holds.number < self.of(signer).number + GAP_S:
            return False
        self._newest[signer] = (document, holds)
        return True

    def of(self, moderator: PeerId) -> Holds:
        """The newest list of one moderator."""
        return self._newest[moderator][1] if moderator in self._newest else Holds(number=0)

    def now(self, now: float) -> dict[PeerId, HeldPerson]:
        """Who is held, by key: of several holds the one that ends last."""
        held = sorted((one for _, holds in self._newest.values() for one in holds.held), key=lambda one: one.until)
        return {PeerId(one.key): one for one in held if now < one.until}

    def drill(self, moderators: Collection[PeerId]) -> Drill | None:
        """The newest drill; None: there was none.

        Args:
            moderators: Those of the roles in force.
        """
        asked = [(holds.drill, key) for key, (_, holds) in self._newest.items() if holds.drill and key in moderators]
        if not asked:
            return None
        at, by = max(asked)
        return Drill(at, by, frozenset(key for key in moderators if self.of(key).number < at))

    def keep(self, moderators: Collection[PeerId]) -> None:
        """Forget the lists of all but these."""
        self._newest = {key: held for key, held in self._newest.items() if key in moderators}
