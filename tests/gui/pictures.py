"""The README's pictures of the window: a real demo trains, and its window is drawn from what its engine tells.

    PYTHONPATH=. python -m tests.gui.pictures --epochs 180 docs/screenshots
    PYTHONPATH=. python -m tests.gui.pictures --all --epochs 20 --language de DIR

The pictures show the first moment from that epoch on in which the computer trains and the held-out text was measured
a few epochs before.  `--keep FILE` writes what the engine told then; `--from FILE` draws it again.  With `--all` they
are of every page, light and dark, small and large; `--language` chooses the words.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec

from core.api.snapshot import Activity, Snapshot
from core.control.client import ControlClient
from core.storage.paths import Home
from tests.process.swarm import Volunteer, end, start

SIZES = ("1100x720", "800x560")
SIZES_ALL = ("800x560", "1100x720", "1920x1080")
PAGES = ("home", "model", "people", "gift", "computer", "activity", "about")
REPORTS = {"history": {"days": 400}, "receipts": {"since": 0}, "machine": {}, "trust": {}, "activity": {}}
"""What pages ask for, with its parameters."""
THEMES = ("light", "dark")
FRESH_EPOCHS = 5
"""As many lie between two looks at the held-out text in the demo's recipe."""
PATIENCE_S = 3600.0


class Told(msgspec.Struct):
    """All that the engine said at one moment."""

    snapshot: Snapshot
    reports: dict[str, msgspec.Raw]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.gui.pictures", description="Draw pictures of the window.")
    parser.add_argument("folder", type=Path, help="where the pictures go")
    parser.add_argument("--epochs", type=int, default=180, help="of training before (default: 180)")
    parser.add_argument("--language", choices=("en", "de"), default="en")
    parser.add_argument("--all", action="store_true", help="every page, in three sizes, instead of the README's")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--keep", type=Path, metavar="FILE", help="keep what is shown")
    what.add_argument("--from", type=Path, metavar="FILE", dest="kept", help="train nothing, show what was kept")
    chosen = parser.parse_args()
    chosen.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="potluck-pictures-") as name:
        if chosen.kept is not None:
            told = msgspec.json.decode(chosen.kept.read_bytes(), type=Told)
        else:
            told = asyncio.run(trained(Path(name) / "home", chosen.epochs))
        if chosen.keep is not None:
            chosen.keep.write_bytes(msgspec.json.encode(told))
        shown = Path(name) / "snapshot.json", Path(name) / "reports.json"
        for path, part in zip(shown, (told.snapshot, told.reports), strict=True):
            path.write_bytes(msgspec.json.encode(part))
        for theme in THEMES:
            for size in SIZES_ALL if chosen.all else SIZES:
                for page in PAGES if chosen.all else PAGES[:1]:
                    called = page if chosen.all else "window"
                    words = ["--size", size, "--theme", theme, "--page", page, "--language", chosen.language]
                    draw(shown, chosen.folder / f"{called}-{theme}-{size}.png", words)


async def trained(folder: Path, epochs: int) -> Told:
    """What the engine of a demo of three tells once it is worth a picture."""
    home = Home(folder)
    home.create()
    words = ["engine", "--home", str(folder), "--embedded", "--name", "Bee", "--with-parent"]
    engine = Volunteer(home, start(words, folder / "engine.log"))
    try:
        snapshot = await engine.until(lambda news: worth_a_picture(news, epochs), timeout_s=PATIENCE_S)
        async with ControlClient.connect(home) as client:
            answers = {method: await client.call(method, **params) for method, params in REPORTS.items()}
        return Told(snapshot, {name: msgspec.Raw(msgspec.json.encode(one)) for name, one in answers.items()})
    finally:
        end(engine.process)


def worth_a_picture(news: Snapshot, epochs: int) -> bool:
    if news.collaboration is None or news.activity is not Activity.TRAINING or news.epoch < epochs:
        return False
    measured = news.collaboration.loss.epoch or 0
    everybody = sum(peer.samples_per_s > 0 for peer in news.peers) == len(news.leaderboard)
    full = news.epoch_samples >= news.collaboration.target_samples
    return everybody and not full and news.epoch - measured < FRESH_EPOCHS


def draw(shown: tuple[Path, Path], picture: Path, look: list[str]) -> None:
    snapshot, reports = map(str, shown)
    words = ["--screenshot", str(picture), "--snapshot", snapshot, "--reports", reports, *look]
    offscreen = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    subprocess.run([sys.executable, "-m", "app", *words], check=True, env=offscreen)


if __name__ == "__main__":
    main()
