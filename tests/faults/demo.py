"""Kills in a running demo: of its children one by one, and of the whole tree of processes."""

import contextlib
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import median
from typing import Final

import psutil

from core.engine.embedded import EmbeddedOptions, newest_epoch, volunteer_homes
from core.storage.paths import Home
from tests.faults import checks
from tests.faults.histories import Histories
from tests.faults.observer import Observer
from tests.faults.processes import MARK, Growth, ProcessRole, kill_all, processes_of, role_of
from tests.faults.suite import in_the_end
from tests.faults.trial import Trial
from tests.process.swarm import end, start
from tests.small_task import text_folder

PEERS: Final = 3
START_S: Final = 90.0
"""Everybody contributes so long after the first start, which prepares the text."""
BACK_MEDIAN_S: Final = 8.0
BACK_S: Final = 15.0
"""Everybody contributes again so long after each kill."""
WATCHED_S: Final = 60.0
"""How long is waited to tell how late those are that are late."""
LOST_SHARE: Final = 0.02
"""Upper bound on the share of all samples that are in steps of no final history."""
PAUSE_S: Final = (2.0, 8.0)
"""Bounds on the time from when everybody contributes to the next kill."""
TREE_LIVES_S: Final = (0.3, 12.0)
"""Bounds on how long after its start, or after everybody contributes, the whole tree is killed."""
LOOK_S: Final = 0.05
VICTIMS: Final = (ProcessRole.BACKBONE, ProcessRole.ENGINE, ProcessRole.WORKER)
"""What is killed, unless one role is named; the demo's own engine is none of these engines."""


