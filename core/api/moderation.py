"""What moderators ask of an engine, and what it tells of them: who they are, what waits for signatures, who is held."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.api.sentence import later

FOUNDER_NAME: Final = later("the founder")
"""The name of who decides until somebody else is chosen."""
ID_LETTERS: Final = 32
"""Length of a proposal's id: of fewer, an author could find another proposal with the id that others have read."""


ALL_PAUSED: Final = "all_paused"
CLOSED: Final = "closed"
MOVED: Final = "moved"
"""Ended, and the argument `link` leads to a collaboration that goes on."""
ENDINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        ALL_PAUSED: "The moderators have paused {collaboration}: nothing is computed until they go on. {words}",
        CLOSED: "The moderators have ended {collaboration}. Thank you for what you gave to it. {words}",
        MOVED: (
            "The moderators have ended {collaboration}, and name another one that goes on. Nothing is computed for "
            "that one before you say yes. Thank you for what you gave. {words}"
        ),
    }
)
"""Why nothing is computed where moderators have decided so, by the reason of a rest."""


class ModerationAct(StrEnum):
    """What a moderator can do, alone or with others."""

    BAN = "ban"
    PARDON = "pardon"
    HOLD = "hold"
    RELEASE = "release"
    NOTICE = "notice"
    CLOSE = "close"
    """No newcomers come in."""
    OPEN = "open"
    """Newcomers come in by invitations again."""
    ADD = "add"
    REMOVE = "remove"
    AGREE = "agree"
    """Change how many moderators have to agree."""
    BACKBONE = "backbone"
    """Have a backbone let people in by a key of its own, or tell where it is now."""
    RETIRE = "retire"
    """Have a backbone let nobody in any more; passes that it has given hold until they end."""
    STOLEN = "stolen"
    """End all passes that a backbone has given, at once."""
    DRILL = "drill"
    """Ask all moderators whether they can still sign, or answer that."""
    PAUSE = "pause"
    """Nobody computes until they go on."""
    RESUME = "resume"
    """Everybody computes again; also after an end."""
    END = "end"
    SUCCESSOR = "successor"
    """End it, and name the link of another collaboration that goes on."""
    SIGN = "sign"
    GO_BACK = "go_back"
    """Have everybody go back to a copy of the model, whose number is `who`."""
    OTHER = "other"
    """Change something for which there is no word; nobody can ask for it."""


