"""What can be said of a collaboration's data: codes, whose sentences window and command line make."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

import msgspec

from core.api.sentence import Sentence


class DataCode(StrEnum):
    """Why data do not flow, or what of it was left out."""

    NO_ANSWER = "no-answer"
    """The server does not answer, or breaks off: host, retry_s."""
    NO_MEMBER = "no-member"
    """Nobody who is here has the shard that is wanted, and it lies nowhere else: name, retry_s."""
    WRONG_ANSWER = "wrong-answer"
    """The server gives something else than was asked for, such as a page to log in at: host, name, retry_s."""
    FILE_CHANGED = "file-changed"
    """A file is another one than it was when reading it began: name."""
    REFUSED = "refused"
    """The server wants other rights: host, status."""
    PRIVATE = "private"
    """The address leads into a private network, where this collaboration may read nothing: host."""
    CERTIFICATE = "certificate"
    """The server cannot show that it is the one that was meant: host, why."""
    MISSING = "missing"
    """A file or a shard is not there any more: name."""
    DAMAGED = "damaged"
    """A file breaks off, or most of its records cannot be read: name; of records, why."""
    UNDECIDED = "undecided"
    """Which files of a data set are meant could not be found out on this computer: name."""
    NO_COLUMN = "no-column"
    """Rows have no such column: name, column."""
    NO_TEXT = "no-text"
    """A file, or the column of it that is read, holds something else than text: name; of a table, column."""
    RECORDS = "records"
    """Some records of a file cannot be read: name, which says how many and which is the first."""
    WRONG_BYTES = "wrong-bytes"
    """A shard is not what the index says: name."""
    NETWORK_RESTS = "network-rests"
    """The person's rules forbid the network now."""
    NO_SPACE = "no-space"
    """The disk is full, or all that the person gives to data is in use: bytes."""
    UNWRITABLE = "unwritable"
    """A folder of this computer cannot be written: name, why (the system's words)."""
    TOO_MANY = "too-many"
    """A folder has more files than are read; this is the first that is not: name."""
    TOO_LARGE = "too-large"
    """A file unfolds to more memory than any text needs: name."""
    LINK = "link"
    """A link leads in a circle, to a folder, or out of the one that is read: name."""
    CHANGED = "changed"
    """The list of shards is another one than before, so a new pass has begun: shards."""
    LOST_PLACE = "lost-place"
    """It cannot be told any more what was read, so a new pass has begun: name, of the file that was set aside."""


STALLED: Final[Mapping[str, str]] = MappingProxyType(
    {
        DataCode.NO_ANSWER: "{host}, where the text is, does not answer. It is asked again in {seconds} s.",
        DataCode.NO_MEMBER: "No backbone or volunteer that is here has the text. They are asked again in {seconds} s.",
        DataCode.WRONG_ANSWER: (
            "{host}, where the text is, answers with something else than was asked for. "
            "It is asked again in {seconds} s."
        ),
        DataCode.FILE_CHANGED: "Data wait: {name} has changed while it was read. It is read again from its start.",
        DataCode.REFUSED: (
            "Data stalled: {host} does not let this computer read ({status}). "
            "The command potluck data login keeps a password for it."
        ),
        DataCode.PRIVATE: (
            "Data stalled: {host} is in a private network. Text there is read only where the organiser names the "
            "address in numbers, and you joined by a link whose addresses are all private: ask the organiser for one."
        ),
        DataCode.CERTIFICATE: "Data stalled: the certificate of {host} is not valid: {why}.",
        DataCode.MISSING: "Data stalled: {name} is not there any more. The organiser can mend that.",
        DataCode.DAMAGED: "Data stalled: {name} is damaged. The organiser can mend that.",
        DataCode.UNDECIDED: (
            "Data stalled: finding out which files of {name} are meant took this computer too long or too much memory. "
            "It is tried again."
        ),
        DataCode.NO_COLUMN: "Data stalled: {name} has no column {column}. The organiser can mend that.",
        DataCode.NO_TEXT: "Data stalled: {name} holds something else than text. The organiser can mend that.",
        DataCode.WRONG_BYTES: "Data stalled: {name} is not what the organiser has signed. It is asked for again.",
        DataCode.NETWORK_RESTS: "Data wait: your rules forbid the network now.",
        DataCode.NO_SPACE: "Data stalled: there is no room on the disk, or too little of it for data is allowed.",
        DataCode.UNWRITABLE: (
            "Data stalled: {name} could not be written ({why}). "
            "Check that the folder belongs to you and is not read-only."
        ),
        DataCode.TOO_MANY: "Data stalled: there are too many files.",
        DataCode.CHANGED: "The data are other ones than before, so reading begins anew.",
    }
)
"""Why nothing more comes, by code."""
LEFT_OUT: Final[Mapping[str, str]] = MappingProxyType(
    {
        DataCode.NO_ANSWER: "Left out of the data for now: {name}, which could not be read to its end.",
        DataCode.WRONG_ANSWER: "Left out of the data for now: {name}, for which the server gave something else.",
        DataCode.FILE_CHANGED: "Left out of the data: {name}, which has changed since it was listed.",
        DataCode.REFUSED: "Left out of the data: {name}, which this computer may not read.",
        DataCode.MISSING: "Left out of the data: {name}, which is not there any more.",
        DataCode.DAMAGED: "Left out of the data: {name}, which is damaged.",
        DataCode.NO_COLUMN: "Left out of the data: {name}, which has no column of the name that is read.",
        DataCode.NO_TEXT: "Left out of the data: {name}, which holds something else than text.",
        DataCode.RECORDS: "Left out of the data: {name}.",
        DataCode.WRONG_BYTES: "Left out of the data: {name}, which is not what the organiser has signed.",
        DataCode.TOO_MANY: "Left out of the data: the files from {name} on, since there are too many.",
        DataCode.TOO_LARGE: "Left out of the data: {name}, which unfolds to more memory than any text needs.",
        DataCode.LINK: "Left out of the data: {name}, a link that leads in a circle, to a folder or out of this one.",
        DataCode.LOST_PLACE: (
            "It is not known any more which data were read, so reading begins anew. "
            "The damaged file was kept as {name}."
        ),
        DataCode.CHANGED: "The data are other ones than before, so reading begins anew.",
    }
)
"""What is not read in this pass, by code."""
FROM_MEMBERS: Final = "members"
"""Address of text that the members give each other."""
SOON_S: Final = 120.0
"""What lies ready for less than this is soon used up."""
DataArgs = dict[str, str | int]


