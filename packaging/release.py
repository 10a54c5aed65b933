"""Makes a release of the commit that is checked out: source, wheel, packages, what they are made of, and checksums.

    python3 packaging/release.py DIR            what can be made on this system
    python3 packaging/release.py DIR --twice    two times, in DIR/1 and DIR/2, and says which bytes differ
    ... --updates https://HOST/REPO REPO/metadata/1.root.json    also the program folder that updates itself from there

It refuses a checkout with changes, a lock that does not fit, and a version that CHANGELOG.md does not tell of.  What it
cannot make here it names, with the reason.  docs/packages.md says what to do before and after.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "linux"))
sys.path.insert(0, str(Path(__file__).parents[1]))

import contents
import deb
import lock_files
import program_folder
import texts
from lock import Tools
from steps import ROOT, SetupProblem

from app import translations

PACKAGES: dict[str, Callable[[Path, Path], Path]] = {"deb": deb.build}
"""What makes each kind of package on Linux, of a folder of packages that it may use up."""


def look(out: Path) -> None:
    """See that there is something to release.

    Args:
        out: Where it would come to lie.

    Raises:
        SetupProblem: there is not.
    """
    if changed := contents.git("status", "--porcelain"):
        raise SetupProblem(f"This checkout has changes, which no release would have:\n{changed}")
    if out.exists():
        raise SetupProblem(f"{out} exists already.")
    lock_files.check()
    texts.changes()
    found = set(translations.sentences(translations.trees()))
    for file in sorted(translations.FOLDER.glob("potluck_*.ts")):
        if left := found - set(translations.translations(file)):
            raise SetupProblem(f"{file.name} lacks {len(left)} sentences: python -m app.translations lists them.")


def make_source(out: Path) -> None:
    """Pack what git tracks."""
    name = f"potluck-{texts.version()}"
    words = ["git", "archive", "--format=tar", f"--prefix={name}/", "HEAD"]
    packed = subprocess.run(words, cwd=ROOT, check=True, capture_output=True).stdout
    (out / f"{name}.tar.gz").write_bytes(gzip.compress(packed, mtime=0))


def make_program(out: Path, site: Path, tools: Tools, updates: list[str]) -> None:
    """Make the archive of a program folder: what people unpack, and what an update brings.

    Args:
        out: Where it comes to lie.
        site: The folder of packages.
        tools: An environment in which `release.txt` of the lock is installed.
        updates: Where updates lie, and the file of the keys that are trusted first; empty: nothing is made.
    """
    if not updates:
        print("not made: the program folder, which needs --updates")
        return
    with tempfile.TemporaryDirectory(dir=out) as name:
        made = program_folder.build(Path(name), site, tools)
        words = ("pack", str(made), str(out), "--url", updates[0], "--root", str(Path(updates[1]).absolute()))
        tools.script(ROOT / "packaging" / "updates" / "publish.py", *words, PYTHONPATH=str(site))
    print("made: the archive of the program folder, which packaging/updates/publish.py offers as an update")


def make(out: Path, updates: list[str]) -> None:
    """Make all files of a release.

    Args:
        out: A folder that does not exist.
        updates: As `make_program` has it.
    """
    out.mkdir(parents=True)
    make_source(out)
    with contents.packages(out) as packages:
        shutil.copyfile(packages.wheel, out / packages.wheel.name)
        packages.tools.install_locked("release")
        told = (str(packages.site), str(out), texts.version(), str(contents.commit_time()))
        packages.tools.script(ROOT / "packaging" / "bill.py", *told)
        for kind, build in PACKAGES.items():
            if sys.platform != "linux":
                print(f"not made here: {kind}, which is made on Linux")
                continue
            with tempfile.TemporaryDirectory(dir=out) as name:
                try:
                    made = build(out, shutil.copytree(packages.site, Path(name) / kind, symlinks=True))
                    print(f"made: {made.name}")
                except SetupProblem as problem:
                    print(f"not made: {kind}: {problem}")
        make_program(out, packages.site, packages.tools, updates)
    files = sorted(path for path in out.iterdir() if path.is_file())
    sums = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)
    (out / "SHA256SUMS").write_text(sums, encoding="utf-8")


def differences(one: Path, other: Path) -> list[str]:
    """Names of files of two releases that are not the same."""
    read = [
        dict(line.split("  ")[::-1] for line in (at / "SHA256SUMS").read_text().splitlines()) for at in (one, other)
    ]
    return sorted(name for name in read[0].keys() | read[1].keys() if read[0].get(name) != read[1].get(name))


def main(argv: list[str]) -> int:
    """Make the release; returns the exit code."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("out", type=Path, help="a folder that does not exist yet")
    parser.add_argument("--twice", action="store_true", help="make it two times and compare")
    parser.add_argument("--updates", nargs=2, metavar=("URL", "ROOT"), default=[], help="make the program folder, too")
    options = parser.parse_args(argv)
    out = options.out.absolute()
    os.umask(0o022)
    try:
        look(out)
        places = [out / "1", out / "2"] if options.twice else [out]
        for place in places:
            make(place, options.updates)
    except SetupProblem as problem:
        sys.stderr.write(f"{problem}\n")
        return 2
    print((places[0] / "SHA256SUMS").read_text("utf-8"), end="")
    if options.twice:
        differing = differences(*places)
        print("the same bytes twice" if not differing else f"not the same twice: {', '.join(differing)}")
        return 1 if differing else 0
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
