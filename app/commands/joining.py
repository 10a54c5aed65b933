"""Asks `potluck join` about a link, and has it join: the same program as on the command line, without its questions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from app.commands.line_command import LineCommand
from app.words import text
from core.api.look import LinkLook
from core.api.sentence import Said
from core.api.settings import Wish
from core.api.snapshot import ProblemView
from core.api.turns import WhyNot


@dataclass(frozen=True, slots=True)
class Habits:
    """What the person chose beside a collaboration.

    Attributes:
        wish: Settings, as `core.api.settings.Wish`.
        at_login: Whether the window starts, hidden, with the person's login.
    """

    wish: Wish
    at_login: bool = False


Told = Callable[["Answer"], object]


class Answer(msgspec.Struct, frozen=True):
    """The last line that the command printed, as far as it is used here."""

    event: str = ""
    name: str = ""
    running: bool = False
    """An engine runs, and goes to the collaboration."""
    code: str = ""
    message: str = ""
    hint: str = ""
    said: Said = ()
    look: LinkLook | None = None
    """What the link leads to, where that was asked."""

    @property
    def problem(self) -> ProblemView | None:
        """Why it could not be done; None: it was."""
        return ProblemView(self.code, self.message, self.hint, self.said) if self.event in {"", "problem"} else None


class KeptLink(msgspec.Struct, frozen=True):
    """A collaboration that this computer has joined."""

    id: str
    name: str
    current: bool
    """Whether it is the one that comes first."""
    served: bool = False
    """Whether an engine takes part in it now."""
    why_not: WhyNot | None = None
    """Why it had its turn and is not served."""


class JoinCommand:
    """Runs commands, one after the other; a new question ends the one before.

    Args:
        command: Runs them.
    """

    def __init__(self, command: LineCommand) -> None:
        self._command = command

    def look(self, link: str, told: Told) -> None:
        """Find out who runs the collaboration of a link, what for, and what it takes here."""
        self._run(["join", "-", "--show"], text.one_line(link), lambda lines: told(_answer(lines)))

    def join(self, link: str, told: Told) -> None:
        """Make it the current one; an engine that runs goes there."""
        self._run(["join", "-", "--yes"], text.one_line(link), lambda lines: told(_answer(lines)))

    def kept(self, told: Callable[[list[KeptLink]], object]) -> None:
        """List the collaborations that were joined and not left, by priority."""
        self._run(["collaborations"], "", lambda lines: told(_kept(lines)))

    def go(self, kept: KeptLink, told: Told) -> None:
        """Make one that was joined the current one; an engine that runs goes there."""
        self._run(["join", kept.id, "--yes"], "", lambda lines: told(_answer(lines)))

    def leave(self, which: str, told: Told) -> None:
        """Forget the link of one that was joined.

        Args:
            which: Its id.
            told: Hears what came of it.
        """
        self._run(["leave", which], "", lambda lines: told(_answer(lines)))

    def begin(self, link: str, habits: Habits, told: Told) -> None:
        """Keep the person's choices, then join.

        Args:
            link: Link of the collaboration; empty: this computer trains alone.
            habits: The choices.
            told: Hears the first problem, or the end.
        """
        words = [["startup", "links"], *([["startup", "window"]] if habits.at_login else [])]
        steps = [(each, "") for each in words]
        if habits.wish:
            steps.append((["settings", "-"], msgspec.json.encode(habits.wish).decode()))
        if link:
            steps.append((["join", "-", "--yes"], text.one_line(link)))
        self._step(steps, told)

    def stop(self) -> None:
        """Nobody waits for the answer any more."""
        self._command.stop()

    def _step(self, steps: Sequence[tuple[list[str], str]], told: Told) -> None:
        """Take the steps one after the other.  That of `startup` may fail: the system may have no place for it."""
        (words, line), *others = steps

        def go_on(answer: Answer) -> None:
            if words[0] == "startup":
                answer = Answer("startup")
            if answer.problem is not None or not others:
                told(answer)
            else:
                self._step(others, told)

        self._run(words, line, lambda lines: go_on(_answer(lines)))

    def _run(self, words: Sequence[str], line: str, take: Callable[[list[bytes]], object]) -> None:
        # The link holds an invitation: by stdin.
        self._command.ask(words, take, said=line)


def _answer(lines: list[bytes]) -> Answer:
    """The last line of a command, which says how it went."""
    try:
        answer = msgspec.json.decode(lines[-1], type=Answer) if lines else _nothing()
        if answer.event == "collaboration":
            answer = msgspec.structs.replace(answer, look=msgspec.json.decode(lines[-1], type=LinkLook))
    except msgspec.DecodeError:
        return _nothing()
    return answer


def _kept(lines: list[bytes]) -> list[KeptLink]:
    try:
        return [msgspec.json.decode(line, type=KeptLink) for line in lines]
    except msgspec.DecodeError:
        return []


def _nothing() -> Answer:
    return Answer("problem", code="join", message=text.tr("The link could not be looked at."))
