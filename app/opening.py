"""What opens: the first-run pages, or the window on the collaboration that this computer is in."""

from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from app.choices import Choices

LINKS: Final = "collaborations.json"
ALONE: Final = "embedded"
"""The folder of a collaboration that lives on this computer."""
LINKS_BYTES_MAX: Final = 64 * 1024


class Opening(StrEnum):
    """What a start of the window leads to."""

    FIRST_RUN = "first_run"
    """Nothing was chosen yet, so nothing may compute."""
    ALONE = "alone"
    """The person chose to train alone on this computer."""
    JOINED = "joined"


class _Kept(msgspec.Struct):
    links: list[str] = []


def opening(home: Path, choices: Choices) -> Opening:
    """Decide what opens.

    Args:
        home: The home directory; it need not exist.
        choices: The person's choices about the window.
    """
    if _links(home / LINKS):
        return Opening.JOINED
    if choices.alone or (home / ALONE).is_dir():
        return Opening.ALONE
    return Opening.FIRST_RUN


def _links(file: Path) -> bool:
    """Whether any collaboration was joined; a damaged list counts, since the engine says what became of it."""
    try:
        with file.open("rb") as opened:
            return bool(msgspec.json.decode(opened.read(LINKS_BYTES_MAX + 1), type=_Kept).links)
    except FileNotFoundError:
        return False
    except (OSError, msgspec.DecodeError):
        return True
