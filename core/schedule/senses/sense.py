"""The network that this computer is in: whether its use costs the person, of which kind it is, where its router is."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal

Medium = Literal["cable", "wifi", "mobile", "unknown"]
Ask = Callable[[Sequence[str]], Awaitable[str]]
"""Runs a program of the system; what it printed, empty when it is not there or fails."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSense:
    """Findings of this look at the present network."""

    metered: bool | None = None
    """Whether the system treats the connection as one that costs; None: it does not tell."""
    medium: Medium = "unknown"
    gateway: str | None = None
    """The default router's IPv4 address."""
