"""Two volunteers at home, each behind a router, train together through a backbone on the public side.

    python -m tests.lab.train HOME      prints what the engine of that home says of itself, whenever that changes

All of it is the real program: `potluck backbone`, `potluck engine`, the real worker on a small task.
"""

import asyncio
import contextlib
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

import msgspec

from core.api.snapshot import Activity, Snapshot
from core.cli.volunteer.outcome import parameters_max_difference
from core.control.client import ControlClient
from core.control.engine_file import NotRunning
from core.storage.paths import Home
from tests.lab.ground import HOMES, PUBLIC, ROOT, Ground, Kind
from tests.process.swarm import CORE, ENVIRONMENT, end, found

EPOCHS = 3
TARGET_SAMPLES = 3000
"""Some seconds of one computer's work: the first one that is ready waits for the other, more or less."""
PATIENCE_S = 150.0
PAIRS = ((Kind.KEPT, Kind.SYMMETRIC), (Kind.SYMMETRIC, Kind.SYMMETRIC))
WAY = re.compile(r"reached by (\w+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """How it went in one pair of homes."""

    routers: tuple[Kind, Kind]
    epochs: int
    """Epochs that both have reached."""
    together: int
    """Epochs to which the one that shared the fewest contributed."""
    parameters_max_difference: float | None
    seconds: float
    """From the start of the engines to the end of the last epoch."""
    ways: tuple[str, ...]
    """How each reached the other, in the words of its log."""
    reach: tuple[str, ...]
    """Each engine's sentence on its reachability."""
    lost: tuple[str, ...] = field(default=())
    """Warnings of the engines."""

    @property
    def kept(self) -> bool:
        """Whether they have trained together, and hold the same."""
        return self.epochs >= EPOCHS and self.together >= EPOCHS - 1 and self.parameters_max_difference == 0.0

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"kept": self.kept}

    def text(self) -> str:
        pair = " and ".join(self.routers)
        return (
            f"{'ok' if self.kept else '!!'} {pair}: epoch {self.epochs} in {self.seconds:.0f} s, "
            f"{self.together} together, largest difference {self.parameters_max_difference}\n"
            f"   ways: {', '.join(self.ways) or 'none'}\n"
            + "".join(f"   {sentence}\n" for sentence in (*self.reach, *self.lost))
        )


def run(pairs: list[tuple[Kind, Kind]], *, rtt_s: float) -> list[Trained]:
    """Each pair with a new collaboration."""
    with Ground() as ground:
        ground.set_delay(rtt_s)
        return [asyncio.run(train(ground, a, b)) for a, b in pairs]


async def train(ground: Ground, a: Kind, b: Kind) -> Trained:
    """A backbone at the first public place, an engine in each home."""
    for home, kind in zip(HOMES, (a, b), strict=True):
        ground.set_home(home, kind)
    with tempfile.TemporaryDirectory(prefix="potluck-lab-") as scratch, contextlib.ExitStack() as stack:
        folder = Path(scratch)
        charter = await asyncio.to_thread(found, folder, target_samples=TARGET_SAMPLES)
        link = stack.enter_context(_backbone(ground, folder))
        began = time.monotonic()
        text = charter.manifest.sources[0].path
        for name in HOMES:
            stack.enter_context(_engine(ground, folder, name, link=link, text=text))
        last = await asyncio.gather(*(_finished(ground, folder / name) for name in HOMES))
        seconds = time.monotonic() - began
        states = [Home(folder / name).state(charter.manifest.id.hex()) / "states" for name in HOMES]
        files = [file for state in states for file in state.glob(f"state-{EPOCHS:08}-*.safetensors")]
        logs = [(folder / f"{name}.log").read_text() for name in HOMES]
        return Trained(
            routers=(a, b),
            epochs=min((news.epoch if news else 0) for news in last),
            together=min((news.me.epochs if news else 0) for news in last),
            parameters_max_difference=parameters_max_difference(files) if len(files) == len(HOMES) else None,
            seconds=seconds,
            ways=tuple(
                f"{name}: {', '.join(WAY.findall(log)) or 'was called'}" for name, log in zip(HOMES, logs, strict=True)
            ),
            reach=tuple(
                f"{name}: {news.reach.sentence}"
                for name, news in zip(HOMES, last, strict=True)
                if news is not None and news.reach is not None
            ),
            lost=tuple(line for log in logs for line in log.splitlines() if "Error" in line)[:10],
        )


@contextlib.contextmanager
def _backbone(ground: Ground, folder: Path) -> Iterator[str]:
    place = PUBLIC[0]
    words = [
        "backbone",
        "--charter",
        str(folder / "charter"),
        "--host",
        ground.address(place),
        "--with-parent",
        "--json",
    ]
    with (folder / "backbone.log").open("wb") as log:
        process = _start(ground.inside(place, [*CORE, *words]), log)
    try:
        assert process.stdout is not None
        yield msgspec.json.decode(process.stdout.readline())["link"]
    finally:
        end(process)


@contextlib.contextmanager
def _engine(ground: Ground, folder: Path, name: str, *, link: str, text: str) -> Iterator[None]:
    home = Home(folder / name)
    home.create()
    words = ["engine", "--home", str(home.directory), "--join", link, "--name", name, "--text", text]
    words += ["--last-epoch", str(EPOCHS), "--with-parent"]
    with (folder / f"{name}.log").open("wb") as log:
        process = _start(ground.inside(name, [*CORE, *words]), log)
    try:
        yield
    finally:
        end(process)


def _start(words: list[str], log: IO[bytes]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=ENVIRONMENT)


async def _finished(ground: Ground, home: Path) -> Snapshot | None:
    """The engine's last snapshot, when it has done its epochs or patience has ended; None: there was none."""
    watcher = await asyncio.create_subprocess_exec(
        *ground.inside(home.name, [sys.executable, "-m", "tests.lab.train", str(home)]),
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert watcher.stdout is not None
    news: Snapshot | None = None
    try:
        async with asyncio.timeout(PATIENCE_S):
            while line := await watcher.stdout.readline():
                news = msgspec.json.decode(line, type=Snapshot)
                if news.activity is Activity.FINISHED:
                    break
    except TimeoutError:
        pass
    finally:
        watcher.kill()
        await watcher.communicate()
    return news


async def watch(home: Home) -> None:
    """Print each snapshot in which the epoch, the activity or the reach is another one."""
    told = None
    while True:
        with contextlib.suppress(NotRunning):
            async with ControlClient.connect(home) as client:
                async for news in client.notifications():
                    if isinstance(news, Snapshot) and told != (news.epoch, news.activity, news.reach):
                        told = (news.epoch, news.activity, news.reach)
                        sys.stdout.buffer.write(msgspec.json.encode(news) + b"\n")
                        sys.stdout.buffer.flush()
        await asyncio.sleep(0.2)


if __name__ == "__main__":
    asyncio.run(watch(Home(Path(sys.argv[1]))))
