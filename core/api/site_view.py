"""What the page of a collaboration shows.  The backbone sends it whole, once a second at most (`core/site`)."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.api.reports import DAYS_MAX
from core.api.snapshot import CurvePoint

VIEW_BYTES_MAX: Final = 1024 * 1024
"""Upper bound on an encoded view, bytes."""
LENGTH_BYTES: Final = 4
"""Bytes that say how long the view is that follows them, the first one weighs most."""
NAME_LETTERS: Final = 80
WORDS_LETTERS: Final = 1000
LINK_LETTERS: Final = 600
PEOPLE_MAX: Final = 10_000
COPIES_MAX: Final = 64
ACCOUNT_BYTES: Final = 16
COMPUTERS_MAX: Final = 10
ORIGIN_LETTERS: Final = 16
CURVE_MAX: Final = 600

Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Amount = Annotated[float, Meta(ge=0, le=1e30)]
"""Finite, as JSON has it."""
MOMENT_MAX: Final = 2e11
"""Unix seconds; the year is 8307."""
Moment = Annotated[float, Meta(ge=0, le=MOMENT_MAX)]
ShortText = Annotated[str, Meta(max_length=NAME_LETTERS)]
LongText = Annotated[str, Meta(max_length=WORDS_LETTERS)]
Date = Annotated[str, Meta(pattern=r"^\d{4}-\d\d-\d\d$")]


class SitePerson(msgspec.Struct, frozen=True, array_like=True):
    """Somebody whose samples have been counted."""

    rank: Count
    name: ShortText
    """Empty: the moderators have shut this person out."""
    samples: Count
    epochs: Count
    reduced: Count
    """Numbers of means that this computer made for all."""
    account: Annotated[bytes, Meta(max_length=ACCOUNT_BYTES)] = b""
    """Whose row it is (`core.base.ids.AccountId`)."""
    computers: Annotated[tuple[Count, ...], Meta(max_length=COMPUTERS_MAX)] = ()
    """Samples of each computer that was let in, the first one first."""


class SiteDay(msgspec.Struct, frozen=True):
    """A day of the collaboration, by the calendar of UTC."""

    day: Date
    samples: Count = 0
    """Counted by the copies of the model that came on this day."""
    epochs: Count = 0
    computers: Count = 0
    """Most computers that were here at once."""
    computer_hours: Amount = 0.0
    """Hours that computers were here, all together, while the page was on."""
    traffic_bytes: Count = 0
    """What the backbone sent and received, as it measured itself while the page was on."""


class SiteCopy(msgspec.Struct, frozen=True):
    """A copy of the model that the backbone keeps."""

    number: Count
    """The greatest came last."""
    epoch: Count
    at: Moment
    size_bytes: Count
    loss: Annotated[float, Meta(ge=-1e30, le=1e30)] | None
    """On held-out text; None: it was not measured."""
    file: Annotated[str, Meta(pattern=r"^[0-9A-Za-z-]+\.safetensors$", max_length=120)]
    """Its name in the folder of copies."""


class SiteNotice(msgspec.Struct, frozen=True):
    """Words of the moderators to all."""

    at: Moment
    until: Moment
    words: LongText


class SiteEnd(msgspec.Struct, frozen=True):
    """The moderators have paused the collaboration, or ended it."""

    at: Moment
    """When they decided last."""
    paused: bool
    """They mean to go on."""
    words: LongText
    successor: Annotated[str, Meta(max_length=LINK_LETTERS)]
    """Link of a collaboration that goes on; empty: none is named."""


class SiteText(msgspec.Struct, frozen=True):
    """A source of the text that is learned."""

    source: ShortText
    licence: Annotated[str, Meta(max_length=200)]
    """Empty: the organiser has named none."""
    credit: LongText


class SiteView(msgspec.Struct, frozen=True, kw_only=True, tag="view"):
    """A collaboration at one moment, as strangers may see it."""

    at: Moment
    """When the backbone looked."""
    id: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    name: ShortText
    summary: LongText
    organiser: ShortText
    """Empty: nobody has said a name."""
    fills_blanks: bool
    """Whether the model learns to fill blanks in a text; else it learns to go on with one."""
    moderators: Annotated[tuple[ShortText, ...], Meta(max_length=64)]
    threshold: Count
    """Number of moderators who have to agree."""
    open_to_newcomers: bool
    link: Annotated[str, Meta(max_length=2000)]
    """Where newcomers are let in, without an invitation."""
    computers: Count
    """Computers that are here; the backbone itself does not count."""
    samples_per_s: Amount
    epoch: Count
    last_epoch: Count | None
    """Epoch at which the schedule ends; None: it goes on for ever."""
    target_samples: Count
    samples: Count
    """Counted so far, of all people."""
    origin: Annotated[str, Meta(max_length=ORIGIN_LETTERS)] = ""
    """Going back to an earlier copy gives all later copies another one; in hex."""
    curve: Annotated[tuple[CurvePoint, ...], Meta(max_length=CURVE_MAX)] = ()
    people: Annotated[tuple[SitePerson, ...], Meta(max_length=PEOPLE_MAX)] = ()
    """Who gave most first."""
    days: Annotated[tuple[SiteDay, ...], Meta(max_length=DAYS_MAX)] = ()
    """The last one last; days without anything may be missing."""
    copies: Annotated[tuple[SiteCopy, ...], Meta(max_length=COPIES_MAX)] = ()
    """The last one first."""
    notices: Annotated[tuple[SiteNotice, ...], Meta(max_length=8)] = ()
    """The last one first."""
    end: SiteEnd | None = None
    """None: everybody trains."""
    texts: Annotated[tuple[SiteText, ...], Meta(max_length=16)] = ()
