"""What every package holds: the base's locked libraries and Potluck itself, without what no window or engine uses.

Standard library only; a package holds libraries for the Python that makes it.
"""

from __future__ import annotations

import contextlib
import csv
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import lock_files
from lock import Tools
from steps import ROOT, SetupProblem

BASE = "base"
"""The lock file of what engine, window and command line need."""

# Parts of Qt that the window loads by name; what these need comes along.
QT_PLUGINS = (
    "iconengines/*",
    "imageformats/*",
    "platforminputcontexts/*compose*",
    "platforminputcontexts/*ibus*",
    "platforms/*offscreen*",
    "platforms/*wayland*",
    "platforms/*xcb*",
    "platformthemes/*",
    "wayland-decoration-client/*",
    "wayland-graphics-integration-client/*egl*",
    "wayland-shell-integration/*xdg*",
    "xcbglintegrations/*",
)
PLUGINS_OF_DESKTOPS = ("libqgtk3.so",)
"""Plugins that work where a desktop has brought what they need, and are left alone elsewhere."""
QT_UNUSED = ("imageformats/*pdf*",)
QT_TRANSLATIONS = [f"qtbase_{path.stem[8:]}.qm" for path in (ROOT / "resources/translations").glob("potluck_*.ts")]
PYSIDE_FILES = ("__init__.py", "_config.py", "_git_pyside_version.py", "support", "libpyside6.abi3.so*")
UNUSED = ("bin", "share", "**/tests", "**/*.pyi", "**/*.a", "**/__pycache__", "*.dist-info/direct_url.json")


class Packages(NamedTuple):
    """What packages are made of."""

    site: Path
    """The folder of packages, which may be used up."""
    tools: Tools
    """An environment in which what builds is installed."""
    wheel: Path
    """Potluck's own."""


def commit_time() -> int:
    """Seconds since 1970 at which the commit was made, or what SOURCE_DATE_EPOCH says: no file is newer."""
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(given)
    return int(git("log", "-1", "--format=%ct"))


