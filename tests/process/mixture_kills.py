"""Half of the engines of a mixture of experts are killed at once, and what becomes of training and experts.

    PYTHONPATH=. python -m tests.process.mixture_kills --repeats 20

Engines as processes of their own, half of which train and all of which host 64 experts together; four are killed, of
which two train.  One line of JSON a repeat, and a summary.  Ends with 1 where training stood for more than 5 s, an
expert was not live again within 60 s or with a state older than 60 s, or a place was held twice for more than 30 s.
"""

import argparse
import asyncio
import contextlib
import re
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import msgspec
import psutil

from core.api.reports import ExpertsView
from core.api.snapshot import Snapshot
from core.backbone.charter import Charter, load_charter
from core.base.problems import Problem
from core.cli.engine.experts import experts_of
from core.engine.experts_here import SAVE_S
from core.net.clock import Clock
from tests.process.swarm import Volunteer, alive, collaboration
from tests.process.test_mixture import founded

RECIPE = """
name = "Small digits"
task = "digits"
target_samples = 512
evaluate_every = 1000
[model]
pixels = 16
micro_batch = 16
held_out = 64
[experts]
layers = 4
grid = [4, 4]
live = 16
top = 4
spare = 1
width = 16
factor = 2
owner_share = 0.25
[optimizer]
name = "adamw"
learning_rate = 0.003
warmup_samples = 1000
total_samples = 1000000
"""
EXPERTS = 64
ENGINES = 8
LOST = frozenset((0, 1, 4, 5))
"""The four that came first host 16 experts each, by their share of a layer; two of them are killed, and two that host
none, so that those that are left can have all."""
LEFT = sorted(frozenset(range(ENGINES)) - LOST)
LOOK_S = 0.5
BEGUN = re.compile(r"the expert (\d+): (\d+)-(\d+) begins at version (\d+)")
"""Its layer counts from 1."""
STOOD_MOST_S, LIVE_MOST_S, TWICE_MOST_S, AGE_MOST_S = 5.0, 60.0, 30.0, 60.0


class KillFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One repeat."""

    stood_s: float
    """Longest time in which no sample was added at the trainers that are left, from the kill on."""
    stood_at: str
    """What that trainer was at."""
    live_s: float
    """Time from the kill until all experts live at those that are left."""
    age_s: float
    """Longest time before the kill at which the state was saved with which an expert went on, if it had learned since.

    That is so where somebody has a newer one, or where its next save was not due yet."""
    twice_s: float
    """Longest time in which a place was hosted by two of those that are left."""
    orphans: int
    """Processes of the killed engines that live 30 s later."""
    load: float
    """Load of the computer."""

    @property
    def is_good(self) -> bool:
        """Whether all bounds are kept."""
        kept = self.stood_s <= STOOD_MOST_S and self.live_s <= LIVE_MOST_S and self.twice_s <= TWICE_MOST_S
        return kept and self.age_s <= AGE_MOST_S and not self.orphans


def main(words: Sequence[str] | None = None) -> int:
    """The program."""
    parser = argparse.ArgumentParser(prog="mixture_kills", description="Kill half of the engines of a mixture.")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--patience-s", type=float, default=600.0, help="for engines to come up")
    given = parser.parse_args(words)
    every = []
    for _ in range(given.repeats):
        with tempfile.TemporaryDirectory(prefix="potluck-kills-") as folder:
            every.append(asyncio.run(killed(Path(folder), patience_s=given.patience_s)))
        sys.stdout.write(msgspec.json.encode(every[-1]).decode() + "\n")
        sys.stdout.flush()
    worst = {
        name: max(getattr(one, name) for one in every) for name in ("stood_s", "live_s", "age_s", "twice_s", "orphans")
    }
    good = sum(one.is_good for one in every)
    sys.stdout.write(f"{ENGINES} engines, {EXPERTS} experts: {good} of {len(every)} repeats good; worst {worst}\n")
    return 0 if good == len(every) else 1


async def killed(folder: Path, *, patience_s: float) -> KillFigures:
    """Make a mixture, wait until all of it lives and is saved, and kill half of it."""
    charter: Charter = load_charter(await asyncio.to_thread(founded, folder, RECIPE))
    async with collaboration(charter, folder) as swarm:
        swarm.share = 100  # what is measured is the whole speed
        engines = []
        for number in range(ENGINES):
            trains = number % 2 == 0
            engines.append(swarm.join(f"n{number}", *(() if trains else ("--helper",))))
            async with asyncio.timeout(patience_s):
                await engines[-1].until(lambda news: news.hosting is not None, timeout_s=patience_s)
        lost = [one for number, one in enumerate(engines) if number in LOST]
        left = [one for one in engines if one not in lost]
        async with asyncio.timeout(patience_s):
            while not _is_settled(await _seen(left)):  # which takes seconds itself
                pass
        trainers = left[::2]
        await trainers[0].until(lambda news: news.epoch >= 20, timeout_s=patience_s)
        names = {f"n{number}" for number in LEFT}
        saved = _saves(folder)
        children = [child.pid for one in lost for child in psutil.Process(one.process.pid).children(recursive=True)]
        logs = [folder / f"n{number}.log" for number in LEFT]
        written = [log.read_text().count("\n") for log in logs]
        for one in lost:
            one.process.kill()
        began, killed_at = time.monotonic(), Clock().now()
        watch = [asyncio.create_task(_stood(one, began)) for one in trainers]
        live_s, twice_s = await _until_live(left, names, began)
        await asyncio.sleep(max(0.0, 40.0 - (time.monotonic() - began)))
        stood_s, stood_at = max([await _ended(one) for one in watch])
        said = [line for log, at in zip(logs, written, strict=True) for line in log.read_text().splitlines()[at:]]
        begun = [tuple(map(int, found.groups())) for found in map(BEGUN.search, said) if found is not None]
        if not begun:
            raise RuntimeError("No log says that an expert began, though hosts were killed.")
        ages = [_age_s(saved.get((layer - 1, *at), []), begins, killed_at) for layer, *at, begins in begun]
        orphans = sum(alive(pid) for pid in children)
        for one in lost:
            one.process.wait()
    figures = {
        "stood_s": stood_s,
        "live_s": live_s,
        "age_s": max(ages, default=0.0),
        "twice_s": twice_s,
    }
    rounded = {name: round(value, 1) for name, value in figures.items()}
    return KillFigures(**rounded, stood_at=stood_at, orphans=orphans, load=round(psutil.getloadavg()[0], 1))


def _age_s(saves: Sequence[tuple[int, float]], begins: int, killed_at: float) -> float:
    """How old the state of that version was when half of the engines were killed; 0: nothing was learned after it."""
    at = min((at for version, at in saves if version == begins), default=0.0 if saves else killed_at)
    has_learned = any(version > begins for version, _ in saves) or killed_at - at < SAVE_S
    return killed_at - at if has_learned else 0.0


def _saves(folder: Path) -> dict[tuple[int, ...], list[tuple[int, float]]]:
    """By layer and place the versions of an expert in anybody's files, and when each was saved."""
    found = defaultdict(list)
    for path in folder.glob("**/experts/expert-*-v*"):
        _, *expert, version, _ = path.name.split("-")
        found[tuple(map(int, expert))].append((int(version[1:]), path.stat().st_mtime))
    return found


