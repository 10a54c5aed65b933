"""The parser of the command line: what is wrong with its words is a sentence, with what to do, as all bad input is.

Standard library only: packaging/bootstrap.py uses it before anything is installed.
"""

import argparse
import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, Final, NoReturn, TypeVar

from core.base.problems import BadInput, Sentence, quoted

A = TypeVar("A", bound=argparse.Action)

LISTED_MAX: Final = 12
"""Number of choices that a sentence lists; of more there is a list in the help."""
NAME: Final = r"(?:argument )?(?P<name>[^:]+)"
REPHRASED: Final = (
    (rf"{NAME}: expected (?:one|at least one) argument", "{name} needs a value{meaning}."),
    (rf"{NAME}: not allowed with argument (?P<other>.+)", "{other} and {name} do not go together."),
    (rf"{NAME}: ignored explicit argument .+", "{name} takes no value."),
    (rf"{NAME}: invalid \w+ value: (?P<said>.+)", "{name} cannot be {said}{meaning}."),
    (r"one of the arguments (?P<name>.+) is required", "{program} needs one of these: {name}."),
    (r"ambiguous option: (?P<name>\S+) could match (?P<other>.+)", "{name} could mean any of these: {other}."),
    (rf"{NAME}: (?P<said>.+)", "{name}: {said}."),
)
"""What argparse says, and what is said in its place; what fits none of these is said as it is."""
MISSING: Final = "the following arguments are required: "
CHOICE: Final = re.compile(rf"{NAME}: invalid choice: '?(?P<said>.*?)'? \(choose from .*\)", re.DOTALL)


class Parser(argparse.ArgumentParser):
    """Parses the command line, and raises a sentence for people where it is wrong, as its subcommands do.

    Raises:
        BadInput: by `parse_args`, where the words cannot be understood.
    """

    def __init__(self, **options: Any) -> None:
        self._known: dict[str, argparse.Action] = {}
        """What was added, by the name that argparse calls it by."""
        super().__init__(**options)

    @property
    def arguments(self) -> list[argparse.Action]:
        """All that was added, subcommands too, in its order."""
        return list(dict.fromkeys(self._known.values()))

    def add_argument(self, *names: Any, **options: Any) -> argparse.Action:
        """Add an argument, as `argparse` does, and remember it for sentences."""
        return self._keep(super().add_argument(*names, **options))

    def add_mutually_exclusive_group(self, **options: Any) -> Any:
        """Add a group, as `argparse` does, whose arguments are remembered too."""
        group = super().add_mutually_exclusive_group(**options)
        add = group.add_argument
        group.add_argument = lambda *names, **more: self._keep(add(*names, **more))  # type: ignore[method-assign]
        return group

    def add_subparsers(self, **options: Any) -> Any:
        """Add subcommands, as `argparse` does, and remember them for sentences."""
        return self._keep(super().add_subparsers(**options))

    def parse_known_args(self, *words: Any, **options: Any) -> Any:
        """Read the words; what is left over is refused here, where it is known which subcommand does not take it."""
        found, left = super().parse_known_args(*words, **options)
        if left:
            self._refuse(self.prog, left[0], [name for name in self._known if name.startswith("--")])
        return found, left

    def error(self, message: str) -> NoReturn:
        """Refuse the words; `message` says in argparse's words why."""
        if message.startswith(MISSING):
            first, *rest = message.removeprefix(MISSING).split(", ")
            more = f"; also {', '.join(rest)}" if rest else ""
            self._end(f"{self.prog} needs {first}{self._meaning(first)}{more}.")
        if choice := CHOICE.fullmatch(message):
            action = self._known.get(choice["name"])
            subject = choice["name"] if choice["name"].startswith("-") else self.prog
            self._refuse(subject, choice["said"], [] if action is None else list(action.choices or ()))
        for said, sentence in REPHRASED:
            if found := re.fullmatch(said, message, re.DOTALL):
                meaning = self._meaning(found["name"])
                self._end(sentence.format(**{"program": self.prog, "meaning": meaning, **found.groupdict()}))
        self._end(f"{message[:1].upper()}{message[1:]}.")

    def _keep(self, action: A) -> A:
        options = action.option_strings
        names = [*options, "/".join(options)] if options else [str(action.metavar or action.dest)]
        self._known |= dict.fromkeys(names, action)
        return action

    def _meaning(self, name: str) -> str:
        """What an argument stands for, to come after it; empty: that is not known."""
        action = self._known.get(name)
        if action is None or action.help == argparse.SUPPRESS:
            return ""
        choices = list(action.choices or ())
        words = ", ".join(choices) or action.help
        return f": {words}" if words and len(choices) <= LISTED_MAX else ""

    def _refuse(self, subject: str, said: str, known: Sequence[str]) -> NoReturn:
        """Refuse a word, in the place of which the known ones may stand."""
        listed = f" It knows: {', '.join(known)}." if 0 < len(known) <= LISTED_MAX else ""
        near = get_close_matches(said, known, n=1)
        self._end(f"{subject} does not know {quoted(said)}.{f' Did you mean {near[0]}?' if near else listed}")

    def _end(self, sentence: str) -> NoReturn:
        raise BadInput(Sentence(sentence), self.prog, hint="See: {prog} --help")
