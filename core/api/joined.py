"""The links of the collaborations that were joined, and what they mean to a person while no engine runs.

The file is the engine's (core.engine.remembered.collaborations); window and command line read it to say why nothing
runs, and how to go on.  Who refused this computer wrote the words of a refusal: they are cut to `LETTERS_MAX`, shown,
never obeyed.
"""

from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.api.places import collaborations_file
from core.api.sentence import Said, Spoken
from core.api.verdict import NO_ENTRY, Verdict, VerdictCode, no_answer, not_connected, resting

LINKS_MAX: Final = 100
LETTERS_MAX: Final = 600
LINK_LETTERS_MAX: Final = 4000
"""Upper bound on a link as somebody pastes it: of many addresses the first are kept."""
FILE_BYTES_MAX: Final = 1024 * 1024
"""Upper bound on the file: of each link there are at most four texts of `LETTERS_MAX` letters, escaped for JSON."""
TRY_ALONE: Final = "potluck demo --headless"

_Text = Annotated[str, Meta(max_length=LETTERS_MAX)]


class KeptRefusal(msgspec.Struct, frozen=True):
    """Why this computer could not take part the last time that it asked."""

    message: _Text
    hint: _Text = ""
    said: Annotated[Said, Meta(max_length=2)] = ()

    @property
    def problem(self) -> Spoken:
        """The same, for those who tell it."""
        return Spoken(self.message, hint=self.hint, said=self.said)


class KeptLinks(msgspec.Struct, frozen=True):
    """The content of the file, as the engine writes it."""

    links: Annotated[list[_Text], Meta(max_length=LINKS_MAX)] = []
    """By priority, the current one first."""
    refused: Annotated[dict[_Text, KeptRefusal], Meta(max_length=LINKS_MAX)] = {}
    """By link; a link that is not in it has let this computer in, or was not asked yet."""

    left: _Text = ""
    """Name of the collaboration that was left last; empty: one was joined since then, or none was left."""

    @property
    def in_the_way(self) -> KeptRefusal | None:
        """The current one's refusal, where no other collaboration is left to be asked; None: a start may succeed."""
        if not all(link in self.refused for link in self.links):
            return None
        return next((self.refused[link] for link in self.links), None)


def kept_links(home: Path) -> KeptLinks | None:
    """The links of a home; None: the file is damaged, about which the engine says more when it starts."""
    try:
        with collaborations_file(home).open("rb") as file:
            return msgspec.json.decode(file.read(FILE_BYTES_MAX + 1), type=KeptLinks)
    except (FileNotFoundError, NotADirectoryError):
        return KeptLinks()
    except (OSError, ValueError):
        return None


def embedded_folder(home: Path) -> Path:
    """The folder of the collaborations that live on this computer (core.engine.embedded)."""
    return home / "embedded"


def absence(reason: str, home: Path) -> Verdict:
    """The verdict where no engine answers, for window, tray and commands: first what ended it, if that is known.

    A refusal of the current collaboration did, or that the person has left the last one.

    Args:
        reason: Why none answers: `core.api.running.why_none_answers`, or a reason that `core.api.verdict` names.
        home: The home directory.
    """
    if reason in {VerdictCode.NO_ANSWER, NO_ENTRY}:
        return no_answer(NO_ENTRY if reason == NO_ENTRY else "")
    kept = kept_links(home)
    if kept is not None and kept.left and not kept.links:
        return resting("left", collaboration=kept.left)
    refusal = None if kept is None else kept.in_the_way
    return not_connected(reason) if refusal is None else not_connected("refused", why=refusal.problem.whole)


def without_screen(home: Path) -> str:
    """The command that leads on where there is no window: by what this computer takes part in."""
    kept = kept_links(home)
    if kept is None or kept.links:
        return "potluck engine"
    if embedded_folder(home).is_dir():
        return TRY_ALONE
    return f"potluck join LINK, or to try it on this computer alone: {TRY_ALONE}"
