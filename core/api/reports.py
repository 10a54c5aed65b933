"""What pages of the window ask for when they are opened, and snapshots do not have."""

import msgspec

DAYS_MAX = 400
"""Days of giving that are kept."""
RECEIPTS_MAX = 100
"""Receipts in one answer."""
NOTICES_MAX = 500
"""Notices in one answer."""
RUNNING_MAX = 300
"""Names of running programs in one answer."""


class DayGift(msgspec.Struct, frozen=True, kw_only=True):
    """What this computer gave on one day of its calendar."""

    day: str
    """Date by this computer's calendar, as 2026-11-24."""
    seconds: float = 0.0
    """Time spent contributing, seconds."""
    samples: int = 0
    """Samples that were averaged, by the receipts of that day, whether or not a model has kept the round."""
    bytes_sent: int = 0
    bytes_received: int = 0
    answered: int = 0
    """Requests that experts which live here have answered."""
    joules: float = 0.0
    """Drawn more than by an idle computer, as far as that is known (`core.engine.remembered.gift.drawn_watts`)."""


class GiftHistory(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to `history`: what this computer gave, by day."""

    today: str
    days: tuple[DayGift, ...] = ()
    """Days on which something was given, the oldest first."""
    streak: int = 0
    """Days in a row with contributing, up to today or yesterday."""
    kwh_cents: int = 0
    """Price of a kilowatt-hour, in hundredths of the person's money; 0: not told."""
    kwh_grams: int = 0
    """Carbon dioxide for a kilowatt-hour; 0: not told."""


class ReceiptView(msgspec.Struct, frozen=True, kw_only=True):
    """One round that this computer was in, by its receipt."""

    time: float
    """Unix seconds; 0: nobody has signed it."""
    epoch: int
    samples: int
    """Samples of this computer that are in the mean."""
    reduced: int
    """Numbers that this computer averaged for everybody."""
    relayed_bytes: int
    """Carried by this computer for others."""
    signed: int
    """Members that signed the receipt."""
    members: int
    verdict: str
    """"accepted"; "helped": averaged or relayed, without samples of its own; "nothing": what it sent did not arrive;
    "alone": nobody else has signed; "invalid": the signatures do not fit."""


class ReceiptList(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to `receipts`: what became of this computer's work."""

    receipts: tuple[ReceiptView, ...] = ()
    """The newest first."""
    kept: int = 0
    """Receipts that were ever kept of this collaboration."""
    samples: int = 0
    """Averaged in all rounds; a snapshot has those that the model counts."""
    rounds: int = 0
    """Rounds that this computer helped to end."""
    reduced: int = 0
    """Numbers that it averaged for everybody, in all of them."""
    relayed_bytes: int = 0
    """Carried for others, in all of them."""


class MachineView(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to `machine`: this computer, and what Potluck uses of it now."""

    name: str
    """How others see it."""
    system: str
    processor: str
    threads: int
    """Number of the processor's threads."""
    threads_used: int
    """Threads that train, as the settings say."""
    memory_bytes: int
    memory_free_bytes: int
    memory_used_bytes: int
    """Memory of the engine and its training processes."""
    disk_free_bytes: int
    disk_used_bytes: int
    """Disk space that Potluck's home takes."""
    home: str
    device: str
    """What is computed on; empty: nothing is known yet."""
    programs: tuple[str, ...] = ()
    """Names of programs that run now, without Potluck's, as the rule about programs wants them."""
    meter: float | None = None
    """The number that the person's meter says; None: none says one."""
    untold: tuple[str, ...] = ()
    """Rules that stop nothing here, since the system does not tell what they need (fields of `UseRules`)."""


class TeamView(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to `team`: the team that the person has chosen on the collaboration's page."""

    name: str = ""
    """Empty: none was chosen, none of its members has given anything, or the page does not say."""
    rank: int = 0
    teams: int = 0
    """Number of teams that have given something."""
    next_name: str = ""
    """The team before it, or itself where it is the first."""
    missing: int = 0
    """Samples by which that one is ahead."""


class ExpertPlaceView(msgspec.Struct, frozen=True, kw_only=True):
    """A place of a layer of experts."""

    layer: int
    """From 1 on."""
    place: tuple[int, ...]
    hosts: tuple[str, ...]
    """Names of those whose computers say that the expert lives there; empty: it lives nowhere now."""
    copies: int
    """Number of computers that have a state of it in a file, with this one."""
    saved: int = 0
    """When the newest of these was written, Unix seconds, by the word of its owner; 0: there is none."""
    rows: int = 0
    """Number of rows that it has answered on this computer since the engine was started."""
    here: bool = False
    """Whether a state of it lies in a file of this computer."""


class ExpertsView(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to `experts`: who hosts which expert of the model, as far as this computer knows."""

    layers: int = 0
    """0: the model has no experts."""
    places: int = 0
    """Number of experts that a layer is to have."""
    time: float = 0.0
    """When it was asked, Unix seconds."""
    answered: int = 0
    """Number of requests that this computer has answered since the engine was started."""
    known: tuple[ExpertPlaceView, ...] = ()
    """Places with a host or a copy."""


class TrustView(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to `trust`: keys as people compare them (core.base.ids.fingerprint)."""

    mine: str
    """This computer's key."""
    organiser: str = ""
    """The organiser's key; empty: no collaboration was joined."""
