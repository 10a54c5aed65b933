"""Pictures of every page of the window: a real demo trains, and the window is drawn from what its engine tells.

    PYTHONPATH=. python -m tests.gui.pictures --epochs 180 docs/screenshots
    PYTHONPATH=. python -m tests.gui.pictures --all --epochs 60 DIR

The first command draws the README's.  With `--all` they are of every page, of the settings, of the first run and of an
engine that starts, is paused, has a problem or is gone: light, dark and in high contrast, in each language, in two
sizes and at 200 % on a screen of 960x540 points; words that are cut are printed.  `--keep FILE` writes what the engine
told; `--from FILE` draws it again.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import psutil

from app.looks.language import LANGUAGES, SOURCE
from core.api.snapshot import Activity, Snapshot
from core.api.verdict import VerdictCode
from core.control.client import ControlClient
from core.storage.paths import Home
from tests.process.swarm import CORE, ENVIRONMENT, Volunteer, end, start

REPORTS: Final = {
    "history": {"days": 400},
    "receipts": {"since": 0},
    "machine": {},
    "trust": {},
    "team": {},
    "moderation": {},
    "activity": {},
    "settings": {},
}
"""What pages ask for, with its parameters."""
FRESH_EPOCHS: Final = 5
"""As many lie between two looks at the held-out text in the demo's recipe."""
PATIENCE_S: Final = 3600.0
SENTENCE: Final = "This function returns the ___ of a file."
PREPARING: Final = frozenset(("preparing", "trainer", "joining"))


class Told(msgspec.Struct):
    """All that an engine and the commands of Potluck said in one run."""

    snapshots: dict[str, Snapshot] = {}
    """By what was going on: "starting", "training", "paused", "problem"."""
    reports: dict[str, msgspec.Raw] = {}
    """Answers by method, while it trained."""
    commands: dict[str, list[msgspec.Raw]] = {}
    """Lines of JSON by command: "look", "try", "doctor", "kept"."""


class Variant(NamedTuple):
    """One way to draw everything."""

    theme: str
    language: str
    scale: int
    sizes: str
    """With commas between them, in points."""
    home_only: bool = False

    @property
    def name(self) -> str:
        """Part of the pictures' names."""
        return "-".join([self.theme, *([self.language] if self.language != SOURCE else []),
                         *([f"{self.scale}00"] if self.scale > 1 else [])])  # fmt: skip


THEMES: Final = ("light", "dark", "contrast")
README: Final = (
    Variant("light", SOURCE, 1, "800x560,1100x720", True),
    Variant("dark", SOURCE, 1, "800x560,1100x720", True),
)
EVERYTHING: Final = (
    *(Variant(theme, code, 1, "800x560,1100x720") for theme in THEMES for code in LANGUAGES),
    *(Variant(theme, code, 2, "912x513") for theme in THEMES for code in LANGUAGES),
    Variant("light", SOURCE, 1, "1920x1080"),
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.gui.pictures", description="Draw pictures of the window.")
    parser.add_argument("folder", type=Path, help="where the pictures go")
    parser.add_argument("--epochs", type=int, default=180, help="of training before (default: 180)")
    parser.add_argument("--all", action="store_true", help="everything, in every look, instead of the README's")
    parser.add_argument("--only", default="", metavar="PART", help="only pictures whose name has this in it")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--keep", type=Path, metavar="FILE", help="keep what is shown")
    what.add_argument("--from", type=Path, metavar="FILE", dest="kept", help="train nothing, show what was kept")
    chosen = parser.parse_args()
    chosen.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="potluck-pictures-") as name:
        if chosen.kept is not None:
            told = msgspec.json.decode(chosen.kept.read_bytes(), type=Told)
        else:
            told = asyncio.run(trained(Path(name), chosen.epochs))
        kept = chosen.keep or Path(name) / "told.json"
        kept.write_bytes(msgspec.json.encode(told))
        for variant in EVERYTHING if chosen.all else README:
            sys.stdout.write(draw(kept, chosen.folder, variant, only=chosen.only))


