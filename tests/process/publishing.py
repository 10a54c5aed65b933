"""A publisher of versions on this computer, a program that updates itself from there, and versions that are small."""

import asyncio
import contextlib
import importlib
import json
import random
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace

from core.api.program_folder import LAUNCHER, PROGRAM, ProgramFolder
from core.api.updates import UpdateView
from core.net.clock import Clock
from core.updates.getting import Updating
from core.updates.source import GRACE_S, UpdateSource
from tests.web_server import Site, web_server

ROOT = Path(__file__).parents[2]
NAMES = ("steps", "lock_files", "environment", "lock", "contents", "texts", "publish")
START = """#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
export PYTHONPATH="$here/site:{root}" POTLUCK_KEYRING=off
exec {python} -m core.updates.launcher "$here" potluck "$@"
"""
VERSION = "import core.api.version\ncore.api.version.VERSION = {version!r}\n"


def packaging() -> SimpleNamespace:
    """The modules of packaging/, which import each other by their bare names."""
    before = list(sys.path)
    sys.path[:0] = [str(ROOT / "packaging"), str(ROOT / "packaging" / "updates")]
    try:
        return SimpleNamespace(**{name: importlib.import_module(name) for name in NAMES})
    finally:
        sys.path[:] = before


class Served(Mapping[str, bytes]):
    """The files of a folder, as a web server gives them.

    Args:
        folder: The folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.instead: dict[str, bytes] = {}
        """What is given in the place of some, by path."""

    def __getitem__(self, path: str) -> bytes:
        if path in self.instead:
            return self.instead[path]
        try:
            return (self.folder / path.lstrip("/")).read_bytes()
        except OSError:
            raise KeyError(path) from None

    def __contains__(self, path: object) -> bool:
        return path in self.instead or (self.folder / str(path).lstrip("/")).is_file()

    def __iter__(self) -> Iterator[str]:
        return iter(self.instead)

    def __len__(self) -> int:
        return len(self.instead)


class UpdateWorld:
    """A publisher, its server, and a program.

    Args:
        folder: An empty folder.
        site: The server, which may misbehave.
        served: Its files.
    """

    def __init__(self, folder: Path, site: Site, served: Served) -> None:
        self.folder, self.site, self.served = folder, site, served
        self.repo, self.keys = folder / "repo", folder / "keys"
        self.tools = packaging().publish
        self.publisher = self.tools.Publisher(self.repo, self.keys)
        self.publisher.begin(root_keys=3, root_threshold=2)
        self.program = ProgramFolder(folder / "program")
        self.install("0.1.0")
        self.waits: list[float] = []

    def install(self, version: str) -> None:
        """Have the program of a version."""
        self.lay_out(self.program.folder, version)
        self.pack(self.program.folder, version)

    def lay_out(self, folder: Path, version: str, more: str = "") -> Path:
        """Make a version: the program of this checkout, which says that it is another one."""
        (folder / "site").mkdir(parents=True)
        (folder / "site" / "sitecustomize.py").write_text(VERSION.format(version=version) + more)
        (folder / "potluck").write_text(START.format(root=ROOT, python=sys.executable))
        (folder / "potluck").chmod(0o755)
        return folder

    def pack(self, folder: Path, version: str) -> Path:
        root = self.repo / "metadata" / "1.root.json"
        return self.tools.pack(folder, self.folder / "out", url=self.site.url, root_keys=root, version=version)

    def publish(self, version: str, *, share: float = 1.0, more: str = "", size: int = 0) -> Path:
        """Offer a version; returns its archive at the server."""
        folder = self.lay_out(self.folder / "made" / version, version, more)
        (folder / "ballast").write_bytes(random.Random(1).randbytes(size))
        archive = self.pack(folder, version)
        self.publisher.add([archive], share=share, news=[f"What is new in {version}."])
        shutil.rmtree(folder)
        return next((self.repo / "targets").glob(f"*.{archive.name}"))

    def metadata(self, name: str) -> Path:
        return self.repo / "metadata" / name

    def look(self, *, get: bool = True, now: Callable[[], float] | None = None, grace_s: float = GRACE_S) -> UpdateView:
        updating = Updating(
            self.program, source=UpdateSource, now=now or Clock().wall, sleep=self.waits.append, grace_s=grace_s
        )
        return asyncio.run(updating.look(get=get))

    @property
    def kept(self) -> set[str]:
        """What lies in the folder of versions."""
        return {path.name for path in self.program.versions.iterdir()} if self.program.versions.is_dir() else set()

    @property
    def environment(self) -> dict[str, str]:
        return {PROGRAM: str(self.program.folder), LAUNCHER: str(self.program.folder / "potluck")}


@contextlib.contextmanager
def update_world(folder: Path) -> Iterator[UpdateWorld]:
    """A world whose server runs."""
    served = Served(folder / "repo")
    with web_server(served) as site:
        yield UpdateWorld(folder, site, served)


def changed(data: bytes, change: Callable[[dict], object]) -> bytes:
    """A list whose signed part somebody has changed."""
    read = json.loads(data)
    change(read["signed"])
    return json.dumps(read).encode()
