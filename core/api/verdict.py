"""The verdict: what Potluck is doing, as a code with arguments, decided here and shown by everything that tells people.

The engine puts it into each snapshot; where none answers, window and command line decide by the same function.
"""

import math
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

import msgspec

from core.api.data_state import DataCode, why_stalled
from core.api.moderation import ENDINGS
from core.api.numbers import amount
from core.api.rules import RESTS
from core.api.sentence import Said, Sentence, in_series, later, parted, recalled


class VerdictCode(StrEnum):
    """What a person has to know first."""

    CONTRIBUTING = "contributing"
    RESTING = "resting"
    """The person's own rules, or the last epoch that was asked for, are the reason why nothing is computed."""
    PAUSED = "paused"
    STARTING = "starting"
    """Nothing is computed yet, and nothing is wrong."""
    WAITING = "waiting"
    """Training goes on by itself as soon as others give what it lacks."""
    CHANGING = "changing"
    """The person has put the switch, and the engine has not confirmed it yet."""
    NOT_CONNECTED = "not_connected"
    """No engine runs, or the engine does not reach the others."""
    NO_ANSWER = "no_answer"
    """An engine lives and says nothing: whether it computes is not known."""
    PROBLEM = "problem"


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """A code, and what its sentence is made of."""

    code: VerdictCode
    reason: str = ""
    """Which of the code's sentences; of a problem its own code."""
    until: float | None = None
    """Unix seconds at which a rest ends, or the others are looked for again; None: no moment is known."""
    args: dict[str, str | int] = {}
    said: Said = ()
    """How those arguments are made that are sentences themselves."""


Args = Mapping[str, str | int]
NO_ENTRY: Final = "no_entry"
"""Reason of `NO_ANSWER`: an engine lives, and refuses who asks."""
SENTENCES: Final[Mapping[tuple[VerdictCode, str], str]] = MappingProxyType(
    {
        (VerdictCode.CONTRIBUTING, "helping"): (
            "Helping: this computer averages what the others have trained, and trains nothing itself."
        ),
        (VerdictCode.CONTRIBUTING, "no_part"): "Helps to average. To train, it needs the training part of Potluck.",
        (VerdictCode.CONTRIBUTING, "assisting"): "Helps to average: this line is too slow for its own gradients.",
        (VerdictCode.RESTING, "left"): "You have left {collaboration}. What you gave stays in its model.",
        (VerdictCode.RESTING, "finished"): "Finished: step {epoch} was the last that was asked for.",
        **{(VerdictCode.RESTING, reason): said for reason, said in {**RESTS, **ENDINGS}.items()},
        (VerdictCode.RESTING, "ended"): (
            "Finished: with step {epoch} the collaboration has reached the end of its schedule. Nothing is computed."
        ),
        (VerdictCode.PAUSED, ""): "Paused by you: nothing is computed until you switch contributing on again.",
        (VerdictCode.PAUSED, "until"): "Paused by you: nothing is computed. Potluck continues {moment}.",
        (VerdictCode.PAUSED, "gpu"): "You switched the graphics card off for Potluck, and training runs on it.",
        (VerdictCode.PAUSED, "gpu_until"): (
            "You switched the graphics card off for Potluck, and training runs on it. Potluck continues {moment}."
        ),
        (VerdictCode.PAUSED, "network"): (
            "You switched the network off for Potluck: nobody would get what is trained, so nothing is."
        ),
        (VerdictCode.PAUSED, "network_until"): (
            "You switched the network off for Potluck: nobody would get what is trained, so nothing is. "
            "Potluck continues {moment}."
        ),
        (VerdictCode.STARTING, "preparing"): "{stage}",
        (VerdictCode.STARTING, "trainer"): "The training program is starting.",
        (VerdictCode.STARTING, "data"): "Waiting for the first text to learn from.",
        (VerdictCode.STARTING, "joining"): "Looking for the others and for the newest state of the model.",
        (VerdictCode.STARTING, "catching_up"): "Catching up with the others, who are ahead{pieces}.",
        (VerdictCode.WAITING, "experts"): (
            "Training waits for an expert of layer {layer}; {live} of all {places} are live. It goes on by itself."
        ),
        (VerdictCode.CHANGING, "pausing"): "Potluck was asked to compute nothing, and has not confirmed it yet.",
        (VerdictCode.CHANGING, "resuming"): "Potluck was asked to contribute, and has not confirmed it yet.",
        (VerdictCode.NO_ANSWER, ""): "It runs, but says nothing: whether it computes is not known.",
        (VerdictCode.NO_ANSWER, NO_ENTRY): (
            "It runs, but does not let this program in: engine.json has changed. Whether it computes is not known."
        ),
        (VerdictCode.NOT_CONNECTED, "backbone"): "{stage}",
        (VerdictCode.NOT_CONNECTED, "offline"): (
            "{whose} does not answer, nor does any other: this computer trains alone, and its work may not be kept."
        ),
        (VerdictCode.NOT_CONNECTED, "no_network"): (
            "This computer has no network: it trains alone, and its work may not be kept."
        ),
        (VerdictCode.NOT_CONNECTED, "pass_ended"): (
            "{whose} does not answer and this computer's pass has ended: it trains alone, and its work may not be kept."
        ),
        (VerdictCode.NOT_CONNECTED, "stopped"): "Potluck is not running: nothing is computed.",
        (VerdictCode.NOT_CONNECTED, "killed"): "Potluck ended unexpectedly: nothing is computed.",
        (VerdictCode.NOT_CONNECTED, "again"): (
            "Potluck ended unexpectedly: nothing is computed. It is started again in {seconds} s."
        ),
        (VerdictCode.NOT_CONNECTED, "beginning"): (
            "Starting the engine: the part of Potluck that trains and talks to the others."
        ),
        (VerdictCode.NOT_CONNECTED, "connecting"): "The engine is starting; this window connects to it in a moment.",
        (VerdictCode.NOT_CONNECTED, "absent"): "Potluck is not running here. This window waits for it to start.",
        (VerdictCode.NOT_CONNECTED, "version"): (
            "The Potluck that runs in the background is of another version. Restart it, or stop it with: potluck quit"
        ),
        (VerdictCode.NOT_CONNECTED, "full"): (
            "Too many windows and commands are connected to the engine. Close one of them."
        ),
        (VerdictCode.NOT_CONNECTED, "refused"): "{why}",
    }
)
"""By code and reason; the three that count (`_counted`) and a problem's own words stand apart."""