@dataclass
class Demo:
    """A demo in the terminal, with an observer for each volunteer."""

    process: "subprocess.Popen[bytes]"
    observers: list[Observer]
    histories: Histories

    def watch(self, seconds: float) -> None:
        """Look at the checkpoints for a while."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.histories.look()
            time.sleep(LOOK_S)

    def back_s(self, since: float, *, within_s: float) -> float | None:
        """Wait until all have contributed since a time; seconds it took, None: longer than that."""
        while time.monotonic() < since + within_s:
            if all(observer.contributes(since) for observer in self.observers):
                return round(time.monotonic() - since, 1)
            self.histories.look()
            time.sleep(LOOK_S)
        return None


class Stage:
    """Where demos run, one after the other on the same home."""

    def __init__(self, folder: Path, *, peers: int = PEERS) -> None:
        self.folder, self._peers = folder, peers
        self._text = text_folder(folder / "text")
        self._home = Home(folder / "home")
        self.homes = volunteer_homes(self._home, EmbeddedOptions(peers=peers, text=self._text))

    @contextlib.contextmanager
    def demo(self) -> Iterator[Demo]:
        """A demo, running until the context ends."""
        words = ["demo", "--headless", "--json", "--home", str(self._home.directory), "--text", str(self._text)]
        process = start([*words, "--peers", str(self._peers)], self.folder / "demo.log", more={MARK: str(self.folder)})
        observers = [Observer(home, volunteers=len(self.homes)) for home in self.homes]
        try:
            yield Demo(process, observers, Histories(self.homes))
        finally:
            process.terminate()
            end(process)
            for observer in observers:
                observer.close()

    def epochs(self) -> list[int]:
        """The newest epoch that each volunteer has on disk."""
        states = [list(home.directory.glob("state/*/states")) for home in self.homes]
        return [max((newest_epoch(path) for path in found), default=0) for found in states]


def kills(trial: Trial, *, number: int, peers: int, only: ProcessRole | None) -> bool:
    """Kill children of a running demo, one a few seconds after everybody contributes: backbone, companions, workers.

    Args:
        trial: Its seed draws moments and victims.
        number: Number of kills.
        peers: Number of volunteers.
        only: One child of this role is killed each time; None: any child.

    Returns:
        Whether everybody contributed again soon after each kill, nobody went back to an earlier epoch, and hardly any
        sample is in a step that did not lead to the last state.
    """
    random = Random(trial.seed)
    stage = Stage(trial.folder, peers=peers)
    backs: list[float] = []
    with stage.demo() as demo:
        if demo.back_s(time.monotonic(), within_s=START_S * trial.patience) is None:
            trial.wrong.append("not everybody contributes after the start")
        growth = Growth(trial)
        growth.look()
        first = max(observer.acknowledged for observer in demo.observers)
        began = time.monotonic()
        for place in range(1, number + 1):
            demo.watch(random.uniform(*PAUSE_S))
            role = _kill(random, _children(demo.process, trial.folder, only))
            back_s = demo.back_s(time.monotonic(), within_s=WATCHED_S * trial.patience)
            epoch = max(observer.acknowledged for observer in demo.observers)
            trial.say("kill", number=place, process=role, back_s=back_s, epoch=epoch)
            backs.append(WATCHED_S if back_s is None else back_s)
        step_s = (time.monotonic() - began) / max(1, epoch - first)
        trial.wrong += ["the demo has ended"] * (demo.process.poll() is not None)
        growth.look()
        trial.wrong += growth.problems()
        moves_back = [move for observer in demo.observers for move in observer.steps_back]
    middle_s, worst_s = median(backs), max(backs)
    if middle_s > BACK_MEDIAN_S * trial.patience or worst_s > BACK_S * trial.patience:
        trial.wrong.append(f"everybody contributes again after {middle_s} s in the median, {worst_s} s at worst")
    if (lost := demo.histories.lost_share()) > LOST_SHARE:
        trial.wrong.append(f"{lost:.1%} of the samples are in no final history")
    trial.wrong += [f"a volunteer went back from epoch {before} to {after}" for before, after in moves_back]
    trial.wrong += in_the_end(trial.folder)
    return trial.verdict(
        kills=number,
        back_median_s=middle_s,
        back_worst_s=worst_s,
        lost_share=lost,
        moves_back=moves_back,
        epoch=epoch,
        step_s=round(step_s, 2),
        grown=growth.figures(),
    )


def trees(trial: Trial, *, number: int) -> bool:
    """Kill all processes of a demo at drawn moments of its life, and start it again each time.

    Args:
        trial: Its seed draws the moments.
        number: Number of times.

    Returns:
        Whether no acknowledged epoch was lost, and no process was left.
    """
    random = Random(trial.seed)
    stage = Stage(trial.folder)
    for place in range(1, number + 1):
        trains, lives_s = random.choice((False, True)), random.uniform(*TREE_LIVES_S)
        with stage.demo() as demo:
            if trains:
                demo.back_s(time.monotonic(), within_s=START_S * trial.patience)
            time.sleep(lives_s)
            acknowledged = [observer.acknowledged for observer in demo.observers]
            problems = [f"process {process.pid} is left" for process in kill_all(trial.folder)]
        kept = stage.epochs()
        if any(there < said for there, said in zip(kept, acknowledged, strict=True)):
            problems.append(f"of the epochs {acknowledged} only {kept} are on disk")
        trial.say("tree", number=place, trained=trains, lived_s=round(lives_s, 1), epochs=kept, problems=problems)
        trial.wrong += [f"tree {place}: {problem}" for problem in problems]
    with stage.demo() as demo:
        back_s = demo.back_s(time.monotonic(), within_s=START_S * trial.patience)
        trial.wrong += ["not everybody contributes after the last start"] * (back_s is None)
        trial.wrong += checks.no_temporary_file(trial.folder)
    trial.wrong += in_the_end(trial.folder)
    return trial.verdict(trees=number, back_s=back_s, epochs=stage.epochs())


def _kill(random: Random, children: list[psutil.Process]) -> ProcessRole | None:
    """Kill one of the children; None: none of them runs just then."""
    if not children:
        return None
    victim = random.choice(children)
    role = role_of(victim)
    victim.kill()
    return role


def _children(demo: "subprocess.Popen[bytes]", folder: Path, only: ProcessRole | None) -> list[psutil.Process]:
    """What may be killed: all but the demo's own process and its engine, which a person has to start again."""
    engine = {child.pid for child in psutil.Process(demo.pid).children()}
    found = [process for process in processes_of(folder) if process.pid not in engine | {demo.pid}]
    return [process for process in found if role_of(process) in ((only,) if only else VICTIMS)]