def git(*words: str) -> str:
    """What git prints about this checkout."""
    command = ["git", *words]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def run(command: list[str], **variables: str) -> str:
    """Run a program of the system in a fixed language and time zone, and return what it prints.

    Raises:
        SetupProblem: it is not here, or failed.
    """
    environ = {**os.environ, "LC_ALL": "C.UTF-8", "TZ": "UTC", "SOURCE_DATE_EPOCH": str(commit_time()), **variables}
    if shutil.which(command[0]) is None:
        raise SetupProblem(f"{command[0]} is not installed here.")
    done = subprocess.run(command, env=environ, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SetupProblem(f"This failed: {' '.join(command[:3])}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout


@contextlib.contextmanager
def packages(out: Path) -> Iterator[Packages]:
    """The folder of packages of this commit, in `out`, as long as it is needed."""
    with tempfile.TemporaryDirectory(dir=out) as name:
        folder = Path(name)
        tools = Tools(folder)
        made = Packages(folder / "site", tools, make_wheel(tools, folder / "wheel"))
        fill(made.site, tools, made.wheel)
        yield made


def main(argv: list[str], words: str | None, make: Callable[[Path, Packages], str]) -> int:
    """Make one thing of them.

    Args:
        argv: The folder where it comes to lie.
        words: How the command is used.
        make: Makes it in that folder, and returns what is said of it.

    Returns:
        The exit code.
    """
    if len(argv) != 1:
        sys.stderr.write(f"{words}\n")
        return 2
    out = Path(argv[0]).absolute()
    out.mkdir(parents=True, exist_ok=True)
    os.umask(0o022)
    try:
        with packages(out) as made:
            print(make(out, made))
    except SetupProblem as problem:
        sys.stderr.write(f"{problem}\n")
        return 2
    return 0


def make_wheel(tools: Tools, folder: Path) -> Path:
    """Build Potluck's own wheel from the files that git tracks: what lies about in a checkout does not come along."""
    source = folder / "source"
    source.mkdir(parents=True)
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True)  # noqa: S607
    subprocess.run(["tar", "-x", "-C", str(source)], input=archive.stdout, check=True)  # noqa: S607
    tools.install_locked("build")
    environ = {"SOURCE_DATE_EPOCH": str(commit_time())}
    tools.run("pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(source), **environ)
    return next(folder.glob("potluck-*.whl"))


def fill(site: Path, tools: Tools, wheel: Path) -> None:
    """Put the base's libraries, pip and Potluck into an empty folder of packages, and take out what nobody uses.

    Args:
        site: The folder.
        tools: An environment in which what builds is installed.
        wheel: Potluck's own wheel.
    """
    there = ("--target", str(site), "--no-compile", "--no-deps", "--no-build-isolation", "--quiet")
    for name in (BASE, "pip"):
        tools.run("pip", "install", *there, "--upgrade", "--require-hashes", "-r", str(lock_files.lock_path(name)))
    tools.run("pip", "install", *there, str(wheel))
    trim(site)


def trim(site: Path) -> None:
    """Remove tests, stubs and programs of libraries, and the parts of Qt that no module of the window imports."""
    for pattern in UNUSED:
        for path in sorted(site.glob(pattern)):
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    if sys.platform == "linux":
        trim_qt(site / "PySide6")
    for record in site.glob("*.dist-info/RECORD"):
        record.write_text("".join(still_there(site, record.read_text("utf-8"))), encoding="utf-8")
    for path in site.rglob("*"):
        if path.is_file():
            path.chmod(0o644)


def still_there(site: Path, record: str) -> list[str]:
    """The lines of a library's list of files that name one which is left; programs bear the builder's paths."""
    lines = record.splitlines(keepends=True)
    paths = [next(csv.reader([line]))[0] for line in lines]
    return [line for line, path in zip(lines, paths, strict=True) if path[:3] != "../" and (site / path).exists()]


def qt_modules() -> set[str]:
    """The modules of Qt that the window imports, such as `QtWidgets`."""
    texts = (path.read_text("utf-8") for path in (ROOT / "app").rglob("*.py"))
    return {name for text in texts for name in re.findall(r"from PySide6\.(Qt\w+) import", text)}


def trim_qt(pyside: Path) -> None:
    """Keep of Qt what the window imports, the plugins that it loads, and the libraries that both need."""
    qt = pyside / "Qt"
    plugins = {path for pattern in QT_PLUGINS for path in (qt / "plugins").glob(pattern)}
    plugins -= {path for pattern in QT_UNUSED for path in (qt / "plugins").glob(pattern)}
    modules = {pyside / f"{name}.abi3.so" for name in qt_modules()}
    files = {path for name in PYSIDE_FILES for path in pyside.glob(name)} | modules
    libraries: set[Path] = set()
    looked_at = plugins | modules | set(pyside.glob("libpyside6.abi3.so*"))
    while looked_at:
        libraries |= looked_at
        looked_at = {qt / "lib" / name for name in needed_by(looked_at) if (qt / "lib" / name).exists()} - libraries
    kept = files | libraries | {qt / "translations" / name for name in QT_TRANSLATIONS}
    for path in sorted(pyside.rglob("*"), reverse=True):
        if path.is_dir() and not path.is_symlink():
            if not any(path.iterdir()):
                path.rmdir()
        elif not any(path == one or one in path.parents for one in kept):
            path.unlink()


def needed_by(objects: set[Path]) -> set[str]:
    """Names of the libraries that files of the format ELF ask for, such as `libxcb.so.1`."""
    told = run(["readelf", "--dynamic", *map(str, sorted(objects))]) if objects else ""
    return set(re.findall(r"\(NEEDED\)\s+Shared library: \[(\S+)\]", told))


def needed_of_system(site: Path) -> set[str]:
    """Names of the system's libraries without which something in a folder of packages does not work."""
    objects = {path for path in site.rglob("*.so*") if path.is_file() and path.name not in PLUGINS_OF_DESKTOPS}
    return needed_by(objects) - {path.name for path in objects}


def settle(tree: Path) -> None:
    """Give every file of a package the commit's time and a usual mode, whatever the umask was here."""
    now = commit_time()
    for path in [tree, *sorted(tree.rglob("*"))]:
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
        os.utime(path, (now, now), follow_symlinks=False)
