"""What the backbone and the process of its page say to each other, frames behind their length on the page's pipes.

The backbone sends views (`core.api.site_view`), its settings of ways in, and answers; the page asks for tickets and
about computers of people who have signed in there.  It names them by a number of its own, `person`, which the admission
log keeps beside the keys that came by its tickets: so it can ask about nobody else.
"""

from enum import StrEnum
from typing import Annotated, Final, TypeAlias

import msgspec
from msgspec import Meta

from core.api.moderation import AuditView, CopiesView, ModerationView, PersonView
from core.api.site_view import LENGTH_BYTES, SiteView
from core.base.ids import Peer32
from core.base.site.ways import WaysIn

ASK_BYTES_MAX: Final = 1024
"""Upper bound on an encoded question, bytes."""
FRAME_BYTES_MAX: Final = 4 * 1024 * 1024
"""Upper bound on what the backbone sends at once: a view, or settings with the longest lists of people."""
DEVICES_MAX: Final = 10
MODERATORS_ENTER: Final = "/m/in"
"""Address on the page at which a moderator's code is shown."""
SAID_LETTERS: Final = 80
"""Length of what the page says of a moderator's answer."""

Person: TypeAlias = Annotated[bytes, Meta(min_length=16, max_length=16)]
_Words: TypeAlias = Annotated[str, Meta(max_length=1000)]


class DeskAct(StrEnum):
    """What the page asks for, about one person."""

    TICKET = "ticket"
    """An invitation for one computer of this person."""
    DEVICES = "devices"
    END = "end"
    """Let a computer of this person in no more; the zero key: all of them."""
    ENTER = "enter"
    """Whose the code of a moderator is; `key` is the code's digest.  It is used by this."""
    DECISIONS = "decisions"
    """What the moderator with this key decides on; so do the next ones."""
    PEOPLE = "people"
    COPIES = "copies"
    AUDIT = "audit"
    ANSWERED = "answered"
    """The moderator has answered somebody's request, as `words` say."""


class DeskAsk(msgspec.Struct, frozen=True, array_like=True):
    """A question of the page's; answers come in the order of the questions."""

    act: DeskAct
    person: Person = bytes(16)
    key: Peer32 = bytes(32)
    """The computer that is ended, or a moderator."""
    words: Annotated[str, Meta(max_length=SAID_LETTERS)] = ""


class SiteDevice(msgspec.Struct, frozen=True, array_like=True):
    """One computer of a person who has signed in."""

    key: Peer32
    name: Annotated[str, Meta(max_length=80)]
    """What it called itself; empty: it said nothing."""
    at: Annotated[float, Meta(ge=0, le=1e12)]
    """When it was let in, Unix seconds."""
    ended: bool


class ModeratorFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a moderator who has signed in at the page sees there."""

    key: Peer32
    """The moderator's."""
    name: Annotated[str, Meta(max_length=80)]
    view: ModerationView
    people: tuple[PersonView, ...] = ()
    copies: CopiesView | None = None
    audit: AuditView | None = None


class DeskAnswer(msgspec.Struct, frozen=True, tag="answer"):
    """What the backbone answers to one question."""

    error: Annotated[str, Meta(max_length=32)] = ""
    """One of banned, held, closed, too_many_devices, too_often, full, not_trusted, out_of_order; empty: it is done."""
    words: _Words = ""
    """Why not, as a sentence."""
    until: Annotated[float, Meta(ge=0, le=1e12)] = 0.0
    """When a hold ends, Unix seconds; 0: nothing ends."""
    ticket: Annotated[str, Meta(max_length=128)] = ""
    """Secret of the invitation."""
    account: Annotated[bytes, Meta(max_length=16)] = b""
    """The account under which this person's keys are admitted; empty: none is yet."""
    name: Annotated[str, Meta(max_length=80)] = ""
    """The person's, as members know it; empty: nobody was let in yet."""
    devices: Annotated[tuple[SiteDevice, ...], Meta(max_length=DEVICES_MAX)] = ()
    facts: ModeratorFacts | None = None
    """None: no moderator has asked."""


class SiteStart(msgspec.Struct, frozen=True, tag="start"):
    """Settings of the page's process; they come before the first view, and again when they change."""

    folder: str
    """The charter's, in which the database lies."""
    database: str = ""
    """Address of PostgreSQL's; empty: a file in the folder."""
    ways: WaysIn | None = None
    """None: nobody signs in here."""


FromBackbone: TypeAlias = SiteView | DeskAnswer | SiteStart


def framed(message: FromBackbone | DeskAsk) -> bytes:
    """A message behind its length, as both sides read it."""
    data = msgspec.msgpack.encode(message)
    return len(data).to_bytes(LENGTH_BYTES, "big") + data