class ModerationWish(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a moderator wants to be done."""

    act: ModerationAct
    who: Annotated[str, Meta(max_length=600)] = ""
    """A name, or a key in hex; of `SIGN`: a proposal's id; of `BACKBONE`: its key; of `GO_BACK`: a copy's number; of
    `SUCCESSOR`: a link."""
    words: Annotated[str, Meta(max_length=2000)] = ""
    days: Annotated[float, Meta(gt=0, le=3650)] = 7.0
    count: Annotated[int, Meta(ge=0, le=100)] = 0
    """How many have to agree; 0: one of up to two, else more than half."""
    places: Annotated[tuple[Annotated[str, Meta(max_length=300)], ...], Meta(max_length=8)] = ()
    """Where a backbone is, host and port."""
    since: Annotated[float, Meta(ge=0, le=1e12)] = 0.0
    """Since when a key has been in wrong hands, Unix seconds; 0: since it was listed, or now for the manifest's."""


class ModerationOutcome(msgspec.Struct, frozen=True):
    """What has become of a wish."""

    done: bool
    """It is in force."""
    id: str
    missing: int
    """Number of signatures that it waits for."""


class DecisionChange(msgspec.Struct, frozen=True):
    """One thing that a proposal changes."""

    act: ModerationAct
    name: str = ""
    key: str = ""
    words: str = ""
    count: int = 0


CHANGES = {
    ModerationAct.BAN: "shuts out {name}",
    ModerationAct.PARDON: "lets {name} in again",
    ModerationAct.NOTICE: "tells all: {words}",
    ModerationAct.CLOSE: "lets nobody new in",
    ModerationAct.OPEN: "lets newcomers in by invitations again",
    ModerationAct.ADD: "makes {name} a moderator",
    ModerationAct.REMOVE: "takes {name} from the moderators",
    ModerationAct.AGREE: "has {count} of them agree",
    ModerationAct.BACKBONE: "has the backbone {name} let people in, at {words}",
    ModerationAct.RETIRE: "has the backbone {name} let nobody in any more",
    ModerationAct.STOLEN: "ends all passes that the backbone {name} has given",
    ModerationAct.PAUSE: "has nobody compute: {words}",
    ModerationAct.RESUME: "has everybody compute again",
    ModerationAct.END: "ends the collaboration: {words}",
    ModerationAct.SUCCESSOR: "asks everybody whether they go on at {name}",
    ModerationAct.GO_BACK: "has everybody go back to step {count}, root {name}",
    ModerationAct.OTHER: "changes {words} in a way that has no word here",
}


def change_text(one: DecisionChange) -> str:
    """What a change does, after the name of who makes it."""
    return CHANGES[one.act].format(name=whom(one), words=one.words or "no address", count=one.count)


def whom(one: DecisionChange) -> str:
    """The name of whom a change is about; where its author has chosen that, also the key, and what others call it."""
    match one.act:
        case ModerationAct.ADD:
            known = f"{one.words}, " if one.words not in {"", one.name} else ""
            return f"{one.name} ({known}{one.key[:16]})"
        case ModerationAct.BACKBONE | ModerationAct.RETIRE | ModerationAct.STOLEN:
            return f"{one.name} ({one.key[:16]})"
    return one.name or one.key[:16]


class ProposalView(msgspec.Struct, frozen=True):
    """A decision that waits for signatures."""

    id: str
    author: str
    at: float
    """Unix seconds."""
    until: float
    changes: tuple[DecisionChange, ...]
    words: str
    signed: tuple[str, ...]
    """Names of those who have."""
    missing: int
    signed_here: bool


class ModeratorView(msgspec.Struct, frozen=True):
    """One moderator, as people see them."""

    name: str
    key: str
    is_me: bool


class IssuerView(msgspec.Struct, frozen=True):
    """A backbone that gives passes, or did."""

    name: str
    key: str
    places: tuple[str, ...]
    """Where it is, host and port."""
    until: float | None
    """When the last of its passes ends, Unix seconds; None: it goes on giving some."""


class HoldView(msgspec.Struct, frozen=True):
    """Somebody who is kept out for some days."""

    name: str
    key: str
    until: float
    words: str


class DrillView(msgspec.Struct, frozen=True):
    """A question to all moderators whether they can still sign."""

    by: str
    at: float
    """Unix seconds."""
    missing: tuple[str, ...]
    """Names of those who have not answered."""
    is_late: bool
    """They have had seven days."""
    waits_here: bool
    """This computer is one of them."""


class EndView(msgspec.Struct, frozen=True):
    """The moderators have paused the collaboration, or ended it."""

    state: str
    words: str
    successor: str
    """Link of the one that goes on; empty: none is named."""


class ModerationView(msgspec.Struct, frozen=True):
    """Who decides, what waits for signatures, and who is held."""

    moderates: bool
    """This computer is a moderator's."""
    moderators: tuple[ModeratorView, ...]
    threshold: int
    newcomers: str
    banned: int
    notices: tuple[str, ...]
    holds: tuple[HoldView, ...]
    proposals: tuple[ProposalView, ...]
    issuers: tuple[IssuerView, ...] = ()
    """Backbones that the moderators have named."""
    drill: DrillView | None = None
    end: EndView | None = None


class PartsView(msgspec.Struct, frozen=True):
    """How far somebody's parts lay from the others', where one computer averaged them itself; never a verdict."""

    rounds: int
    numbers: float
    """Part of the numbers of these rounds that was looked at, 0 to 1."""
    ratio: float
    """Mean of their norms, over the median norm of the others in the same round."""
    cosine: float
    """Mean cosine between them and the direction of the others, -1 to 1."""
    clipped: float
    """Part of them that was clipped or scaled down, 0 to 1."""
    dropped: int
    """Number of them that could not be used."""


class PersonView(msgspec.Struct, frozen=True, kw_only=True):
    """A person, with all computers that are known, as moderators see them."""

    name: str
    key: str
    """The first one of the account."""
    here: bool
    samples: int
    share: float
    """Part of all samples, 0 to 1."""
    shut_out: bool
    computers: int
    """Without those that the person has ended."""
    parts: PartsView | None = None
    """None: none of this person's parts were averaged here."""
    came: float | None = None
    """When the last stay began, Unix seconds; None: it is not known here."""
    left: float | None = None
    """When it ended; None: it has not, as far as is known here."""


PEOPLE_MAX = 1000


class PeopleView(msgspec.Struct, frozen=True):
    """The people whom one computer knows: those here first, then those who gave most, `PEOPLE_MAX` at most."""

    people: tuple[PersonView, ...]


class CopyView(msgspec.Struct, frozen=True):
    """A copy of the model that a backbone keeps."""

    number: Annotated[int, Meta(ge=1, lt=2**31)]
    """The greatest came last."""
    epoch: Annotated[int, Meta(ge=0, lt=2**31)]
    came: Annotated[float, Meta(ge=0, le=1e12)]
    """Unix seconds."""
    loss: Annotated[float, Meta(ge=-1e9, le=1e9)] | None = None
    """On held-out text; None: it was not measured."""
    chosen: bool = False
    """Everybody has gone back to it."""


COPIES_MAX = 64


class CopiesView(msgspec.Struct, frozen=True):
    """The copies of the model to which everybody could go back, the first one first."""

    copies: Annotated[tuple[CopyView, ...], Meta(max_length=COPIES_MAX)]


class PageView(msgspec.Struct, frozen=True):
    """Where a moderator signs in at the page of a collaboration, once, within a minute."""

    address: str


class AuditLineView(msgspec.Struct, frozen=True):
    """One thing that somebody did who looks after the collaboration."""

    n: int
    at: float
    """When the backbone learned of it, Unix seconds."""
    actor: str
    act: str
    subject: str
    words: str


class AuditView(msgspec.Struct, frozen=True):
    """What a backbone has written down, the last lines."""

    lines: tuple[AuditLineView, ...]
    count: int
    """Number of the last line."""
    changed: int = 0
    """Number of the first line that is another one than this computer saw before; 0: none is."""
    seen: float = 0.0
    """When this computer looked before, Unix seconds; 0: it has not."""
