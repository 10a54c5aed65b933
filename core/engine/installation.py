"""What stands on this computer before any collaboration, and is the same for all of them."""

from dataclasses import dataclass
from pathlib import Path

from core.base.names import chosen_name
from core.base.signing import KeyPair
from core.control.notices import NoticeRing
from core.engine.limits.preferences import Preferences
from core.engine.limits.usage_policy import UsagePolicy
from core.ledger.days import Days
from core.net.clock import Clock
from core.storage.paths import Home
from core.workers.frames import NO_METRICS, MetricFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """Options of an engine's start, by the command line or a test; what the person may change stands in Settings."""

    home: Home
    name: str = ""
    """How the leaderboard calls this computer; empty: what the settings say."""
    bind: str = "0.0.0.0"  # noqa: S104 - a peer is there to be reached
    host: str = ""
    """Address that others are told; empty: they observe it."""
    port: int | None = None
    """Port for peers; None: the one that the settings keep."""
    threads: int = 0
    """Processor threads of the worker where the settings name none; 0: all cores but one."""
    text: Path | None = None
    """The one folder of this computer that a collaboration may read; None: none."""
    last_epoch: int | None = None
    metrics: MetricFiles = NO_METRICS
    """Where the worker writes what its epochs came to."""
    evaluate_first: bool = False
    help_bytes: int = 0
    """Memory with which to average what others have trained, and train nothing, bytes; 0: train."""
    trains: bool = True
    """Whether there is torch here, or a training part; else it helps."""
    stay: bool = False
    """When training ends for good because of a problem, stay to tell it; otherwise `serve` raises it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """What an engine gives to each of its sessions.

    Attributes:
        options: How the engine was started.
        key: This computer's identity.
        clock: The process's.
        preferences: What the person chose.
        notices: For what the person should know.
        usage_policy: What the person lets Potluck use, now.
        days: What this computer gave, by day.
    """

    options: EngineOptions
    key: KeyPair
    clock: Clock
    preferences: Preferences
    notices: NoticeRing
    usage_policy: UsagePolicy
    days: Days

    @property
    def name(self) -> str:
        """How the leaderboard is to call this computer."""
        return chosen_name(self.options.name, self.preferences.settings.name)
