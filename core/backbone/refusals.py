"""Why a key is not let in: the problems that a desk tells newcomers."""

from typing import Final

from core.backbone.desk_messages import NEWER, OLDER, JoinRefusal
from core.base.problems import BadInput, Busy, NotTrusted, Problem, Sentence, ShutOut, later
from core.base.wire import PROTOCOL

ASK: Final = Sentence("Ask the organiser for a new link.")


class BadInvitation(NotTrusted):
    """An invitation that lets nobody in.

    Args:
        why: Completes the code `link.WHY`.
        message: The same as a sentence.
        hint: What to do.
    """

    def __init__(self, why: str, message: str, /, *values: object, hint: str | Sentence = ASK) -> None:
        super().__init__(message, *values, hint=hint)
        self.code = f"link.{why}"


def closed() -> BadInvitation:
    """The problem that moderators let nobody new in for now."""
    hint = "Try again another day: your invitation stays as it is."
    return BadInvitation("closed", "The moderators let nobody new in at present.", hint=hint)


class PlacesHeld(BadInvitation):
    """The last places of an invitation are held for others, some of whom may not come."""

    def __init__(self) -> None:
        said = later("The last places of this invitation are held for computers that are about to come in.")
        super().__init__("full", said, hint=later("Try again in some minutes, or ask the organiser for a new link."))


class TooManyDevices(BadInvitation):
    """An account has as many keys as it may.

    Args:
        keys_max: Their number.
    """

    def __init__(self, keys_max: int) -> None:
        said = f"This account has {keys_max} computers, with those that were ended."
        super().__init__("full", said, hint="Ask the organiser for a link of its own.")


def ended_here() -> ShutOut:
    """The problem that the same person has ended this computer, here or at another one."""
    return ShutOut(
        "Your account has ended this computer.",
        hint="Sign in again, or use a link of another computer of yours, or another home (--home).",
    )


class NameTaken(BadInput):
    """The name belongs to another key."""

    code = "name_taken"


def other_protocol(theirs: int) -> JoinRefusal:
    """Why a newcomer of another version is turned away; `theirs` is its protocol."""
    if theirs < PROTOCOL:
        return JoinRefusal(NEWER, "The collaboration uses a newer version of Potluck.", "Update Potluck.")
    older = "The collaboration uses an older version of Potluck."
    return JoinRefusal(OLDER, older, "Ask the organiser to update the backbone.")


def refused(problem: Problem) -> tuple[int, JoinRefusal]:
    """The status and the words by which a desk refuses."""
    kinds = ((PlacesHeld, 503), (Busy, 429), (NotTrusted, 403))
    status = next((number for kind, number in kinds if isinstance(problem, kind)), 400)
    return status, JoinRefusal(problem.code, problem.message, problem.hint)
