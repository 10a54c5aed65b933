"""What a person could change for everybody's good: codes, whose sentences window and command line make."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from core.api.numbers import speed

HINTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "upload": (
            "Your upload limit of {limit} makes everybody's steps longer, about {longer} s instead of {shorter} s: "
            "the others wait until this computer has sent its part. You can raise it in the settings."
        ),
    }
)
"""Sentences by the code of a hint."""

ARGS: Final[Mapping[str, frozenset[str]]] = MappingProxyType({"upload": frozenset({"limit", "longer", "shorter"})})
"""What the sentence of a code needs."""


class Hint(msgspec.Struct, frozen=True):
    """A code of `HINTS`, and what its sentence is made of."""

    code: str
    args: dict[str, int] = {}
    """Arguments of the sentence; for "upload": limit (bytes a second), longer and shorter (seconds)."""


def hint_sentence(
    hint: Hint | None, translate: Callable[[str], str] = str, *, speed: Callable[[float], str] = speed
) -> str:
    """The sentence of a hint; empty: there is none, or it is of another version.

    Args:
        hint: What the engine tells.
        translate: Gives a sentence with its fields in braces in the person's language.
        speed: Writes bytes a second.
    """
    if hint is None or hint.code not in HINTS or not hint.args.keys() >= ARGS[hint.code]:
        return ""
    return translate(HINTS[hint.code]).format_map({**hint.args, "limit": speed(hint.args["limit"])})
