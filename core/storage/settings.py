"""A person's settings on this computer; kept in `settings.json`."""

import contextlib
import random as random_module
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

import msgspec
from msgspec import Meta

from core.api.modes import CARD, CARDS_MAX, OFF, Switches, UseSwitch
from core.api.rules import THREADS_MAX, UseRules
from core.api.settings import DEVICE_PATTERN, DISK_GIGABYTES_MAX, EXPERTS_MAX, KEEP_MINUTES_MAX
from core.api.week import read_week
from core.base.problems import Sentence, UserProblem
from core.system.atomic_files import read_bounded, set_aside, write_atomic

PORT_FIRST = 20_000
PORT_LAST = 32_000
"""Below the ports that systems give to outgoing connections (Linux from 32768, others from 49152)."""

SETTINGS_BYTES_MAX = 64 * 1024


class Settings(UseRules, frozen=True, kw_only=True):
    """The choices: the rules, and more.  What a newer version wrote is ignored, what is missing has its default."""

    name: Annotated[str, Meta(max_length=40)] = ""
    """How the leaderboard calls this computer; empty until somebody chose."""
    computing: UseSwitch = UseSwitch()
    """The big switch."""
    gpu: UseSwitch = UseSwitch()
    network: UseSwitch = UseSwitch()
    cards: Annotated[dict[Annotated[str, Meta(pattern=f"^{CARD.pattern}$")], UseSwitch], Meta(max_length=CARDS_MAX)] = (
        msgspec.field(default_factory=dict)
    )
    """Switches of single graphics cards, by name."""
    threads: Annotated[int, Meta(ge=0, le=THREADS_MAX)] = 0
    """Processor threads of the worker; 0: all cores but one."""
    device: Annotated[str, Meta(pattern=DEVICE_PATTERN)] = "auto"
    """What the worker computes on: "auto", "all", or devices as torch calls them, with commas between them."""
    memory_bytes: Annotated[int, Meta(gt=0)] | None = None
    """The worker takes no more of this computer's memory; None: half of what is free at its start."""
    disk_gigabytes: Annotated[int, Meta(ge=1, le=DISK_GIGABYTES_MAX)] = 4
    """Upper bound on the disk that the data of a collaboration take, in gigabytes of 10^9 bytes."""
    experts: Annotated[int, Meta(ge=0, le=EXPERTS_MAX)] | None = None
    """Upper bound on the experts of a mixture that live here; None: as many as memory allows."""
    compile: bool = False
    """Whether the worker has a model's layers compiled."""
    keep_minutes: Annotated[int, Meta(ge=0, le=KEEP_MINUTES_MAX)] = 10
    """How long a worker that rests keeps its memory, to go on at once; 0: it ends."""
    keep_awake: bool = False
    """Whether the computer does not fall asleep by itself while it contributes."""
    energy_watts: Annotated[int, Meta(ge=0, le=10_000)] = 0
    """What this computer draws more while it contributes; 0: as it is measured or estimated."""
    energy_cents: Annotated[int, Meta(ge=0, le=10_000)] = 0
    """Price of a kilowatt-hour, in hundredths of the owner's money; 0: not told."""
    energy_grams: Annotated[int, Meta(ge=0, le=10_000)] = 0
    """Carbon dioxide for a kilowatt-hour; 0: not told."""
    port: Annotated[int, Meta(ge=0, le=65_535)] = 0
    """Port for peers, drawn once and kept, so that a router's rule stays right; 0 until drawn."""

    relay: bool = True
    """Whether this computer relays connections of volunteers that nobody can call, within small limits."""
    upload_bytes_s: Annotated[float, Meta(gt=0)] | None = None
    """No more is sent; None: no limit."""
    download_bytes_s: Annotated[float, Meta(gt=0)] | None = None

    @property
    def switches(self) -> Switches:
        """All three switches of this person together."""
        return Switches(computing=self.computing, gpu=self.gpu, network=self.network, cards=self.cards)

    def __post_init__(self) -> None:
        """Refuse hours that cannot be read.

        Raises:
            BadWeek: so they are.
        """
        for hours in filter(None, (self.hours, self.other_hours)):
            read_week(hours)

    def with_port(self, random: random_module.Random) -> "Settings":
        """These settings with a port, drawn if there was none."""
        if self.port:
            return self
        return msgspec.structs.replace(self, port=random.randint(PORT_FIRST, PORT_LAST))


@dataclass(frozen=True, slots=True)
class SettingsRead:
    """The settings that were read, and a notice if the file was damaged."""

    settings: Settings
    notice: Sentence | None = None
    """A sentence for the person, when the file was damaged and set aside."""


def load_settings(path: Path) -> SettingsRead:
    """Read the settings; without a file the copy of it, without a copy the defaults.

    A damaged file is set aside, and the copy counts from then on; where there is none, Potluck pauses until the person
    has looked, for the limits that they chose are gone.

    Raises:
        UserProblem: the system does not allow reading the file, or setting it aside.
    """
    copy: Settings | None = None
    with contextlib.suppress(ValueError):
        copy = _read(_copy_of(path))
    try:
        return SettingsRead(_read(path) or copy or Settings())
    except ValueError:
        if copy is None:
            with contextlib.suppress(UserProblem):
                write_atomic(_copy_of(path), _written(Settings(computing=OFF)))
        aside = set_aside(path)
    if copy is not None:
        used = "The settings could not be read; the copy of them is used. The damaged file was kept as {name}."
        return SettingsRead(copy, Sentence(used, aside.name))
    rests = (
        "The settings could not be read, so Potluck pauses: look at them, then resume. "
        "The damaged file was kept as {name}."
    )
    return SettingsRead(Settings(computing=OFF), Sentence(rests, aside.name))


def save_settings(path: Path, settings: Settings) -> None:
    """Write the settings and a copy of them, each whole or not at all; what a newer version wrote beside them stays.

    Raises:
        NoSpace: the disk is full; the old settings stand.
        UserProblem: the system does not allow it; the old settings stand.
    """
    others: dict[str, object] = {}
    with contextlib.suppress(ValueError):
        data = read_bounded(path, SETTINGS_BYTES_MAX)
        others = msgspec.json.decode(data or b"{}", type=dict[str, object])
    for place in (_copy_of(path), path):
        write_atomic(place, _written(settings, others))


def _written(settings: Settings, others: Mapping[str, object] = MappingProxyType({})) -> bytes:
    fields = {**others, **msgspec.to_builtins(settings)}
    fields.pop("contributing", None)
    return msgspec.json.format(msgspec.json.encode(fields), indent=2) + b"\n"


def _copy_of(path: Path) -> Path:
    return path.with_suffix(".copy.json")


def _read(path: Path) -> Settings | None:
    """The settings in a file; None: there is none.

    Raises:
        ValueError: they cannot be read.
    """
    data = read_bounded(path, SETTINGS_BYTES_MAX)
    if data is None:
        return None
    settings = msgspec.json.decode(data, type=Settings)
    paused = msgspec.json.decode(data, type=_FormerSwitch)
    return settings if paused.contributing else msgspec.structs.replace(settings, computing=OFF)


class _FormerSwitch(msgspec.Struct, frozen=True):
    """The one switch in files of former versions; `_written` leaves it out."""

    contributing: bool = True
