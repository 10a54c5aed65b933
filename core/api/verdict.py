"""The verdict: what Potluck is doing, as a code with arguments, decided here and shown by everything that tells people.

The engine puts it into each snapshot; where none answers, window and command line decide by the same function.
"""

import math
from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

import msgspec

from core.api.data_state import DataCode, why_stalled
from core.api.numbers import amount


class VerdictCode(StrEnum):
    """What a person has to know first."""

    CONTRIBUTING = "contributing"
    RESTING = "resting"
    """The person's own rules, or the last epoch that was asked for, are the reason why nothing is computed."""
    PAUSED = "paused"
    STARTING = "starting"
    """Nothing is computed yet, and nothing is wrong."""
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


NO_ENTRY: Final = "no_entry"
"""Reason of `NO_ANSWER`: an engine lives, and refuses who asks."""
SENTENCES: Final[Mapping[tuple[VerdictCode, str], str]] = MappingProxyType(
    {
        (VerdictCode.CONTRIBUTING, "helping"): (
            "Helping: this computer averages what the others have trained, and trains nothing itself."
        ),
        (VerdictCode.CONTRIBUTING, "assisting"): "Helps to average: this line is too slow for its own gradients.",
        (VerdictCode.RESTING, "battery"): (
            "This computer runs on its battery. Potluck continues when it is plugged in."
        ),
        (VerdictCode.RESTING, "battery_low"): (
            "The battery holds less than {percent} %. Potluck continues when it is plugged in."
        ),
        (VerdictCode.RESTING, "in_use"): (
            "This computer is in use. Potluck continues when nobody has touched it for {minutes} min."
        ),
        (VerdictCode.RESTING, "schedule"): (
            "This is outside the hours that you chose. Potluck continues {moment} at the earliest."
        ),
        (VerdictCode.RESTING, "program"): "Potluck rests while {program} runs, as you chose.",
        (VerdictCode.RESTING, "full_screen"): "Potluck rests while a program fills the screen.",
        (VerdictCode.RESTING, "busy"): (
            "Other programs take more than {percent} % of the processor. Potluck continues when they need less."
        ),
        (VerdictCode.RESTING, "heat"): (
            "The processor was hotter than {celsius} °C. Potluck continues when it has cooled down."
        ),
        (VerdictCode.RESTING, "watts"): "The processor took more than {watts} W. Potluck continues in a minute or two.",
        (VerdictCode.RESTING, "gpu_in_use"): (
            "The graphics card rests while this computer is in use. "
            "Potluck continues when nobody has touched it for {minutes} min."
        ),
        (VerdictCode.RESTING, "gpu_busy"): (
            "Other programs take more than {percent} % of the graphics card. Potluck continues when they need less."
        ),
        (VerdictCode.RESTING, "gpu_heat"): (
            "The graphics card was hotter than {celsius} °C. Potluck continues when it has cooled down."
        ),
        (VerdictCode.RESTING, "gpu_watts"): (
            "The graphics card took more than {watts} W. Potluck continues in a minute or two."
        ),
        (VerdictCode.RESTING, "metered"): (
            "This connection costs money by the megabyte. Potluck continues with another one."
        ),
        (VerdictCode.RESTING, "month"): (
            "The month's limit for the network is used up. Potluck continues with the next month."
        ),
        (VerdictCode.RESTING, "left"): "You have left {collaboration}. What you gave stays in its model.",
        (VerdictCode.RESTING, "finished"): "Finished: epoch {epoch} was the last that was asked for.",
        (VerdictCode.RESTING, "ended"): (
            "Finished: with epoch {epoch} the collaboration has reached the end of its schedule. Nothing is computed."
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

HEADLINES: Final[Mapping[VerdictCode, str]] = MappingProxyType(
    {
        VerdictCode.CONTRIBUTING: "Contributing",
        VerdictCode.RESTING: "Resting",
        VerdictCode.PAUSED: "Paused",
        VerdictCode.STARTING: "Starting",
        VerdictCode.CHANGING: "Resuming…",
        VerdictCode.NOT_CONNECTED: "Not connected",
        VerdictCode.NO_ANSWER: "Potluck does not answer",
        VerdictCode.PROBLEM: "Problem",
    }
)

HEADLINES_BY_REASON: Final = MappingProxyType({"pausing": "Pausing…", NO_ENTRY: "Potluck refuses this program"})
"""Headlines of single reasons."""


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


def starting(reason: str, **args: str | int) -> Verdict:
    """Nothing is computed yet."""
    return Verdict(code=VerdictCode.STARTING, reason=reason, args=args)


def changing(*, contributing: bool) -> Verdict:
    """The person has put the switch, and the engine has not confirmed it yet."""
    return Verdict(code=VerdictCode.CHANGING, reason="resuming" if contributing else "pausing")


def no_answer(reason: str = "") -> Verdict:
    """An engine lives and says nothing, or nothing to this program (`NO_ENTRY`)."""
    return Verdict(code=VerdictCode.NO_ANSWER, reason=reason)


def not_connected(reason: str, **args: str | int) -> Verdict:
    """No engine runs, or the engine does not reach the others."""
    return Verdict(code=VerdictCode.NOT_CONNECTED, reason=reason, args=args)


def problem(code: str, message: str, hint: str = "") -> Verdict:
    """Something is wrong, in the words of what found it."""
    return Verdict(code=VerdictCode.PROBLEM, reason=code, args={"message": message, "hint": hint})


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
    return Verdict(
        code=VerdictCode.PROBLEM, reason=f"{DATA}{code}", args={**args, "message": why_stalled(code, args), "hint": ""}
    )


def headline(verdict: Verdict, translate: Callable[[str], str] = str) -> str:
    """The verdict in a word or two."""
    if verdict.code is VerdictCode.NOT_CONNECTED and verdict.reason.startswith(DATA):
        return translate("Waiting for text")
    return translate(HEADLINES_BY_REASON.get(verdict.reason) or HEADLINES[verdict.code])


def sentence(verdict: Verdict, translate: Callable[[str], str] = str) -> str:
    """The verdict as a plain sentence: what is happening, and why.

    Args:
        verdict: As it was decided.
        translate: Gives a sentence with its fields in braces in the person's language.
    """
    if verdict.reason.startswith(DATA):
        return why_stalled(verdict.reason.removeprefix(DATA), verdict.args, translate)
    if verdict.code is VerdictCode.PROBLEM:
        return translate(str(verdict.args.get("message", "")))
    template = SENTENCES.get((verdict.code, verdict.reason))
    if template is None:
        return _counted(verdict, translate)
    made: dict[str, str | int] = {"pieces": _pieces(verdict, translate), "moment": _moment(verdict, translate)}
    made["whose"] = _whose(verdict, translate)
    made |= {name: translate(str(verdict.args[name])) for name in WHOLE if name in verdict.args}
    if "stage" in made:
        stage = _stage(str(made["stage"]), {**verdict.args, **made})
        made["stage"] = f"{stage} {_goes_on(verdict, translate)}".rstrip()
    return translate(template).format_map({**verdict.args, **made})


def next_try(verdict: Verdict, now: float, translate: Callable[[str], str] = str) -> str:
    """When the others are looked for again; empty: that is not known.

    Args:
        verdict: As it was decided.
        now: Unix seconds.
        translate: As for `sentence`.
    """
    if verdict.code is not VerdictCode.NOT_CONNECTED or verdict.until is None:
        return ""
    left_s = math.ceil(verdict.until - now)
    return translate("Next try in {seconds} s.").format(seconds=left_s) if left_s > 0 else translate("Trying now…")


def _counted(verdict: Verdict, translate: Callable[[str], str]) -> str:
    """The sentences about samples and company, which depend on numbers."""
    numbers = {name: value for name, value in verdict.args.items() if isinstance(value, int)}
    others, samples, target, epoch = (numbers.get(name, 0) for name in ("others", "samples", "target", "epoch"))
    alone, one = translate("alone for now"), translate("together with one other")
    company = {0: alone, 1: one}.get(others, translate("together with {others} others").format(others=others))
    words = {"company": company, "epoch": epoch + 1, "target": amount(target), "samples": amount(samples)}
    if verdict.reason == "averaging":
        meanwhile = translate(" while training goes on") if numbers.get("overlaps") else ""
        told = translate("Averaging {company}{meanwhile}: everyone's work becomes epoch {epoch} of the model.")
        return told.format(meanwhile=meanwhile, **words)
    if samples >= target:
        return translate("Training {company}: all {target} samples for epoch {epoch} are gathered.").format(**words)
    return translate("Training {company}: {samples} of {target} samples for epoch {epoch}.").format(**words)


def _pieces(verdict: Verdict, translate: Callable[[str], str]) -> str:
    """How far a download is; empty while its size is not known."""
    return translate(", {done} of {total} pieces are here").format_map(verdict.args) if "total" in verdict.args else ""


def _stage(sentence: str, values: Mapping[str, str | int]) -> str:
    """What is prepared or waited for, and how far it is; other braces in it stay as they are."""
    for name in ("whose", "where", "why"):
        sentence = sentence.replace(f"{{{name}}}", str(values.get(name, "")))
    return f"{sentence} ({values['percent']} %)" if "percent" in values else sentence


def _whose(verdict: Verdict, translate: Callable[[str], str]) -> str:
    """Whose computer a link leads to, as far as that is known."""
    words = {
        (True, True): translate("{organiser}'s computer ({where})"),
        (True, False): translate("{organiser}'s computer"),
        (False, True): translate("The computer at {where}"),
        (False, False): translate("The organiser's computer"),
    }
    return words["organiser" in verdict.args, "where" in verdict.args].format_map(verdict.args)


def _goes_on(verdict: Verdict, translate: Callable[[str], str]) -> str:
    """What happens without anybody's doing."""
    known = "collaboration" in verdict.args
    return translate("{collaboration} goes on by itself when it does.").format_map(verdict.args) if known else ""


def _moment(verdict: Verdict, translate: Callable[[str], str]) -> str:
    """When a rest ends: "at 20:00", "on Saturday at 07:00"; without a clock time only other hours end it."""
    if "clock" not in verdict.args:
        return translate("with other hours")
    if "day" not in verdict.args:
        return translate("at {clock}").format_map(verdict.args)
    return translate("on {day} at {clock}").format(day=translate(str(verdict.args["day"])), clock=verdict.args["clock"])
