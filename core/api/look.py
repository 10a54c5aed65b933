"""What a person is shown before they join: the collaboration, what it takes, and this computer."""

import msgspec

from core.api.data_state import SourceView
from core.api.joined import KeptRefusal

THREAD_WATTS = 8.0
"""Rule of thumb for a busy processor thread: desktop processors draw 65 W with 8 cores."""


class ComputerFacts(msgspec.Struct, frozen=True, kw_only=True):
    """This computer, as the system describes it; nothing is computed for that."""

    cores: int
    threads: int
    """Threads that training uses, by the settings."""
    memory_bytes: int
    disk_free_bytes: int
    """Where Potluck keeps its things."""
    cards: tuple[str, ...] = ()
    """Graphics cards that the system tells of; others may be there."""
    connected: bool = True
    """Whether it is in any network."""
    metered: bool | None = None
    """Whether its connection costs by the megabyte; None: the system does not say."""
    router: bool = False
    """Whether it stands behind a router; how others reach it is known after the start only."""


class JoinEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """What taking part comes to; None: not known before the start."""

    memory_bytes: int | None = None
    disk_bytes: int | None = None
    epoch_bytes: int | None = None
    """Upper bound on what is sent in an epoch, and on what is received."""
    experts_bytes: int = 0
    """Memory that experts may take which live here, beside `memory_bytes`; 0: the model has none, or it is unknown."""
    share: float | None = None
    """This computer's part of the collaboration's samples, if it is as fast as the others on average."""
    day_bytes: float | None = None
    """Sent and received, if it computes all day and the collaboration goes on as fast as now."""
    data_day_bytes: float | None = None
    """Text from the network in that day, bytes; an upper bound where volunteers share it."""
    watts: float | None = None
    """Drawn more than by an idle computer: a rule of thumb for the processor, the limit of a graphics card."""


class LinkLook(msgspec.Struct, frozen=True, kw_only=True):
    """What a link leads to.  The texts are the organiser's."""

    id: str
    name: str
    organiser: str
    fingerprint: str
    summary: str
    task: str
    download_bytes: int
    """Size of the collaboration's files."""
    goes_on_from: str = ""
    """Name, or beginning of the id, of the collaboration from whose model it goes on; empty: it began anew."""
    folder: str = ""
    """Folder of this computer whose texts it wants to read; empty: none."""
    sources: tuple[SourceView, ...] = ()
    """Where its text comes from; who joins has this computer ask their hosts."""
    computers: int | None = None
    """Computers that take part now; None: the backbone does not say."""
    site: str = ""
    """Address of the page at which people sign in to come in; empty: the invitation lets them in."""
    refusal: KeptRefusal | None = None
    """Why this computer could not take part the last time; None: it could, or has not asked yet."""
    estimate: JoinEstimate = JoinEstimate()
    computer: ComputerFacts
