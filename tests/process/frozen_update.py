"""A frozen program updates itself as people have it: N to N+1 while it trains, and back from N+2, which does not start.

    python -m tests.process.frozen_update DIR

Makes two versions of this commit with PyInstaller in DIR, unless they are there, publishes them over loopback,
installs the first from its archive and gets it the training part as pip's settings say.  Then `test_update_round` runs
with it, and a second installation whose window is led to N+2.  Needs Linux, Xvfb, openbox, xdotool.  Prints one line of
JSON.
"""

import argparse
import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from core.api.program_folder import ProgramFolder
from tests.process.publishing import ROOT, Served, UpdateWorld
from tests.process.screens import running, screen
from tests.process.swarm import ENVIRONMENT
from tests.process.test_update_round import update_and_go_back
from tests.web_server import Site, web_server

VERSIONS = ("0.1.0", "0.2.0")
"""What is frozen; 0.3.0 is the second under another number, without a library."""
LACKS = ("cryptography/hazmat/bindings/_rust.abi3.so", "libQt6Widgets.so.6")
"""Libraries without which an engine and a window do not start; a program that only says its version does."""
BACK_MAX_S = 60.0


def make(folder: Path) -> None:
    """Make the program folder of each version in `folder`."""
    source = folder / "source"
    if not source.exists():
        subprocess.run(["git", "clone", "--quiet", ROOT, source], check=True)
    for version in VERSIONS:
        if (folder / version).exists():
            continue
        for name, before in (("core/api/version.py", "VERSION = "), ("pyproject.toml", "version = ")):
            text = (source / name).read_text("utf-8")
            (source / name).write_text(re.sub(f'^{before}".*"$', f'{before}"{version}"', text, flags=re.MULTILINE))
        git = ["git", "-C", source, "-c", "user.name=a test", "-c", "user.email=a@test.invalid"]
        subprocess.run([*git, "commit", "--quiet", "--all", "--allow-empty", "-m", version], check=True)
        with tempfile.TemporaryDirectory(dir=folder) as made:
            subprocess.run([sys.executable, source / "packaging" / "program_folder.py", made], check=True)
            (Path(made) / "potluck").rename(folder / version)


class FrozenWorld(UpdateWorld):
    """A publisher of frozen versions, and a program that was unpacked from its archive.

    Args:
        folder: An empty folder.
        site: The server.
        served: Its files.
        made: The folder of versions.
    """

    def __init__(self, folder: Path, site: Site, served: Served, made: Path) -> None:
        self._made = made
        self.archive = made
        """The archive of the version that was installed."""
        super().__init__(folder, site, served)

    def install(self, version: str) -> None:
        packed = self.lay_out(self.folder / "made" / version, version)
        self.archive = self.pack(packed, version)
        shutil.rmtree(packed)
        self.unpack(self.program.folder)

    def unpack(self, folder: Path) -> None:
        """Install the first version once more."""
        folder.mkdir()
        subprocess.run(["tar", "-xJf", self.archive, "-C", folder], check=True)

    def lay_out(self, folder: Path, version: str, more: str = "") -> Path:
        """Take what was made; with `more` a library is missing."""
        shutil.copytree(self._made / (VERSIONS[-1] if more else version), folder, symlinks=True)
        if more:
            for name in LACKS:
                (folder / "_internal" / name).unlink()
        return folder

    def look(self, **_: object) -> None:
        """Have the program itself look for a newer version, and get it."""
        said(self.program.folder, "update", "--get")


def said(program: Path, *words: str, environ: Mapping[str, str] = ENVIRONMENT) -> str:
    """What a frozen program prints.

    Raises:
        SystemExit: it failed.
    """
    done = subprocess.run([program / "potluck", *words], env=environ, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)} failed ({done.returncode}):\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout


def window_comes_back(world: FrozenWorld, environ: Mapping[str, str]) -> float:
    """Start the window of an installation whose newest version does not start; returns the seconds until one shows."""
    program = ProgramFolder(world.folder / "second")
    world.unpack(program.folder)
    said(program.folder, "update", "--get")
    assert program.newest == "0.3.0"
    began = time.monotonic()
    environ = {**ENVIRONMENT, **environ, "POTLUCK_HOME": str(world.folder / "second-home")}
    with running([str(program.folder / "potluck")], environ):
        search = ["xdotool", "search", "--onlyvisible", "--class", "potluck"]
        while subprocess.run(search, env=environ, capture_output=True, check=False).returncode:
            if time.monotonic() - began > BACK_MAX_S:
                raise SystemExit("No window shows itself.")
            time.sleep(0.1)
        took_s = time.monotonic() - began
        assert program.is_bad("0.3.0")
    return took_s


def main() -> int:
    """Make, publish, install, update; returns the exit code."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where the versions are made, and stay")
    made = parser.parse_args().folder.absolute()
    made.mkdir(parents=True, exist_ok=True)
    make(made)
    with (
        tempfile.TemporaryDirectory(dir=made) as name,
        screen() as display,
        web_server(served := Served(Path(name) / "updates" / "repo")) as site,
    ):
        folder = Path(name)
        (folder / "updates").mkdir()
        world = FrozenWorld(folder / "updates", site, served, made)
        world.tools.LEVEL = 0  # the updates are only there to be taken
        began = time.monotonic()
        said(world.program.folder, "training-part", "get", "--build", "cpu", "--home", str(folder / "updated"))
        part_s = time.monotonic() - began
        world.publish("0.2.0")
        told: dict[str, object] = {
            "archive_mb": round(world.archive.stat().st_size / 1e6, 1),
            "folder_mb": round(sum(path.lstat().st_size for path in (made / "0.1.0").rglob("*")) / 1e6, 1),
            "training_part_s": round(part_s, 1),
            **asyncio.run(update_and_go_back(world, folder)),
            "window_back_s": round(window_comes_back(world, display), 1),
        }
    sys.stdout.write(f"{json.dumps(told)}\n")
    return 0


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(main())
