"""Two workers in a collaboration beside the same two alone: this program's figures, and a rival's.

Two workers that no engine drives compute, then a collaboration of two, then the two again, so that a computer that
others use as well slows all down alike.  They stand still in between.
"""

import statistics
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from core.backbone.charter import Charter
from core.base.problems import Problem
from tests.bench.charters import changed
from tests.bench.collaboration import StepSpan, running_collaboration
from tests.bench.script import figures_of
from tests.bench.training.alone import workers_alone

WORKERS: Final = 2
CALIBRATION_S: Final = 6.0
HIVEMIND: Final = "hivemind"
SCRIPT: Final = "bench_optimizer.py"
SCRIPT_LIMIT_S: Final = 900.0
COUNTED: Final = 0.7
"""Share of its seconds that the script counts: the last ones."""
MATCHMAKING_S: Final = 0.5
"""How long hivemind's peers look for each other; with the script's own 3 s no step takes less than that."""
PEER_SAMPLES_PER_S: Final = 640.0
"""Speed of one of the script's peers, which sleep for as long as a batch would take."""


@dataclass(frozen=True, slots=True)
class StepGoal:
    """One way of running a collaboration."""

    seconds: float
    """How long a step shall take."""
    delayed: bool
    """Whether computing goes on while contributions are averaged."""


GOALS: Final = tuple(StepGoal(seconds, delayed) for seconds in (2.0, 0.5) for delayed in (False, True))


class Together(msgspec.Struct, frozen=True, kw_only=True):
    """Two in a collaboration, by whatever program: the figures that can be compared."""

    goal_s: float
    """How long a step was meant to take."""
    delayed: bool
    """Whether computing goes on while contributions are averaged."""
    step_s: float
    samples_per_s: float
    """All that were learned from."""
    alone: float
    """Samples a second of the same two without a collaboration."""
    useful: float
    """Samples that steps are meant to have, a second, as a share of `alone`: what is more than a target does not
    count."""


class InCollaboration(Together, frozen=True, kw_only=True):
    """Two workers of this program, in a collaboration of their own."""

    target_samples: int
    steps: int
    alone_before: float
    """Samples a second of two workers alone, before and after; `alone` is their mean."""
    alone_after: float
    ratio: float
    """`samples_per_s` to `alone`."""
    overshoot: float
    """Share of the target by which more than it was averaged."""


class Rival(msgspec.Struct, frozen=True, kw_only=True):
    """Another program that was measured in the same run."""

    name: str
    together: list[Together]
    missing: str
    """Why something was not measured; empty: all was."""


@dataclass(frozen=True, slots=True)
class HivemindScript:
    """Where hivemind is, and the script that measures hivemind.Optimizer."""

    python: Path
    folder: Path

    async def measure(self, goal: StepGoal, *, seconds: float) -> Together:
        """Two of its peers, which sleep in the place of computing, beside the same two with a plain optimiser.

        Args:
            goal: How long steps are, and whether parameters are updated with a delay.
            seconds: How long steps are counted.

        Raises:
            Problem: it cannot be measured, and why.
        """
        target = round(WORKERS * PEER_SAMPLES_PER_S * goal.seconds)
        order = ["--peers", str(WORKERS), "--target", str(target), "--matchmaking", str(MATCHMAKING_S)]
        order += ["--no-join", "--no-kill", *(["--delayed"] if goal.delayed else [])]
        order += ["--seconds", str(seconds / COUNTED)]
        with tempfile.TemporaryDirectory(prefix="potluck-bench-") as logs:
            found = await figures_of(
                self.python, self.folder / SCRIPT, [*order, "--logdir", logs], limit_s=SCRIPT_LIMIT_S
            )
        return hivemind_figures(found, goal)


def hivemind_figures(found: Mapping[str, Any], goal: StepGoal) -> Together:
    """What the script has printed, as figures that can be compared.

    Args:
        found: The script's object.
        goal: That was asked for.

    Raises:
        Problem: it took no step.
    """
    match found:
        case {
            "plain": {"samples_per_s": float() | int() as alone},
            "hivemind": {
                "samples_per_s": float() | int() as samples_per_s,
                "useful_samples_per_s": float() | int() as useful,
                "epoch_s": {"med": float() | int() as step_s},
            },
        } if alone > 0:
            return Together(
                goal_s=goal.seconds,
                delayed=goal.delayed,
                step_s=step_s,
                samples_per_s=samples_per_s,
                alone=alone,
                useful=round(useful / alone, 3),
            )
    raise Problem("hivemind took no steps.", hint="Give it more time: --seconds.")


async def measure_together(
    base: Charter, folder: Path, *, seconds: float, hivemind: HivemindScript | None
) -> tuple[list[InCollaboration], list[Rival]]:
    """Each length of a step, with and without delayed updates: this program, and then its rival.

    Args:
        base: Of the recipe.
        folder: For their files.
        seconds: Of each collaboration.
        hivemind: The rival; None: there is none.

    Raises:
        Problem: a process of this program ended or hangs.  What happens to a rival is only told.
    """
    own: list[InCollaboration] = []
    theirs: list[Together] = []
    missing = ""
    async with workers_alone(base, folder, WORKERS) as alone:
        await alone.samples_per_s(CALIBRATION_S)
        before = await alone.samples_per_s(CALIBRATION_S)
        for number, goal in enumerate(GOALS):
            where, target = folder / f"collaboration-{number}", max(1, round(before * goal.seconds))
            averaging = msgspec.structs.replace(base.manifest.averaging, delayed=goal.delayed or msgspec.UNSET)
            charter = changed(base, where / "charter", averaging=averaging, target=target)
            async with running_collaboration(charter, where, WORKERS) as running:
                span = await running.stretch(seconds)
            after = await alone.samples_per_s(CALIBRATION_S)
            own.append(in_collaboration(goal, target, span, before, after))
            before = after
            if hivemind is not None and not missing:
                try:
                    theirs.append(await hivemind.measure(goal, seconds=seconds))
                except Problem as problem:
                    missing = str(problem)
    return own, [] if hivemind is None else [Rival(name=HIVEMIND, together=theirs, missing=missing)]


def in_collaboration(goal: StepGoal, target: int, span: StepSpan, before: float, after: float) -> InCollaboration:
    """Figures of one way.

    Args:
        goal: The way.
        target: Samples of a step.
        span: What was seen of it.
        before: Samples a second of the workers alone, before.
        after: The same, after.
    """
    samples_per_s, alone = span.samples / span.seconds, statistics.mean((before, after))
    return InCollaboration(
        goal_s=goal.seconds,
        delayed=goal.delayed,
        step_s=round(span.seconds / span.steps, 3),
        samples_per_s=round(samples_per_s, 1),
        alone=round(alone, 1),
        useful=round(span.steps * target / span.seconds / alone, 3),
        target_samples=target,
        steps=span.steps,
        alone_before=round(before, 1),
        alone_after=round(after, 1),
        ratio=round(samples_per_s / alone, 3),
        overshoot=round(span.samples / (span.steps * target) - 1, 3),
    )
