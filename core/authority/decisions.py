"""What the moderators have decided since the manifest: one numbered list, which replaces the one before as a whole."""

from enum import StrEnum
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.authority.documents import BODY_BYTES_MAX
from core.base.bounds import Epoch
from core.base.content import DIGEST_BYTES
from core.base.ids import AccountId, Peer32, PeerId, account_of
from core.base.state_header import ORIGIN_BYTES
from core.base.wire import Schema

REVOKED_MAX: Final = 1000
"""Number of keys that a list names, the latest.  Earlier ones have no pass that holds: `Decisions.passes_since` is just
after the last revocation that has left the list, and the backbone renews none of them."""
ROLLOVER_S: Final = 600.0
"""Seconds from `passes_since` in which members get another pass; then older ones hold no longer."""
PARDONED_MAX: Final = 64
NOTICES_MAX: Final = 4
WORDS_MAX: Final = 300
SUCCESSOR_MAX: Final = 600
"""Letters of a link with eight addresses."""
Words = Annotated[str, Meta(max_length=WORDS_MAX)]
_Digest = Annotated[bytes, Meta(min_length=DIGEST_BYTES, max_length=DIGEST_BYTES)]
Second = Annotated[int, Meta(ge=0, lt=2**53)]
"""Unix seconds."""


class Newcomers(StrEnum):
    """Who can come in by an invitation."""

    INVITED = "invited"
    CLOSED = "closed"
    """Nobody new comes in, by any invitation."""


class EndState(StrEnum):
    """What the moderators want of everybody."""

    PAUSED = "paused"
    """Nothing is computed until they go on."""
    CLOSED = "closed"
    """The collaboration has ended: nothing is computed, and nobody new comes in."""


class End(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The moderators have paused the collaboration, or ended it."""

    state: EndState
    words: Words = ""
    successor: Annotated[str, Meta(max_length=SUCCESSOR_MAX)] = ""
    """Link of a collaboration that goes on; each decides whether to take part there.  Empty: none is named."""


class Announcement(msgspec.Struct, frozen=True, array_like=True):
    """Words of the moderators to all."""

    at: Second
    until: Second
    words: Words


class GoBack(msgspec.Struct, frozen=True, kw_only=True):
    """Everybody goes back to a copy of the model, as its derived root (`core.backbone.derived_root`)."""

    epoch: Epoch
    source: _Digest
    """Lineage of the copy."""
    root: _Digest
    """Lineage of the root; states with another origin than its own count for nothing any more."""
    digest: _Digest
    """Root digest of the root's file."""

    def undoes(self, lineage: bytes) -> bool:
        """Whether a state of this lineage did not come from the root."""
        return lineage[-ORIGIN_BYTES:] != self.root[-ORIGIN_BYTES:]


class Decisions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The list itself, as it is signed."""

    number: Second = 0
    """Greater than that of every earlier list; the Unix second at which it was made, or one more than the one before.
    0: nothing has been decided."""
    revoked: Annotated[tuple[Peer32, ...], Meta(max_length=REVOKED_MAX)] = ()
    """Keys whose passes hold no longer, the latest last."""
    passes_since: Annotated[float, Meta(ge=0, le=1e12)] = 0.0
    """No pass that began before this holds, Unix seconds.  It is days ago, when all passes are younger anyway, unless
    more keys than a list has room for were shut out within the life of a pass."""
    roles: Annotated[bytes, Meta(max_length=DIGEST_BYTES)] = b""
    """`Document.name` of the roles by which it was decided; empty: the manifest's."""
    previous: Annotated[bytes, Meta(max_length=DIGEST_BYTES)] = b""
    """`Document.name` of the list that it replaces.  While signatures are missing, it is a proposal to replace that
    list, and no other."""
    author: Annotated[bytes, Meta(max_length=DIGEST_BYTES)] = b""
    """The key of who has proposed it; empty: it was decided by one key alone."""
    words: Words = ""
    """The moderators' reason, for everybody."""
    pardoned: Annotated[tuple[Peer32, ...], Meta(max_length=PARDONED_MAX)] = ()
    """Keys that no single moderator holds any longer, the latest last."""
    notices: Annotated[tuple[Announcement, ...], Meta(max_length=NOTICES_MAX)] = ()
    newcomers: Newcomers = Newcomers.INVITED
    back: GoBack | None = None
    """None: all states that came from the first one count."""
    end: End | None = None
    """None: everybody trains."""

    @property
    def lets_in(self) -> bool:
        """Whether anybody new comes in by an invitation."""
        closed = self.end is not None and self.end.state is EndState.CLOSED
        return self.newcomers is not Newcomers.CLOSED and not closed

    @property
    def banned(self) -> frozenset[AccountId]:
        """Accounts whose first key is revoked: no key of theirs has a pass that holds, known here or not."""
        return frozenset(account_of(PeerId(key)) for key in self.revoked)


SCHEMA: Final = Schema(Decisions, named="decisions", bytes_max=BODY_BYTES_MAX)
