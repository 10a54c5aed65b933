"""What newcomers and members ask of a welcome desk, and what it answers: bodies of its requests, JSON."""

from enum import StrEnum
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.api.account import AccountAct
from core.api.moderation import CopiesView
from core.authority.audit import AuditLine
from core.authority.decisions import GoBack
from core.authority.records import BUNDLE_BYTES_MAX
from core.base.ids import HOST_CHARACTERS_MAX, Peer32, PeerId
from core.base.signing import SIGNATURE_BYTES
from core.base.wire import Schema
from core.net.identity.passes import PASS_BYTES_MAX

REQUEST_BYTES_MAX = 16 * 1024
GRANT_BYTES_MAX = 2 * 1024 * 1024
NAMES_MAX: Final = 500
"""Names that come with a pass: 40 kB in each grant.  Of later ones a member learns from their passes."""
AUDIT_LINES_MAX: Final = 100
SPEED_END: Final = 1e12
"""No collaboration computes as many samples a second."""
EARNED_MAX: Final = 256
"""Number of peers that come with a pass as those that were in rounds, the last ones."""


class PassRequest(msgspec.Struct, frozen=True):
    """What a newcomer, or a member whose pass is about to expire, sends."""

    invite: Annotated[str, Meta(max_length=128)]
    """The invitation's secret; a member that renews its pass needs none, since the request proves its key."""
    csr: Annotated[bytes, Meta(max_length=4096)]
    """X.509 certificate request (DER), signed with the peer's own key."""
    username: Annotated[str, Meta(min_length=1, max_length=40)]
    """The name that a newcomer wants; a member has its name already."""
    device: Annotated[str, Meta(max_length=40)]
    protocol: Annotated[int, Meta(ge=0, lt=2**53)] = 1
    """The newcomer's `core.base.wire.PROTOCOL`; the first did not say so."""
    certificate: Annotated[bytes, Meta(max_length=PASS_BYTES_MAX)] = b""
    """A member's last pass, for a desk that has not let it in itself; empty: it has none."""


class InvitationCheck(msgspec.Struct, frozen=True):
    """What a program sends for a person who looks at a link before they decide."""

    invite: Annotated[str, Meta(max_length=128)]
    protocol: Annotated[int, Meta(ge=0, lt=2**53)]
    """Protocol version of the program."""
    peer: Peer32 | None = None
    """The computer that is about to ask for its first pass; a use of the invitation is held for it until then."""


class CollaborationNow(msgspec.Struct, frozen=True):
    """The collaboration at this moment, as the backbone sees it."""

    computers: Annotated[int, Meta(ge=0, lt=2**31)] = 0
    """Computers that are here; the backbone itself does not count."""
    samples_per_s: Annotated[float, Meta(ge=0, lt=SPEED_END)] = 0.0
    """All of them together."""
    epoch: Annotated[int, Meta(ge=0, lt=2**53)] = 0


class SiteHere(msgspec.Struct, frozen=True):
    """Where people without an invitation sign in, and get a ticket (`core.backbone.ways.tickets`)."""

    site: Annotated[str, Meta(max_length=255)] = ""
    """Address of the page, without a path; empty: nobody signs in."""


class KnownPeer(msgspec.Struct, frozen=True):
    """Where a peer can be found."""

    peer: Peer32
    host: Annotated[str, Meta(min_length=1, max_length=HOST_CHARACTERS_MAX)]
    port: Annotated[int, Meta(ge=1, le=65535)]


class PassGrant(msgspec.Struct, frozen=True):
    """The welcome desk's answer to a newcomer that it lets in."""

    certificate: bytes
    """The pass: an X.509 certificate (DER)."""
    contacts: list[KnownPeer]
    """Live peers to begin with; the first is the backbone."""
    records: Annotated[bytes, Meta(max_length=BUNDLE_BYTES_MAX)] = b""
    """What moderators have said, `AuthorityRecords.to_bytes`; empty: nothing."""
    names: Annotated[list[tuple[Peer32, Annotated[str, Meta(max_length=40)]]], Meta(max_length=NAMES_MAX)] = []
    """Names of those who were let in last: the leaderboard has rows of people who have left."""
    earned: Annotated[list[Peer32], Meta(max_length=EARNED_MAX)] = []
    """Peers that were in rounds, as far as the backbone knows: a newcomer knows nobody itself."""
    page: Annotated[str, Meta(max_length=200)] = ""
    """Address of the page for everybody; empty: there is none, or it has no address of its own."""

    @property
    def members(self) -> tuple[PeerId, ...]:
        """Peers that were in rounds, by their ids."""
        return tuple(map(PeerId, self.earned))

    @property
    def named(self) -> dict[PeerId, str]:
        """The names of those let in last, by peer."""
        return {PeerId(peer): name for peer, name in self.names}


class JoinRefusal(msgspec.Struct, frozen=True):
    """The welcome desk's answer to a newcomer that it turns away, worded for people."""

    code: str
    message: str
    hint: str = ""


NEWER: Final = "link.newer"
"""Code of a refusal: the collaboration's protocol is newer than the newcomer's."""
OLDER: Final = "link.older"


class AccountRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A member's, signed with its key; whose account it is, the desk knows."""

    act: AccountAct
    key: Peer32
    ended: Annotated[bytes, Meta(max_length=32)] = b""
    """Key of the computer that is ended; else empty."""
    desk: Peer32
    """The backbone that is asked: no other one can ask in the member's name by this signature."""
    at: Annotated[float, Meta(ge=0, le=1e12)]
    """When it was signed, Unix seconds of the backbone's clock."""
    nonce: Annotated[bytes, Meta(min_length=16, max_length=16)]
    signature: Annotated[bytes, Meta(max_length=SIGNATURE_BYTES)] = b""
    """Over `signed_bytes`."""
    protocol: Annotated[int, Meta(ge=0, lt=2**53)]

    def signed_bytes(self, manifest_id: bytes) -> bytes:
        """Bytes that the member signs: purpose, collaboration, and all that is asked of which desk."""
        asked = (self.act.value, self.key, self.ended, self.desk, self.at, self.nonce, self.protocol)
        return b"potluck account 1\n" + manifest_id + msgspec.msgpack.encode(asked)


class KnownDevice(msgspec.Struct, frozen=True):
    """One computer of an account, as the desk knows it."""

    key: Peer32
    name: Annotated[str, Meta(max_length=80)]
    """What it called itself; empty: an earlier version let it in."""
    at: Annotated[float, Meta(ge=0, le=1e12)]
    """When it was let in, Unix seconds."""
    ended: bool = False


class AccountAnswer(msgspec.Struct, frozen=True):
    """An account as it is after what was asked."""

    devices: Annotated[list[KnownDevice], Meta(max_length=64)]
    """In the order in which they came."""
    invite: Annotated[str, Meta(max_length=128)] = ""
    """Secret of the invitation that was made."""
    expires: Annotated[float, Meta(ge=0, le=1e12)] = 0.0
    """When it ends, Unix seconds."""
    told: bool = True
    """False: peers are not told of the end, so that the last pass holds until its time is over."""


class ModeratorAct(StrEnum):
    """What a moderator asks a desk for."""

    COPIES = "copies"
    """The copies of the model, and how to go back to the one with this number, where it is not 0."""
    AUDIT = "audit"
    """What moderators did, the lines behind this number."""
    PAGE = "page"
    """An address at which this moderator signs in at the page, once."""


class ModeratorQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A moderator's, signed with the moderator's key."""

    act: ModeratorAct
    key: Peer32
    number: Annotated[int, Meta(ge=0, lt=2**31)] = 0
    desk: Peer32
    """The backbone that is asked: no other one can ask in the moderator's name by this signature."""
    at: Annotated[float, Meta(ge=0, le=1e12)]
    """When it was signed, Unix seconds of the backbone's clock."""
    nonce: Annotated[bytes, Meta(min_length=16, max_length=16)]
    signature: Annotated[bytes, Meta(max_length=SIGNATURE_BYTES)] = b""
    """Over `signed_bytes`."""
    protocol: Annotated[int, Meta(ge=0, lt=2**53)]

    def signed_bytes(self, manifest_id: bytes) -> bytes:
        """Bytes that the moderator signs: purpose, collaboration, and all that is asked."""
        asked = (self.act.value, self.key, self.number, self.desk, self.at, self.nonce, self.protocol)
        return b"potluck moderator 1\n" + manifest_id + msgspec.msgpack.encode(asked)


class ModeratorAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What a desk tells a moderator."""

    copies: CopiesView | None = None
    back: GoBack | None = None
    """What moderators sign to have everybody go back to the copy that was named."""
    lines: Annotated[tuple[AuditLine, ...], Meta(max_length=AUDIT_LINES_MAX)] = ()
    count: Annotated[int, Meta(ge=0, lt=2**31)] = 0
    """Number of the last line that there is."""
    page: Annotated[str, Meta(max_length=400)] = ""
    """The address that was asked for."""


REQUESTS: Final = Schema(PassRequest, named="a request for a pass", bytes_max=REQUEST_BYTES_MAX, form="json")
ACCOUNTS: Final = Schema(AccountRequest, named="a question about an account", bytes_max=1024, form="json")
SITES: Final = Schema(SiteHere, named="the address of a page", bytes_max=1024, form="json")
ANSWERS: Final = Schema(AccountAnswer, named="an account", bytes_max=64 * 1024, form="json")
CHECKS: Final = Schema(InvitationCheck, named="a question about an invitation", bytes_max=1024, form="json")
GRANTS: Final = Schema(PassGrant, named="a pass with contacts", bytes_max=GRANT_BYTES_MAX, form="json")
REFUSALS: Final = Schema(JoinRefusal, named="a refusal", bytes_max=GRANT_BYTES_MAX, form="json")
MODERATORS: Final = Schema(ModeratorQuestion, named="a moderator's question", bytes_max=1024, form="json")
MODERATOR_ANSWERS: Final = Schema(ModeratorAnswer, named="an answer to a moderator", bytes_max=256 * 1024, form="json")
