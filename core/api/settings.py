"""A person's settings, and the engine's findings about its port: shared by all who show them."""

import msgspec

from core.api.modes import SUBJECTS, UseSwitch
from core.api.rules import UseRules
from core.api.sentence import Said

RATE_BYTES_S_MIN = 5000.0
"""With less, nobody could stay in a swarm (core.net.limits.pace.SMALLEST_BYTES_S)."""
RATE_BYTES_S_MAX = 1e11
MONTH_BYTES_MIN = 10**6
MONTH_BYTES_MAX = 10**15
MEMORY_BYTES_MIN = 256 * 10**6
"""With less not even torch could be loaded."""
MEMORY_BYTES_MAX = 10**14
DISK_GIGABYTES_MAX = 100_000
PORT_MIN = 1024
"""Systems keep the ports below for themselves."""
PORT_MAX = 65_535

Wish = dict[str, int | float | str | bool | list[str] | None]
"""Changes of settings, by fields of `SettingsView`; None: no limit.  A switch is named by where it is to stand."""

AUTO = "auto"
"""The best device that there is."""
ALL = "all"
"""Every device that there is, the processor too."""
CPU = "cpu"
EXPERTS_MAX = 65_536
KEEP_MINUTES_MAX = 7 * 24 * 60
_ONE_DEVICE = "(cpu|mps(:0)?|(cuda|xpu)(:[0-9]{1,2})?)"
NAME_LETTERS = 40
"""Upper bound on a person's name, characters (core.base.names.NAME_CHARS_MAX)."""
DEVICE_PATTERN = f"^(auto|all|{_ONE_DEVICE}(,{_ONE_DEVICE}){{0,15}})$"
"""What a worker may compute on, with commas between several; ROCm's devices are called cuda, too."""

FIELDS = (
    *UseRules.__struct_fields__, *SUBJECTS, "upload_bytes_s", "download_bytes_s", "relay", "port", "device", "threads",
    "memory_bytes", "disk_gigabytes", "experts", "compile", "keep_minutes", "keep_awake", "name", "energy_watts",
    "energy_cents", "energy_grams"
)  # fmt: skip
"""Fields of `SettingsView` that `configure` changes."""
PROBLEM_PREFIX = "setting."
"""With the name of a field it is the code of a problem that is about that field."""


class SettingsView(UseRules, frozen=True, kw_only=True):
    """The choices, as they are kept: the rules, and more."""

    upload_bytes_s: float | None
    """No more is sent; None: no limit."""
    download_bytes_s: float | None
    relay: bool
    """Whether connections of others are carried."""
    computing: UseSwitch = UseSwitch()
    gpu: UseSwitch = UseSwitch()
    network: UseSwitch = UseSwitch()
    port: int
    """For other peers; 0: the first start draws one."""
    device: str = "auto"
    """What is computed on (`DEVICE_PATTERN`); "auto": a graphics device where there is one, else the processor;
    "all": every one."""
    threads: int = 0
    """Processor threads that train; 0: all cores but one."""
    memory_bytes: int | None = None
    """Upper bound on the memory that training takes, bytes; None: half of what is free."""
    disk_gigabytes: int = 4
    """Upper bound on the disk that the data of a collaboration take, gigabytes."""
    experts: int | None = None
    """Upper bound on the experts of a mixture that live here; None: as many as memory allows."""
    compile: bool = False
    """Whether a model's layers are compiled before they train."""
    keep_minutes: int = 10
    """How long training keeps its memory while it rests, to go on at once; 0: not at all."""
    keep_awake: bool = False
    """Whether the computer does not fall asleep by itself while it contributes."""
    energy_watts: int = 0
    """What this computer draws more while it contributes, as its owner knows it; 0: as it is measured or estimated."""
    energy_cents: int = 0
    """Price of a kilowatt-hour, in hundredths of the owner's money; 0: not told."""
    energy_grams: int = 0
    """Carbon dioxide for a kilowatt-hour; 0: not told."""
    month_used_bytes: int | None = None
    """Sent and received in this month; None: not known."""
    name: str = ""
    """How the leaderboard is to call this computer; empty: as the system does."""
    note: str = ""
    """A sentence on settings that take effect later; empty: all are in force."""
    said: Said = ()


class PortTest(msgspec.Struct, frozen=True, kw_only=True):
    """Whether others can call this computer."""

    port: int
    """The one that is in use; 0: none is needed."""
    sentence: str
    advice: str = ""
    """Sentence on what would improve reachability; empty if nothing is needed."""
    tcp: bool | None = None
    """Whether calls over TCP get through; None: not known."""
    udp: bool | None = None
    said: Said = ()