def _is_settled(seen: ExpertsView | None) -> bool:
    """Whether all experts live somewhere, once each, and have copies at two computers."""
    return seen is not None and sum(len(one.hosts) == 1 and one.copies >= 2 for one in seen.known) == EXPERTS


async def _seen(engines: Sequence[Volunteer]) -> ExpertsView | None:
    """What one of them knows; None: it does not answer."""
    for one in engines:
        with contextlib.suppress(Problem, OSError):
            return await experts_of(one.home)
    return None


async def _until_live(left: Sequence[Volunteer], names: set[str], began: float) -> tuple[float, float]:
    """When all experts live at those that are left; and how long a place was held twice at most."""
    twice: defaultdict[tuple[int, tuple[int, ...]], float] = defaultdict(float)
    last, live_s = time.monotonic(), 0.0
    while time.monotonic() < began + 3 * LIVE_MOST_S:
        seen = await _seen(left)
        now = time.monotonic()
        if seen is not None:
            hosts = {(one.layer, one.place): names & set(one.hosts) for one in seen.known}
            for place, there in hosts.items():
                twice[place] = twice[place] + now - last if len(there) > 1 else 0.0
            if not live_s and sum(bool(there) for there in hosts.values()) == EXPERTS:
                live_s = now - began
            if live_s and now > began + live_s + TWICE_MOST_S:
                break
        last = now
        await asyncio.sleep(LOOK_S)
    return live_s or 3 * LIVE_MOST_S, max(twice.values(), default=0.0)


async def _stood(trainer: Volunteer, began: float) -> tuple[float, str]:
    """Longest time in which a trainer added no sample and took no step, and what it was at, until it is cancelled."""
    longest, last_at, last = (0.0, ""), began, (-1, -1)
    try:
        while True:
            with contextlib.suppress(Problem, OSError):
                news: Snapshot = await trainer.snapshot()
                given = (news.epoch, news.me.samples_pending)
                if given != last:
                    last, last_at = given, time.monotonic()
                longest = max(longest, (time.monotonic() - last_at, f"{news.verdict.code} {news.verdict.reason}"))
            await asyncio.sleep(LOOK_S)
    except asyncio.CancelledError:
        return longest


async def _ended(task: "asyncio.Task[tuple[float, str]]") -> tuple[float, str]:
    task.cancel()
    return await task


if __name__ == "__main__":
    sys.exit(main())
