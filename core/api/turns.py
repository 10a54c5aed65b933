"""Several collaborations, of which one at a time is served: what people are told about the others."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

import msgspec


class WhyNot(StrEnum):
    """Why a collaboration is not served, though it was joined and its turn would be now."""

    UNREACHABLE = "unreachable"
    REFUSED = "refused"
    ENDED = "ended"


class PassedOver(msgspec.Struct, frozen=True):
    """A collaboration that is not served, and why."""

    id: str
    """Hex digest of the manifest."""
    name: str
    why: WhyNot


WORDS: Final[Mapping[WhyNot, str]] = MappingProxyType(
    {
        WhyNot.UNREACHABLE: "cannot be reached; Potluck looks for it from time to time",
        WhyNot.REFUSED: "does not let this computer take part",
        WhyNot.ENDED: "has come to its end",
    }
)
"""What completes the sentence that begins with the collaboration's name."""
