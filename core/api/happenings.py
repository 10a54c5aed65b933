"""Sentences of an engine's log by code: the engine fills their fields in English, the window in its language."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from core.api.data_state import LEFT_OUT, STALLED
from core.api.numbers import amount
from core.api.sentence import Sentence, recalled

HAPPENINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "engine.joined": "This computer takes part in {name}.",
        "engine.name": "In this collaboration this computer is called {name}.",
        "engine.kept": (
            "No backbone answers at {where}. This computer takes part by the pass that it has, which holds until "
            "{until}, and asks on."
        ),
        "engine.passed_over": "The address {where} in the link was passed over. {reason}",
        "engine.twin": (
            "Another computer takes part with the key of this one, and the others reach now one and now the other: "
            "perhaps Potluck's folder was copied. Have one of the two join anew, in a new folder."
        ),
        "authority.notice": "The moderators say: {words}",
        "authority.back": (
            "The moderators have had everybody go back to step {epoch}; what came after it counts no more. {words}"
        ),
        "authority.silent": (
            "For 7 days nobody who lets people into {name} has answered, and the moderators have said nothing new. "
            'Anybody who took part can go on from its model: potluck found --go-on "{name}"'
        ),
        "embedded.again": (
            "This version of Potluck reads its text in another way, so the collaboration on this computer begins "
            "anew; the earlier one was kept in {folder}."
        ),
        "round.partial": "Step {epoch}: contributions that arrived only in part: {missing}.",
        "round.failing": (
            "For {seconds} s the computers have not managed to put their work together ({times} attempts). "
            "They go on trying."
        ),
        "round.left": (
            "The last steps up to number {epoch} that this computer took were not kept: most others had gone on from "
            "an earlier one without it. It goes on with theirs."
        ),
        "round.weight": (
            "Step {epoch} counted {weight} of this computer's {samples} samples: a computer that is new, or much "
            "faster than before, counts for more with each step, up to its share."
        ),
        "round.scaled": (
            "In step {epoch} this computer's gradients were far larger than those of the others, and were scaled "
            "down. If it goes on, restart Potluck, and check this computer's memory and graphics card."
        ),
        "data.away": "{host}, where the text is, does not answer; {rows} samples are ready.",
        "data.flows": "Data come again, and training has what it needs.",
        **{f"data.stalled.{code}": sentence for code, sentence in STALLED.items()},
        **{f"data.left.{code}": sentence for code, sentence in LEFT_OUT.items()},
        "update.soon": "Potluck {version} is here: this computer goes on with it after the present step.",
        "update.back": "Version {version} did not start on this computer, so {running} runs. It is not taken again.",
        "update.failed": "A newer version was looked for, and nothing was changed: {reason}",
        "turns.unreachable": "{left} cannot be reached; Potluck goes on with {served}.",
        "turns.refused": "{left} does not let this computer take part: {reason} Potluck goes on with {served}.",
        "turns.ended": "{left} has come to its end; Potluck goes on with {served}.",
        "turns.back": "{served} can be reached again; Potluck goes back to it from {left}.",
    }
)
"""By the code of a notice."""


def happening(code: str, args: Mapping[str, str | int], said: Iterable[Sentence] = ()) -> Sentence:
    """The sentence of a notice.

    Args:
        code: One of HAPPENINGS.
        args: What it is made of.  A reason is translated, names are not.
        said: How a reason is made.
    """
    values: dict[str, object] = {name: amount(each) if isinstance(each, int) else each for name, each in args.items()}
    if "reason" in args:
        values["reason"] = recalled(str(args["reason"]), said)
    return Sentence.named(HAPPENINGS[code], values)
