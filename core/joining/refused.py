"""Why somebody who signs in is not let in: each reason with its code, a sentence and the next step.

The page gives the reasons of `core.site`; the welcome desk has its own, each with a sentence (`core.backbone`).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from core.api.numbers import moment_text
from core.api.sentence import later
from core.base.problems import NotTrusted, Sentence, printable

REFUSALS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "wrong_credentials": (
            later("The name and the passphrase do not belong together."),
            later("Sign in again, with the name as you first wrote it."),
        ),
        "not_listed": (
            later("You are not on the list of those whom this collaboration lets in."),
            later("Ask its organiser to put you there, then sign in again."),
        ),
        "asked": (
            later("You have asked to be let in, and a moderator has not answered yet."),
            later("Potluck goes on asking, and takes part as soon as a moderator says yes."),
        ),
        "denied": (
            later("A moderator has said no."),
            later("Ask the organiser why; a day after your request you can ask again where you signed in."),
        ),
        "held": (
            later("A moderator keeps your account out for some days."),
            later("Sign in again after that, or ask the organiser."),
        ),
        "banned": (
            later("The moderators have shut your account out."),
            later("Only they can let you in again: ask the organiser."),
        ),
        "expired": (later("The time for signing in is over."), later("Sign in again.")),
        "access_denied": (
            later("Somebody has said in the browser that this computer is not theirs."),
            later("If that was not you, sign in again, and compare the code."),
        ),
        "full": (
            later("As many people have come in today as this collaboration lets in."),
            later("Sign in again tomorrow."),
        ),
        "withdrawn": (
            later("What you got by signing in lets nobody in any more."),
            later("Sign in again; what was downloaded is kept."),
        ),
        "closed": (
            later("The moderators let nobody new in at present."),
            later("Sign in again another day."),
        ),
        "too_many_devices": (
            later("Your account has as many computers as it may, with those that were ended."),
            later("Ask the organiser for a link with an invitation, under another name."),
        ),
        "too_often": (
            later("Somebody has tried to sign in too often from your address, or with your account."),
            later("Wait for some minutes, then sign in again."),
        ),
        "older": (
            later("The page of this collaboration is of a version with which nobody can sign in from Potluck."),
            later("Ask the organiser to update the backbone, or for a link with an invitation."),
        ),
        "newer": (
            later("The page of this collaboration has given an answer that this version does not know."),
            later("Update Potluck, then sign in again."),
        ),
        "needed": (
            later("This link has no invitation, and nobody has signed in on this computer."),
            later("Open the link again to sign in, or ask the organiser for one with an invitation."),
        ),
    }
)
"""Why somebody is not let in: a sentence, and the next step."""


class SignInProblem(NotTrusted):
    """Somebody is not let in by signing in.

    Args:
        why: One of `REFUSALS`; completes the code `sign_in.WHY`.
        words: What the page says about it; empty: nothing.
        until: When it ends, Unix seconds; 0: it does not end by itself.
    """

    def __init__(self, why: str, *, words: str = "", until: float = 0.0) -> None:
        message, hint = REFUSALS[why]
        told = Sentence(message)
        if until:
            told = Sentence("{refusal} This ends at {moment}.", told, moment_text(until))
        if words:
            told = Sentence("{refusal} The page says: {words}", told, printable(words))
        super().__init__(told, hint=hint)
        self.code = f"sign_in.{why}"
