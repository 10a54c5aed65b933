"""The problem tree: failures that a person or another part of the program should hear about.

    Problem                     code, message, hint
    ├── UserProblem             a person can mend it; exit code 2 on the command line
    │   ├── BadInput            an input that cannot be used (a folder, a number, a link)
    │   ├── Busy                a resource is already in use (a second start, a taken port)
    │   ├── Damaged             a file of this program is unreadable; it was set aside
    │   ├── NoSpace             the disk is full
    │   ├── NoTrainingPart      torch and what comes with it is not installed
    │   └── NotTrusted          a signature or a pass does not hold
    │       └── ShutOut         the organiser has shut this computer out
    ├── RemoteProblem           a peer did wrong: drop, count, never raise out of a machine
    │   ├── WireProblem         bytes that are not a valid message
    │   └── ProofProblem        a pass, signature, nonce or time that does not hold
    └── WorkerProblem           the training process failed or ended

Misuse within the program (a wrong argument in code) raises ValueError or AssertionError, which nobody catches but the
runner of a machine: where a peer's message led to it, that ends the peer's conversation, otherwise the host.
"""

from collections.abc import Iterable
from typing import Final

from core.api import sentence

Said = sentence.Said
Sentence = sentence.Sentence
later = sentence.later
"""For those who raise problems, which are made of sentences."""
_JOINERS: Final = "\u200c\u200d"
"""Letters without a width that Bengali, Persian and other scripts are written with."""


class Problem(sentence.Spoken):
    """A failure that is not a mistake in this program's code."""

    code = "problem"

    @property
    def words(self) -> tuple[str, str, str, Said]:
        """Code, message, hint, and how these are made: what a view of it is made of."""
        return self.code, self.message, self.hint, self.said


class UserProblem(Problem):
    """A failure that a person can mend."""

    code = "user"


class BadInput(UserProblem):
    """An input that cannot be used."""

    code = "bad_input"


def quoted(said: str, letters: int = 40) -> str:
    """`said` in quotes and as somebody typed it, so that they find it again.

    Args:
        said: What was typed.
        letters: Number of letters at most; an ellipsis stands for the rest.
    """
    return f"'{printable(said[:letters])}{'…' if len(said) > letters else ''}'"


def printable(text: str) -> str:
    """`text` with spaces for what could move a cursor or colour a terminal; letters of every script stay."""
    return "".join(letter if letter.isprintable() or letter in _JOINERS else " " for letter in text)


def unknown_name(what: str, name: str, known: Iterable[str]) -> BadInput:
    """The sentence about a name in a manifest or recipe for which this version has nothing.

    Args:
        what: Its kind, such as "optimiser".
        name: As it stands there.
        known: The names that this version has.
    """
    message = "This version of Potluck does not know the {what} {name}."
    hint = "It knows: {known}. Correct the recipe, or update Potluck where the collaboration is newer."
    return BadInput(message, what, quoted(name, 80), ", ".join(known), hint=hint)


def no_blank() -> BadInput:
    """The problem that a text leaves nothing to fill for a model that fills blanks."""
    return BadInput(
        "The text has no blank to fill: write ___ where a word is missing.",
        hint='For example: potluck try "People bring their ___ computers"',
    )


def check_text(words: str, *, what: str) -> None:
    """Refuse words of a person whose bytes are not UTF-8; Python has them as lone surrogates (PEP 383).

    Args:
        words: As they came, from the command line for example.
        what: What they are, at the beginning of a sentence.

    Raises:
        BadInput: they are not.
    """
    try:
        words.encode()
    except UnicodeEncodeError as error:
        shown = words.encode(errors="surrogateescape").decode(errors="replace")
        raise BadInput("{what} is not UTF-8: {shown}.", what, quoted(shown), hint="Give it in UTF-8.") from error


class Busy(UserProblem):
    """A needed resource is already held by this or another program."""

    code = "busy"


class Damaged(UserProblem):
    """A file of this program is unreadable.  It was set aside, never deleted."""

    code = "damaged"


class NoSpace(UserProblem):
    """The disk has no space left for a file."""

    code = "no_space"


class NoTrainingPart(UserProblem):
    """Something needs torch, or what comes with it, and this computer has none."""

    code = "training_part"

    def __init__(self) -> None:
        hint = later("Get it in the window, or with: potluck training-part get")
        super().__init__(later("The part of Potluck that trains is not installed here."), hint=hint)


class NotTrusted(UserProblem):
    """A signature or a pass does not hold."""

    code = "not_trusted"


class ShutOut(NotTrusted):
    """The organiser has shut this computer out: nothing but the organiser's word changes that."""

    code = "shut_out"


class RemoteProblem(Problem):
    """A peer violated a protocol: drop and count."""

    code = "remote"


class WireProblem(RemoteProblem):
    """Bytes that are not a valid message of this program."""

    code = "wire"


class ProofProblem(RemoteProblem):
    """A pass, a signature, a nonce or a time that does not hold."""

    code = "proof"


class WorkerProblem(Problem):
    """The training process failed or ended."""

    code = "worker"
