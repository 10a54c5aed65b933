"""Faults one after the other on a small collaboration, each followed by what has to hold."""

import time
from collections.abc import Collection
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, Final

from core.api.snapshot import Activity
from tests.faults import checks
from tests.faults.drawing import RULES, Fault, Kind, draw
from tests.faults.inject import CannotBeMade, inject
from tests.faults.processes import Growth, left_over
from tests.faults.scene import Computer, Scene, scene
from tests.faults.trial import Trial

START_S: Final = 60.0
"""Everybody contributes so long after the first start."""
END_S: Final = 90.0
"""All stand at the last epoch so long after the last start."""
BOARDS_S: Final = 60.0
"""All leaderboards are equal so long after everybody contributes again."""
MORE_EPOCHS: Final = 2
"""Number of epochs that are trained in the end, after everything was started once more."""
LOOK_S: Final = 0.1


def run(trial: Trial, *, kinds: Collection[Kind], number: int | None, seconds: float) -> bool:
    """Run faults for a time, then look whether all have one history.

    Args:
        trial: Its seed draws the faults.
        kinds: Only faults of these kinds are made, of those drawn.
        number: Number of faults; None: as many as there is time for.
        seconds: After so long no further fault begins.

    Returns:
        Whether everything held.
    """
    began = time.monotonic()
    slowest: dict[str, float] = {}
    with scene(trial.folder) as made:
        growth = Growth(trial)
        if _back(made, since=began, within_s=START_S * trial.patience) is None:
            trial.wrong.append("not everybody contributes after the start")
        faults = 0
        drawn = (fault for fault in draw(trial.seed) if fault.kind in kinds)
        for fault in takewhile(lambda _: time.monotonic() < began + seconds, islice(drawn, number)):
            told = _one(made, fault, trial.patience)
            trial.say("fault", **told)
            faults += "skipped" not in told
            trial.wrong += [f"fault {fault.number}: {problem}" for problem in told.get("problems", [])]
            if told.get("back_s") is not None:
                slowest[fault.kind] = max(slowest.get(fault.kind, 0.0), told["back_s"])
            growth.look()
        trial.wrong += growth.problems()
        trial.wrong += _last_epochs(made, END_S * trial.patience)
        trial.wrong += checks.steps_back_are_told(made.volunteers)
    trial.wrong += in_the_end(trial.folder)
    seconds = round(time.monotonic() - began, 1)
    return trial.verdict(faults=faults, seconds=seconds, slowest_back_s=slowest, grown=growth.figures())


def in_the_end(folder: Path) -> list[str]:
    """What has to hold when nothing of a run should be running any more."""
    wrong = [f"process {process.pid} is left" for process in left_over(folder)]
    return wrong + checks.no_traceback(folder)


def _one(made: Scene, fault: Fault, patience: float) -> dict[str, Any]:
    """Make one fault and wait until everybody contributes again; what is told of it."""
    time.sleep(fault.after_s)
    told = {"number": fault.number, "kind": fault.kind, "victim": fault.victim, "lasts_s": fault.lasts_s}
    words = checks.Words(made.folder, made.volunteers)
    words.mark()
    acknowledged = {each.name: each.observer.acknowledged for each in made.volunteers}
    try:
        inject(made, fault)
    except CannotBeMade as reason:
        return told | {"skipped": str(reason)}
    problems = checks.kept_on_disk(made.volunteers, acknowledged)
    limit_s = RULES[fault.kind].back_s * patience
    back_s = _back(made, since=time.monotonic(), within_s=2 * limit_s)
    if back_s is None or back_s > limit_s:
        problems.append(f"not everybody contributes again within {limit_s:.0f} s")
    problems += _boards(made, BOARDS_S * patience)
    problems += checks.explained(fault, words.new())
    problems += checks.no_traceback(made.folder)
    problems += [f"{each.name} has ended" for each in made.volunteers if each.volunteer.process.poll() is not None]
    epoch = max(each.observer.acknowledged for each in made.volunteers)
    return told | {"back_s": back_s, "epoch": epoch, "problems": problems}


def _back(made: Scene, *, since: float, within_s: float) -> float | None:
    """Wait until everybody has contributed and all have a state in common; seconds it took, None: longer than that."""
    while time.monotonic() < since + within_s:
        if all(each.observer.contributes(since) for each in made.volunteers) and _in_common(made.volunteers):
            return round(time.monotonic() - since, 1)
        time.sleep(LOOK_S)
    return None


def _in_common(computers: list[Computer]) -> set[str]:
    return set.intersection(*(set(each.newest) for each in computers))


def _boards(made: Scene, within_s: float) -> list[str]:
    """Wait until all leaderboards are equal at one epoch."""
    deadline = time.monotonic() + within_s
    while not checks.boards_agree(made.volunteers):
        if time.monotonic() >= deadline:
            return ["the leaderboards differ"]
        time.sleep(LOOK_S)
    return []


def _last_epochs(made: Scene, within_s: float) -> list[str]:
    """Start everything once more until a last epoch that all reach, and compare what they hold then."""
    made.end_volunteers()
    last = max(each.epoch_on_disk for each in made.volunteers) + MORE_EPOCHS
    for each in made.volunteers:
        made.start(each.name, "--last-epoch", str(last))
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline and not all(_finished(each, last) for each in made.volunteers):
        time.sleep(LOOK_S)
    wrong = checks.one_history(made.volunteers, last)
    wrong += _boards(made, 0.0)
    wrong += checks.no_temporary_file(made.folder)
    made.end_volunteers()
    return wrong


def _finished(computer: Computer, epoch: int) -> bool:
    news = computer.observer.last
    return news is not None and news.activity is Activity.FINISHED and news.epoch >= epoch
