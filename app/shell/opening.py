"""What opens: the first-run pages, or the window on the collaboration that this computer is in."""

from enum import StrEnum
from pathlib import Path

from app.looks.choices import Choices
from core.api.joined import embedded_folder, kept_links


class Opening(StrEnum):
    """What a start of the window leads to."""

    FIRST_RUN = "first_run"
    """Nothing was chosen yet, so nothing may compute."""
    ALONE = "alone"
    """The person chose to train alone on this computer."""
    JOINED = "joined"


def opening(home: Path, choices: Choices) -> Opening:
    """Decide what opens.

    Args:
        home: The home directory; it need not exist.
        choices: The person's choices about the window.
    """
    kept = kept_links(home)
    if kept is None or kept.links:  # a damaged list counts, since the engine says what became of it
        return Opening.JOINED
    if choices.alone or embedded_folder(home).is_dir():
        return Opening.ALONE
    return Opening.FIRST_RUN
