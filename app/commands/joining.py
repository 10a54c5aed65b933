"""Asks `potluck join` about a link, and has it join: the same program as on the command line, without its questions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from app.commands.line_command import LineAnswer, LineCommand
from app.words import text
from core.api.directory import DirectoryView
from core.api.hosting import JoinedView
from core.api.look import LinkLook
from core.api.settings import Wish
from core.api.snapshot import ProblemView


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
Heard = Callable[[bytes], object]


class Answer(LineAnswer, frozen=True):
    """The last line that the command printed, as far as it is used here."""

    name: str = ""
    running: bool = False
    """An engine runs, and goes to the collaboration."""
    link: str = ""
    """An invitation."""
    directory: DirectoryView | None = None
    """A list of collaborations, where that was read."""
    look: LinkLook | None = None
    """What the link leads to, where that was asked."""

    @property
    def problem(self) -> ProblemView | None:
        """Why it could not be done; None: it was."""
        return self.trouble if self.event in {"", "problem"} else None


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

    def join(self, link: str, told: Told, heard: Heard) -> None:
        """Make it the current one; an engine that runs goes there.

        Args:
            link: Link of the collaboration.
            told: Hears the end.
            heard: Hears where to sign in, if that is needed.
        """
        self._run(["join", "-", "--yes"], text.one_line(link), lambda lines: told(_answer(lines)), heard)

    def kept(self, told: Callable[[list[JoinedView]], object]) -> None:
        """List the collaborations that were joined and not left, by priority, and other charters of this computer."""
        self._run(["collaborations"], "", lambda lines: told(_kept(lines)))

    def go(self, kept: JoinedView, told: Told) -> None:
        """Make one that was joined the current one; an engine that runs goes there."""
        words = ["join", kept.id, "--yes"] if kept.joined else ["host", kept.charter]
        self._run(words, "", lambda lines: told(_answer(lines)))

    def host(self, kept: JoinedView, told: Told, *, on: bool) -> None:
        """Have this computer run the backbone of its own charter, or not."""
        self._run(["host", kept.charter, *([] if on else ["--stop"])], "", lambda lines: told(_answer(lines)))

    def invite(self, which: str, told: Told, *, uses: int | None = None, days: int | None = None) -> None:
        """Make a link by a charter of this computer, or find out whether the link by which it came lets others in.

        Args:
            which: Id of the collaboration.
            told: Hears the link.
            uses: Number of computers that a new link lets in, 0: any; None: the usual one.
            days: How long it lasts, 0: without end.
        """
        lasts = [word for name, number in (("--uses", uses), ("--days", days)) if number is not None
                 for word in (name, str(number))]  # fmt: skip
        self._run(["invite", which, *lasts], "", lambda lines: told(_answer(lines)))

    def leave(self, which: str, told: Told) -> None:
        """Forget the link of one that was joined.

        Args:
            which: Its id.
            told: Hears what came of it.
        """
        self._run(["leave", which], "", lambda lines: told(_answer(lines)))

    def directory(self, where: str, told: Told) -> None:
        """Read a list of open collaborations.

        Args:
            where: File or address; empty: the list that comes along.
            told: Hears the list.
        """
        self._run(["directory", *([where] if where else [])], "", lambda lines: told(_answer(lines)))

    def begin(self, link: str, habits: Habits, told: Told, heard: Heard) -> None:
        """Keep the person's choices, then join.

        Args:
            link: Link of the collaboration; empty: this computer trains alone.
            habits: The choices.
            told: Hears the first problem, or the end.
            heard: As in `join`.
        """
        words = [["startup", "links"], *([["startup", "window"]] if habits.at_login else [])]
        steps = [(each, "") for each in words]
        if habits.wish:
            steps.append((["settings", "-"], msgspec.json.encode(habits.wish).decode()))
        if link:
            steps.append((["join", "-", "--yes"], text.one_line(link)))
        self._step(steps, told, heard)

    def stop(self) -> None:
        """Nobody waits for the answer any more."""
        self._command.stop()

    def _step(self, steps: Sequence[tuple[list[str], str]], told: Told, heard: Heard) -> None:
        """Take the steps one after the other.  That of `startup` may fail: the system may have no place for it."""
        (words, line), *others = steps

        def go_on(answer: Answer) -> None:
            if words[0] == "startup":
                answer = Answer("startup")
            if answer.problem is not None or not others:
                told(answer)
            else:
                self._step(others, told, heard)

        self._run(words, line, lambda lines: go_on(_answer(lines)), heard)

    def _run(
        self, words: Sequence[str], line: str, take: Callable[[list[bytes]], object], heard: Heard | None = None
    ) -> None:
        # The link holds an invitation: by stdin.
        self._command.ask(words, take, said=line, heard=heard)


def _answer(lines: list[bytes]) -> Answer:
    """The last line of a command, which says how it went."""
    try:
        answer = msgspec.json.decode(lines[-1], type=Answer) if lines else _nothing()
        if answer.event == "collaboration":
            answer = msgspec.structs.replace(answer, look=msgspec.json.decode(lines[-1], type=LinkLook))
        if answer.event == "directory":
            answer = msgspec.structs.replace(answer, directory=msgspec.json.decode(lines[-1], type=DirectoryView))
    except msgspec.DecodeError:
        return _nothing()
    return answer


def _kept(lines: list[bytes]) -> list[JoinedView]:
    try:
        return [msgspec.json.decode(line, type=JoinedView) for line in lines]
    except msgspec.DecodeError:
        return []


def _nothing() -> Answer:
    return Answer("problem", code="join", message=text.tr("The link could not be looked at."))