SHUT_OUT: Final = "shut_out"
"""Reason of a problem: the organiser has shut this computer out, and no switch changes that."""
DATA: Final = "data."
"""What the reasons about data that do not come begin with; the rest is a `core.api.data_state.DataCode`."""
WHOLE: Final = ("stage", "why")
"""Arguments that are sentences themselves."""

WHOSE: Final[Mapping[tuple[bool, bool], str]] = MappingProxyType(
    {
        (True, True): "{organiser}'s computer ({where})",
        (True, False): "{organiser}'s computer",
        (False, True): "The computer at {where}",
        (False, False): "The organiser's computer",
    }
)
"""Whose computer a link leads to: whether the organiser is known, and the address."""
HEADLINES: Final[Mapping[VerdictCode, str]] = MappingProxyType(
    {
        VerdictCode.CONTRIBUTING: "Contributing",
        VerdictCode.RESTING: "Resting",
        VerdictCode.PAUSED: "Paused",
        VerdictCode.STARTING: "Starting",
        VerdictCode.WAITING: "Waiting for experts",
        VerdictCode.CHANGING: "Resuming…",
        VerdictCode.NOT_CONNECTED: "Not connected",
        VerdictCode.NO_ANSWER: "Potluck does not answer",
        VerdictCode.PROBLEM: "Problem",
    }
)

HEADLINES_BY_REASON: Final = MappingProxyType({"pausing": "Pausing…", NO_ENTRY: "Potluck refuses this program"})


def decide(
    *,
    absence: Verdict | None = None,
    failure: Verdict | None = None,
    rest: Verdict | None = None,
    trouble: Verdict | None = None,
    doing: Verdict | None = None,
) -> Verdict:
    """The verdict: the first of these that there is.

    Args:
        absence: No engine can be asked.
        failure: What keeps the engine from going on until a person acts.
        rest: The person's switch and rules: while these forbid to compute, a training process's trouble is not news.
        trouble: What is wrong with the training process, or with the disk that it needs.
        doing: What the engine is at otherwise.
    """
    return absence or failure or rest or trouble or doing or not_connected("stopped")


def contributing(reason: str, **args: str | int) -> Verdict:
    """This computer computes or averages for the collaboration."""
    return Verdict(code=VerdictCode.CONTRIBUTING, reason=reason, args=args)


def resting(reason: str, *, until: float | None = None, **args: str | int) -> Verdict:
    """Nothing is computed, as the person wants it."""
    return Verdict(code=VerdictCode.RESTING, reason=reason, until=until, args=args)


def paused(reason: str = "", *, until: float | None = None, **args: str | int) -> Verdict:
    """One of the person's switches is off."""
    return Verdict(code=VerdictCode.PAUSED, reason=reason, until=until, args=args)


def starting(reason: str, **args: str | int | Sentence) -> Verdict:
    """Nothing is computed yet."""
    return _with_sentences(VerdictCode.STARTING, reason, args)


def waiting(*, live: int, places: int, layer: int) -> Verdict:
    """Nobody hosts an expert of a layer, while some of all the model's places are live."""
    return Verdict(code=VerdictCode.WAITING, reason="experts", args={"live": live, "places": places, "layer": layer})


def changing(*, contributing: bool) -> Verdict:
    """The person has put the switch, and the engine has not confirmed it yet."""
    return Verdict(code=VerdictCode.CHANGING, reason="resuming" if contributing else "pausing")


def no_answer(reason: str = "") -> Verdict:
    """An engine lives and says nothing, or nothing to this program (`NO_ENTRY`)."""
    return Verdict(code=VerdictCode.NO_ANSWER, reason=reason)


