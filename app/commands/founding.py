"""Has `potluck found` found a collaboration, and `potluck where` look from where others reach this computer."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from app.commands.line_command import LineAnswer, LineCommand
from app.words import text
from core.api.hosting import WhereView
from core.api.snapshot import ProblemView


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundingWish:
    """What the person has said on the pages, as `potluck found` takes it."""

    recipe: str
    text: str = ""
    """A folder; empty: the recipe's own text."""
    licence: str = ""
    credit: str = ""
    name: str = ""
    summary: str = ""
    organiser: str = ""
    uses: int = 0
    days: int = 0
    hosts: tuple[str, ...] = ()

    @property
    def words(self) -> list[str]:
        """The words of the command."""
        named = {"--text": self.text, "--licence": self.licence, "--credit": self.credit, "--name": self.name,
                 "--summary": self.summary, "--organiser": self.organiser}  # fmt: skip
        said = [f"{option}={words}" for option, words in named.items() if words]
        said += [f"--uses={self.uses}", f"--days={self.days}", *(f"--host={host}" for host in self.hosts)]
        return ["found", self.recipe, *said, "--with-engine", "--progress"]


class FoundingStep(msgspec.Struct, frozen=True, tag_field="event", tag="progress"):
    """A line on the way."""

    share: float
    text: str


class FoundingAnswer(LineAnswer, frozen=True):
    """The last line of the command, as far as it is used here."""

    charter: str = ""
    collaboration: str = ""
    link: str = ""
    ports: dict[str, int] = msgspec.field(default_factory=dict)
    """Ports that a router forwards, "desk" and "peers"."""
    running: bool = False
    """An engine runs, and begins with it now."""

    @property
    def problem(self) -> ProblemView | None:
        """Why nothing was founded; None: it was."""
        return None if self.event == "founded" else self.trouble


class FoundingCommand:
    """Runs the commands, one at a time.

    Args:
        command: Runs them.
    """

    def __init__(self, command: LineCommand) -> None:
        self._command = command

    @property
    def runs(self) -> bool:
        """Whether an answer is waited for."""
        return self._command.runs

    def where(self, told: Callable[[WhereView | None], object]) -> None:
        """Find out at which addresses others reach this computer; None: it cannot be found out."""

        def read(lines: list[bytes]) -> WhereView | None:
            with contextlib.suppress(IndexError, msgspec.DecodeError):
                return msgspec.json.decode(lines[-1], type=WhereView)
            return None

        self._command.ask(["where"], lambda lines: told(read(lines)))

    def found(
        self,
        wish: FoundingWish,
        told: Callable[[FoundingAnswer], object],
        *,
        heard: Callable[[FoundingStep], object],
    ) -> None:
        """Found a collaboration whose backbone the engine runs.

        Args:
            wish: What the person has said.
            told: Hears what came of it.
            heard: Hears how far it is.
        """

        def hear(line: bytes) -> None:
            with contextlib.suppress(msgspec.DecodeError):
                heard(msgspec.json.decode(line, type=FoundingStep))

        self._command.ask(wish.words, lambda lines: told(_answer(lines[-1:])), heard=hear)

    def stop(self) -> None:
        """Nobody waits for the answer any more; what was begun leaves nothing."""
        self._command.stop()


def _answer(lines: list[bytes]) -> FoundingAnswer:
    with contextlib.suppress(msgspec.DecodeError):
        for line in lines:
            return msgspec.json.decode(line, type=FoundingAnswer)
    return FoundingAnswer("problem", code="found", message=text.tr("The collaboration could not be founded."))
