"""The README's pictures of the window: a real demo trains, and its window is drawn from what its engine tells.

    PYTHONPATH=. python -m tests.gui.pictures --epochs 180 docs/screenshots

The pictures show the first moment from that epoch on in which the computer trains and the held-out text was measured
a few epochs before.  `--keep FILE` writes what the engine told then; `--from FILE` draws it again.
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
from core.storage.paths import Home
from tests.process.swarm import Volunteer, end, start

SIZES = ("1100x720", "800x560")
THEMES = ("light", "dark")
FRESH_EPOCHS = 5
"""As many lie between two looks at the held-out text in the demo's recipe."""
PATIENCE_S = 3600.0


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.gui.pictures", description="Draw the README's pictures.")
    parser.add_argument("folder", type=Path, help="where the pictures go")
    parser.add_argument("--epochs", type=int, default=180, help="of training before (default: 180)")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--keep", type=Path, metavar="FILE", help="keep what is shown")
    what.add_argument("--from", type=Path, metavar="FILE", dest="kept", help="train nothing, show what was kept")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="potluck-pictures-") as name:
        snapshot = chosen.kept or chosen.keep or Path(name) / "snapshot.json"
        if chosen.kept is None:
            snapshot.write_bytes(msgspec.json.encode(asyncio.run(trained(Path(name) / "home", chosen.epochs))))
        for theme in THEMES:
            for size in SIZES:
                draw(snapshot, chosen.folder / f"window-{theme}-{size}.png", size=size, theme=theme)


async def trained(folder: Path, epochs: int) -> Snapshot:
    """What the engine of a demo of three tells once it is worth a picture."""
    home = Home(folder)
    home.create()
    words = ["engine", "--home", str(folder), "--embedded", "--name", "Bee", "--with-parent"]
    engine = Volunteer(home, start(words, folder / "engine.log"))
    try:
        return await engine.until(lambda news: worth_a_picture(news, epochs), timeout_s=PATIENCE_S)
    finally:
        end(engine.process)


def worth_a_picture(news: Snapshot, epochs: int) -> bool:
    if news.collaboration is None or news.activity is not Activity.TRAINING or news.epoch < epochs:
        return False
    measured = news.collaboration.loss.epoch or 0
    everybody = sum(peer.samples_per_s > 0 for peer in news.peers) == len(news.leaderboard)
    full = news.epoch_samples >= news.collaboration.target_samples
    return everybody and not full and news.epoch - measured < FRESH_EPOCHS


def draw(snapshot: Path, picture: Path, *, size: str, theme: str) -> None:
    words = ["--screenshot", str(picture), "--snapshot", str(snapshot), "--size", size, "--theme", theme]
    offscreen = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    subprocess.run([sys.executable, "-m", "app", *words], check=True, env=offscreen)


if __name__ == "__main__":
    main()