def not_connected(reason: str, **args: str | int | Sentence) -> Verdict:
    """No engine runs, or the engine does not reach the others."""
    return _with_sentences(VerdictCode.NOT_CONNECTED, reason, args)


def problem(code: str, message: str | Sentence, hint: str | Sentence = "") -> Verdict:
    """Something is wrong, in the words of what found it."""
    return _with_sentences(VerdictCode.PROBLEM, code, {"message": message, "hint": hint})


def _with_sentences(code: VerdictCode, reason: str, args: Mapping[str, str | int | Sentence]) -> Verdict:
    plain, said = parted(args)
    return Verdict(code=code, reason=reason, args=plain, said=said)


def no_data(code: str, args: Mapping[str, str | int]) -> Verdict:
    """There is nothing left to compute with, and nothing more comes.

    Args:
        code: Why (`core.api.data_state.DataCode`); empty: nothing is wrong, the first of it is still to come.
        args: What its sentence is made of.
    """
    if code in {"", DataCode.NETWORK_RESTS}:
        return starting("data")
    if code in {DataCode.NO_ANSWER, DataCode.NO_MEMBER}:
        return not_connected(f"{DATA}{code}", **args)
    return _with_sentences(
        VerdictCode.PROBLEM, f"{DATA}{code}", {**args, "message": why_stalled(code, args), "hint": ""}
    )


def headline(verdict: Verdict) -> Sentence:
    """The verdict in a word or two."""
    if verdict.code is VerdictCode.NOT_CONNECTED and verdict.reason.startswith(DATA):
        return Sentence("Waiting for text")
    return Sentence(HEADLINES_BY_REASON.get(verdict.reason) or HEADLINES[verdict.code])


def sentence(verdict: Verdict) -> Sentence:
    """What is happening, and why, in words."""
    args = verdict.args
    if verdict.reason.startswith(DATA):
        return why_stalled(verdict.reason.removeprefix(DATA), args)
    if verdict.code is VerdictCode.PROBLEM:
        return recalled(str(args.get("message", "")), verdict.said)
    template = SENTENCES.get((verdict.code, verdict.reason))
    if template is None:
        return _counted(verdict)
    pieces = Sentence.named(later(", {done} of {total} pieces are here") if "total" in args else "", args)
    made: dict[str, object] = {**args, "pieces": pieces, "moment": _moment(args), "whose": _whose(args)}
    made |= {name: recalled(str(args[name]), verdict.said) for name in WHOLE if name in args}
    if "stage" in args:
        made["stage"] = _stage(str(args["stage"]), made)
    return Sentence.named(template, made)


def next_try(verdict: Verdict, now: float) -> Sentence:
    """When the others are looked for again; empty: that is not known.

    Args:
        verdict: As it was decided.
        now: Unix seconds.
    """
    if verdict.code is not VerdictCode.NOT_CONNECTED or verdict.until is None:
        return Sentence("")
    left_s = math.ceil(verdict.until - now)
    return Sentence("Next try in {seconds} s.", left_s) if left_s > 0 else Sentence("Trying now…")


def _counted(verdict: Verdict) -> Sentence:
    """The sentences about samples and company, which depend on numbers."""
    numbers = {name: value for name, value in verdict.args.items() if isinstance(value, int)}
    others, samples, target, epoch = (numbers.get(name, 0) for name in ("others", "samples", "target", "epoch"))
    company = Sentence("together with {others} others", others)
    if others < 2:
        company = Sentence("together with one other" if others else "alone for now")
    if verdict.reason == "averaging":
        meanwhile = Sentence(" while training goes on" if numbers.get("overlaps") else "")
        told = "Averaging {company}{meanwhile}: everyone's work becomes step {epoch} of the model."
        return Sentence(told, company, meanwhile, epoch + 1)
    if samples >= target:
        gathered = "Training {company}: all {target} samples for step {epoch} are gathered."
        return Sentence(gathered, company, amount(target), epoch + 1)
    training = "Training {company}: {samples} of {target} samples for step {epoch}."
    return Sentence(training, company, amount(samples), amount(target), epoch + 1)


def _stage(stage: str, values: Mapping[str, object]) -> Sentence:
    """What is prepared or waited for, how far it is, and what happens without anybody's doing."""
    made = Sentence.named(stage, {"where": "", "why": "", **values})
    if "percent" in values:
        made = Sentence("{stage} ({percent} %)", made, values["percent"])
    if "collaboration" in values:
        goes_on = Sentence("{collaboration} goes on by itself when it does.", values["collaboration"])
        made = in_series((made, goes_on), " ")
    return made


def _whose(args: Args) -> Sentence:
    """Whose computer a link leads to, as far as that is known."""
    return Sentence.named(WHOSE["organiser" in args, "where" in args], args)


def _moment(args: Args) -> Sentence:
    """When a rest ends: "at 20:00", "on Saturday at 07:00"; without a clock time only other hours end it."""
    if "clock" not in args:
        return Sentence("with other hours")
    if "day" not in args:
        return Sentence("at {clock}", args["clock"])
    return Sentence("on {day} at {clock}", Sentence(str(args["day"])), args["clock"])
