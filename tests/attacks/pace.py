"""How fast rounds follow each other among real engines, without and with another member that is silent in them.

    python -m tests.attacks.pace mute|nomeans|honest|sleep [--windows 4] [--seconds 40] [--new-key-each 12]

Windows without it and with it take turns, so that what else runs on the machine slows both alike.  With `sleep` an
honest member's processes are stopped and continued: for each time it is said after how many rounds it was back.
"""

import argparse
import asyncio
import itertools
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import psutil

from core.api.snapshot import Snapshot
from core.control.client import ControlClient
from core.storage.paths import Home
from core.storage.settings import Settings, save_settings
from tests.process.swarm import CORE, Collaboration, Volunteer, collaboration, found

SHARE: Final = 10
"""Percentage of the time in which each computes: rounds shall not wait for the processor."""
TARGET: Final = 2048
"""Samples of a batch, which three such members compute in two to three seconds."""
FIRST_S: Final = 15.0
"""From the coming of a silent member to the window in which it counts: its first round has passed."""

SLEEPER: Final = "eve"
NUMBERS: Final = itertools.count()
"""Each key has a name."""


def stop(volunteer: Volunteer, how: signal.Signals) -> None:
    """Freeze or thaw a volunteer's processes."""
    process = psutil.Process(volunteer.process.pid)
    for one in [process, *process.children(recursive=True)]:
        one.send_signal(how)


def join(swarm: Collaboration, name: str, program: Sequence[str] = CORE) -> Volunteer:
    """A volunteer that computes in a part of the time."""
    home = Home(swarm.folder / name)
    home.create()
    save_settings(home.settings_file, Settings(share=SHARE, in_use_share=SHARE))
    return swarm.join(name, program=program)


def leave(swarm: Collaboration, volunteer: Volunteer) -> None:
    """It goes without a word."""
    volunteer.kill()
    swarm.volunteers.remove(volunteer)


async def watch(watcher: Volunteer, seconds: float) -> list[tuple[float, int]]:
    """When each epoch was reached, as long as it is watched: seconds from the start, and the epoch."""
    seen: list[tuple[float, int]] = []
    began = time.monotonic()
    async with ControlClient.connect(watcher.home) as client:
        async for news in client.notifications():
            at = time.monotonic() - began
            if at >= seconds:
                break
            if isinstance(news, Snapshot) and (not seen or news.epoch > seen[-1][1]):
                seen.append((at, news.epoch))
    return seen


async def keys(swarm: Collaboration, program: Sequence[str], each_s: float) -> None:
    """A silent member with a new key each so many seconds."""
    while True:
        member = join(swarm, f"mallory{next(NUMBERS)}", program)
        try:
            await asyncio.sleep(each_s)
        finally:
            leave(swarm, member)


async def attacks(args: argparse.Namespace, folder: Path) -> None:
    """Windows without and with the attack, in turn."""
    program = CORE if args.what == "honest" else (sys.executable, "-m", "tests.attacks.silent", args.what)
    rounds, seconds = {False: 0, True: 0}, {False: 0.0, True: 0.0}
    async with collaboration(found(folder, target_samples=args.target, evaluate_every=1000), folder) as swarm:
        honest = [join(swarm, f"ada{number}") for number in range(args.honest)]
        await asyncio.gather(*(one.until(lambda news: news.epoch >= 4) for one in honest))
        for attacked in [False, True] * args.windows:
            task = None
            if attacked:
                task = asyncio.create_task(keys(swarm, program, args.new_key_each or 1e9))
                await asyncio.sleep(FIRST_S)
            seen = await watch(honest[0], args.seconds)
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
            rounds[attacked] += seen[-1][1] - seen[0][1]
            seconds[attacked] += seen[-1][0] - seen[0][0]
            told = "with it   " if attacked else "without it"
            say(f"{told} {seen[-1][1] - seen[0][1]:3d} rounds in {seen[-1][0] - seen[0][0]:.1f} s")
    pace = {attacked: rounds[attacked] / seconds[attacked] for attacked in (False, True)}
    say(f"{args.what}: {pace[False]:.3f} rounds a second without it, {pace[True]:.3f} with it")
    say(f"{pace[True] / pace[False]:.2f} of the pace")


async def sleeps(args: argparse.Namespace, folder: Path) -> None:
    """A member sleeps and wakes, and is looked at until a round has its part."""
    async with collaboration(found(folder, target_samples=args.target, evaluate_every=1000), folder) as swarm:
        honest = [join(swarm, name) for name in ("ada", "bob", SLEEPER)]
        await asyncio.gather(*(one.until(lambda news: news.epoch >= 4) for one in honest))
        sleeper, awake = honest[-1], honest[0]
        for _ in range(args.windows):
            stop(sleeper, signal.SIGSTOP)
            await asyncio.sleep(args.seconds / 2)
            stop(sleeper, signal.SIGCONT)
            woke = await awake.snapshot()
            given = rounds_of(woke, SLEEPER)
            back = await awake.until(lambda news, given=given: rounds_of(news, SLEEPER) > given)  # type: ignore[misc]
            say(f"awake when {woke.epoch} rounds were over; {back.epoch - 1 - woke.epoch} went on without it")
            await awake.until(lambda news, now=back.epoch: news.epoch >= now + 3)  # type: ignore[misc]


def rounds_of(news: Snapshot, name: str) -> int:
    """In how many rounds a member's part is, as the one knows whose snapshot it is."""
    return sum(row.rounds for row in news.leaderboard if row.name == name)


def say(text: str) -> None:
    """A line, at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["honest", "mute", "nomeans", "sleep"])
    parser.add_argument("--honest", type=int, default=3)
    parser.add_argument("--target", type=int, default=TARGET)
    parser.add_argument("--windows", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--new-key-each", type=float, default=0)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run((sleeps if args.what == "sleep" else attacks)(args, Path(folder)))


if __name__ == "__main__":
    main()
