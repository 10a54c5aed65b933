"""Updates as `potluck update` tells of them, for the window and for scripts."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

import msgspec

from core.api.sentence import Sentence
from core.api.version import VERSION

NEWER: Final = "newer"
"""Code of a problem: what this computer was asked to take part in is newer than its Potluck."""


class UpdateState(StrEnum):
    """What is known of a newer version."""

    NOT_OURS = "not_ours"
    """The system's packages, or who has fetched the source, bring newer versions."""
    CURRENT = "current"
    OFFERED = "offered"
    READY = "ready"
    """It is here, and the next start takes it."""


class UpdateView(msgspec.Struct, frozen=True, kw_only=True):
    """What there is, and what is new in it."""

    state: UpdateState
    version: str = ""
    """The newer version; empty: there is none."""
    news: tuple[str, ...] = ()
    """What its changelog says, in English."""
    back_from: str = ""
    """A version that did not start here; empty: there is none."""
    on: bool = True
    """Whether newer versions are looked for by themselves."""
    looked_at: float = 0.0
    """When that was done last, Unix seconds; 0: never."""


class UpdateProgress(msgspec.Struct, frozen=True, tag_field="event", tag="progress", kw_only=True):
    """How far the download of a version is; a line every half second at most."""

    done_bytes: int
    total_bytes: int


SENTENCES: Final[Mapping[UpdateState, str]] = MappingProxyType(
    {
        UpdateState.NOT_OURS: (
            "This Potluck was not installed as a program that updates itself: newer versions come the way it came, "
            "from the system's packages for example."
        ),
        UpdateState.CURRENT: "Potluck {running} is the newest version for this computer.",
        UpdateState.OFFERED: "Potluck {version} is there, and {running} runs.",
        UpdateState.READY: "Potluck {version} is here: the next start takes it, and {running} runs until then.",
    }
)


def told(view: UpdateView) -> list[Sentence]:
    """What a person should know of it, in sentences."""
    back = "Version {version} did not start on this computer, so {running} runs. It is not taken again."
    off = "Potluck does not look for newer versions by itself."
    return [
        Sentence.named(SENTENCES[view.state], {"version": view.version, "running": VERSION}),
        *([Sentence(back, view.back_from, VERSION)] if view.back_from else []),
        *([Sentence(off)] if not view.on and view.state is not UpdateState.NOT_OURS else []),
    ]