class SourceView(msgspec.Struct, frozen=True, kw_only=True):
    """A source of a collaboration's text.  The texts are the organiser's."""

    address: str
    """For people; empty: the documentation that came with Python; or `FROM_MEMBERS`."""
    host: str = ""
    """Who is asked over the network; empty: nobody."""
    share: float = 1.0
    """Part of all samples that comes from this source, 0 to 1."""
    licence: str = ""
    credit: str = ""


def called(source: SourceView, translate: Callable[[str], str] = str) -> str:
    """Where the text of a source comes from, in words.

    Args:
        source: Its address is shown as it is, unless it is one of those without a server.
        translate: Gives a sentence in the person's language.
    """
    match source.address:
        case "":
            return translate("the documentation that came with Python")
        case str(address) if address == FROM_MEMBERS:
            return translate("the backbone and other volunteers")
        case address:
            return address


class DataView(msgspec.Struct, frozen=True, kw_only=True):
    """How the text comes to this computer."""

    code: str = ""
    """Why nothing more comes now; empty: it comes, or nothing more is wanted."""
    args: DataArgs = {}
    """What the sentence of the code is made of."""
    waiting: bool = False
    """Whether there is nothing left to compute with."""
    rows_ready: int = 0
    """Rows that lie here and were not computed with yet."""
    rate_bytes_s: float = 0.0
    """Read lately, as it lies at its source."""
    bytes_read: int = 0
    """Bytes that this run's training process has read."""
    network_bytes: int = 0
    """Bytes of `bytes_read` that came over the network, those from other volunteers not counted."""
    documents: int = 0
    left_out: int = 0
    """Documents that the organiser's filters left out."""
    stored_bytes: int = 0
    """Bytes on the disk."""
    shared_bytes: int = 0
    """Bytes of pieces of the data that are kept for other volunteers, on the disk beside it."""
    given_bytes: int = 0
    """Bytes of such pieces sent to other volunteers in this run of the engine."""
    reading: str = ""
    """What is read now."""


def runs_short(view: DataView, samples_per_s: float) -> bool:
    """Whether it costs something that nothing more comes: what lies ready does not last long.

    Args:
        view: How the text comes.
        samples_per_s: How fast this computer trains.
    """
    return bool(view.code) and view.rows_ready <= samples_per_s * SOON_S


def why_stalled(code: str, args: Mapping[str, str | int]) -> Sentence:
    """The sentence of a code of `STALLED`; one of another version is told by its name.

    Args:
        code: Why nothing more comes.
        args: What the sentence is made of.
    """
    return Sentence.named(STALLED.get(code, f"Data stalled: {code}."), told(args))


def what_left_out(code: str, args: Mapping[str, str | int]) -> Sentence:
    """The sentence of a code of `LEFT_OUT`; one of another version is told by its name.

    Args:
        code: Why some of the text is not read.
        args: What the sentence is made of.
    """
    return Sentence.named(LEFT_OUT.get(code, f"Left out of the data: {code}."), told(args))


def told(args: Mapping[str, str | int]) -> dict[str, str | int]:
    """Arguments with all that sentences about data may name: a reader may leave out what it does not know."""
    return {"host": "", "name": "", "column": "", "status": "", "why": "", "seconds": 0, **args}