async def trained(folder: Path, epochs: int) -> Told:
    """What a demo of three tells: while it starts, once it is worth a picture, paused, and with a problem."""
    home = Home(folder / "home")
    home.create()
    words = ["engine", "--home", str(home.directory), "--embedded", "--name", "Bee", "--with-parent"]
    engine = Volunteer(home, start(words, folder / "engine.log"))
    told = Told()
    try:
        told.snapshots["starting"] = await engine.until(lambda news: news.verdict.reason in PREPARING)
        told.snapshots["training"] = await engine.until(lambda news: worth_it(news, epochs), timeout_s=PATIENCE_S)
        async with ControlClient.connect(home) as client:
            for method, params in REPORTS.items():
                told.reports[method] = msgspec.Raw(msgspec.json.encode(await client.call(method, **params)))
        told.commands = ask_commands(home, folder)
        told.snapshots["problem"] = await broken(engine)
        async with ControlClient.connect(home) as client:
            await client.call("pause")
        told.snapshots["paused"] = await engine.until(lambda news: news.verdict.code is VerdictCode.PAUSED)
    finally:
        end(engine.process)
    return told


def worth_it(news: Snapshot, epochs: int) -> bool:
    """It trains, all are there, each layer of the pot is seen, and the held-out text was measured shortly before."""
    if news.collaboration is None or news.activity is not Activity.TRAINING or news.epoch < epochs:
        return False
    measured = news.collaboration.loss.epoch or 0
    everybody = sum(peer.samples_per_s > 0 for peer in news.peers) == len(news.leaderboard)
    full = news.epoch_samples >= news.collaboration.target_samples
    layers = news.me.samples_pending / news.collaboration.target_samples > 0.1 and not full
    return everybody and layers and news.epoch - measured < FRESH_EPOCHS


async def broken(engine: Volunteer) -> Snapshot:
    """A real problem: the training process is killed as often as it begins."""

    def kill(news: Snapshot) -> bool:
        if news.me.worker_pid is not None and psutil.pid_exists(news.me.worker_pid):
            psutil.Process(news.me.worker_pid).kill()
        return news.verdict.code is VerdictCode.PROBLEM

    return await engine.until(kill)


def ask_commands(home: Home, folder: Path) -> dict[str, list[msgspec.Raw]]:
    """What the window asks of commands: about a link, the model, this computer, and what was joined."""
    charter = next(home.directory.glob("embedded/*/charter"))
    link = said(["invite", "--charter", str(charter)], home=None)[-1]
    other = folder / "other"
    look = said(["join", "-", "--show"], home=other, line=str(msgspec.json.decode(link)["link"]))
    return {
        "look": look,
        "try": said(["try", "-"], home=home.directory, line=SENTENCE),
        "doctor": said(["doctor"], home=home.directory),
        "devices": said(["devices"], home=home.directory),
        "startup": said(["startup"], home=home.directory),
    }


def said(words: list[str], *, home: Path | None, line: str = "") -> list[msgspec.Raw]:
    """The lines of a command."""
    where = [] if home is None else ["--home", str(home)]
    done = subprocess.run(
        [*CORE, *words, "--json", *where],
        input=f"{line}\n".encode(),
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        check=False,
    )
    return [msgspec.Raw(one) for one in done.stdout.splitlines()]


def draw(told: Path, folder: Path, variant: Variant, *, only: str) -> str:
    """Draw in a process of its own, since Qt takes scale and language once; returns lines about what is cut."""
    words = [str(told), str(folder), "--name", variant.name, "--theme", variant.theme, "--language", variant.language]
    words += ["--sizes", variant.sizes, "--only", only, *(["--home-only"] if variant.home_only else [])]
    offscreen = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "QT_SCALE_FACTOR": str(variant.scale)}
    drawing = [sys.executable, "-m", "tests.gui.drawing", *words]
    return subprocess.run(drawing, check=True, env=offscreen, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    main()
