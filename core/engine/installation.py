"""What stands on this computer before any collaboration, and is the same for all of them."""

from dataclasses import dataclass

from core.backbone.names import chosen_name
from core.base.signing import KeyPair
from core.control.notices import NoticeRing
from core.engine.limits.preferences import Preferences
from core.engine.limits.usage_policy import UsagePolicy
from core.engine.options import EngineOptions
from core.ledger.days import Days
from core.net.clock import Clock


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
