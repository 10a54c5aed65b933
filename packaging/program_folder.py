"""Makes the program folder that updates itself, with PyInstaller: for Linux, and for installers on other systems.

    python3.11 packaging/program_folder.py DIR

Makes DIR/potluck (on macOS DIR/Potluck.app, too) for the system that makes it.  Needs git, a Python with a shared
library, and on Linux binutils.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import contents
import icons
import texts
from lock import Tools
from steps import ROOT

ICONS = {"win32": ("potluck.ico", icons.ico), "darwin": ("potluck.icns", icons.icns)}
"""The file of icons that a program of the system has in it."""


def build(out: Path, site: Path, tools: Tools) -> Path:
    """Freeze a folder of packages.

    Args:
        out: Where the folder comes to lie.
        site: The folder of packages, which is used up.
        tools: An environment in which `release.txt` of the lock is installed.

    Returns:
        The program folder.
    """
    for name in contents.PLUGINS_OF_DESKTOPS:  # PyInstaller would bring the desktop's libraries, too
        for path in site.rglob(name):
            path.unlink()
    with tempfile.TemporaryDirectory(dir=out) as name:
        work = Path(name)
        told = {
            "PYTHONPATH": str(site),
            "PYTHONSAFEPATH": "1",  # what lies in the checkout is not what git tracks
            "PYTHONHASHSEED": "0",
            "PYINSTALLER_CONFIG_DIR": str(work / "cache"),
            "SOURCE_DATE_EPOCH": str(contents.commit_time()),
            "POTLUCK_VERSION": texts.version(),
        }
        if sys.platform in ICONS:
            file, made_of = ICONS[sys.platform]
            (work / file).write_bytes(made_of(icons.draw(work / "drawn", site)))
            told["POTLUCK_ICON"] = str(work / file)
        where = ("--distpath", str(out), "--workpath", str(work / "work"))
        spec = str(ROOT / "packaging" / "potluck.spec")
        tools.run("PyInstaller", "--noconfirm", "--log-level", "ERROR", *where, spec, **told)
    if sys.platform == "linux":  # an interpreter's own names for its functions are two thirds of its library
        for path in (out / "potluck" / "_internal").glob("libpython3*.so*"):
            contents.run(["strip", "--strip-unneeded", str(path)])
    return out / "potluck"


def make(out: Path, packages: contents.Packages) -> str:
    """Make the folder; returns its path."""
    packages.tools.install_locked("release")
    return str(build(out, packages.site, packages.tools))


if __name__ == "__main__":
    sys.exit(contents.main(sys.argv[1:], __doc__, make))
