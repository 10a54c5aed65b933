"""Installs a package on a bare Debian, opens the window, trains, takes everything off again, and says what is left.

    python3 packaging/linux/try_deb.py PACKAGE.deb [--suite bookworm] [--bare DIR] [--pictures DIR] [--from WHEELS]

Needs root, debootstrap, Xvfb, xdotool and ImageMagick.  The bare Debian is made with the mirror of this system's apt,
and kept in DIR for the next time.  With --from, the training part is got from a folder of wheels and by the package
clients' own settings, and a collaboration trains on this computer alone.  Prints one line of JSON.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

PERSON = "ada"
HOME = f"/home/{PERSON}"
WINDOW_MAX_S = 60.0
WINDOW_COLOURS = 50
"""A screen with fewer colours shows no window."""
STEPS = "3"
PARTS = ("apt", "download", "debian_unpack", "debian_configure", "own_unpack", "own_configure")
"""Parts of an installation: what apt thinks over, and what other packages and this one take."""
STATUS = re.compile(r"(dl|pm)status:([^:]*):[0-9.]+:(.*)")
"""What apt says while it works (its option APT::Status-Fd)."""
RECORDS = re.compile(
    r"/etc/(passwd|group|shadow|gshadow)-?$|/(var/(log|cache|lib/(apt|dpkg))|etc/(ld\.so\.cache|resolv\.conf)|run|tmp|root)(/|$)|/usr/share/python3/debpython/"
)
"""What apt, dpkg and the system's loader write down for themselves, and the accounts of Debian's packages."""


class Debian:
    """A bare Debian in a folder, with one person.

    Args:
        root: The folder.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def command(self, *words: str, person: bool = False) -> list[str]:
        """What runs a program in it, in a space of processes of its own, which ends when the first one is killed."""
        who = (f"--userspec={PERSON}:{PERSON}",) if person else ()
        mount = 'mount -t proc proc "$1/proc"; mount -t devpts devpts "$1/dev/pts"; mount -t tmpfs tmpfs "$1/dev/shm"'
        mount += '; [ ! -e /dev/fuse ] || { touch "$1/dev/fuse"; mount --bind /dev/fuse "$1/dev/fuse"; }'
        inner = (
            f'{mount}; mkdir -p "$1/tmp/.X11-unix"; mount --bind /tmp/.X11-unix "$1/tmp/.X11-unix"; "${{@:2}}"; exit $?'
        )
        space = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-c", inner, "-", str(self.root))
        return [*space, "chroot", *who, str(self.root), *words]

    def run(self, *words: str, person: bool = False, **variables: str) -> str:
        """What a program in it prints.

        Raises:
            SystemExit: it failed.
        """
        done = subprocess.run(
            self.command(*words, person=person),
            env=environment(**variables),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(words)} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        return done.stdout

    def accounts(self) -> set[str]:
        """Names of all users, people or not."""
        return {line.partition(":")[0] for line in (self.root / "etc/passwd").read_text("utf-8").splitlines()}

    def listing(self) -> dict[str, str]:
        """Each file outside of the person's folder with what it is: its kind, mode, size or target."""
        found = {}
        for folder, folders, files in os.walk(self.root):
            inside = "/" + os.path.relpath(folder, self.root).removeprefix(".")
            folders[:] = [
                name for name in folders if f"{inside}/{name}".replace("//", "/") not in {"/proc", "/dev", HOME}
            ]
            for name in [*folders, *files]:
                path = Path(folder, name)
                state = path.lstat()
                size = "" if path.is_dir() and not path.is_symlink() else state.st_size
                found[f"{inside}/{name}".replace("//", "/")] = f"{state.st_mode:o} {size}"
        return found


def environment(**variables: str) -> dict[str, str]:
    """What a program finds on a system that nobody has changed."""
    return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": HOME, "DEBIAN_FRONTEND": "noninteractive", **variables}


def mirror() -> str:
    """The mirror of this system's apt."""
    texts = [
        path.read_text("utf-8") for path in Path("/etc/apt").rglob("*") if "sources" in path.name and path.is_file()
    ]
    found = re.search(r"(?:^URIs:|^deb)\s+(\S+/debian)/?\s", "\n".join(texts), re.MULTILINE)
    if found is None:
        raise SystemExit("This system's apt names no mirror of Debian.")
    return found[1]


def make_bare(bare: Path, suite: str) -> None:
    """Make a bare Debian, unless it is there."""
    if (bare / "etc/debian_version").exists():
        return
    subprocess.run(["debootstrap", "--variant=minbase", suite, str(bare), mirror()], check=True, stdout=sys.stderr)
    subprocess.run(["useradd", "--root", str(bare), "--create-home", PERSON], check=True)


@contextlib.contextmanager
def bare_debian(kept: Path | None, suite: str) -> Iterator[Debian]:
    """A bare Debian, as long as it is needed.

    Args:
        kept: The folder that it is a copy of; None: it is made for this one time.
        suite: Which Debian.
    """
    with tempfile.TemporaryDirectory() as folder:
        bare = (kept or Path(folder) / "bare").absolute()
        make_bare(bare, suite)
        root = Path(folder) / "debian"
        subprocess.run(["cp", "--archive", "--reflink=auto", str(bare), str(root)], check=True)
        shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
        yield Debian(root)


@contextlib.contextmanager
def screen() -> Iterator[str]:
    """A screen that nobody sees."""
    reading, writing = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writing), "-screen", "0", "1100x720x24", "-nolisten", "tcp", "-noreset"],
        pass_fds=[writing],
        stderr=subprocess.DEVNULL,
    )
    os.close(writing)
    try:
        with os.fdopen(reading) as told:
            yield f":{told.readline().strip()}"
    finally:
        server.terminate()
        server.wait()


def colours(display: str) -> int:
    """How many colours the screen shows: one as long as it is empty."""
    shot = ["import", "-display", display, "-window", "root", "-format", "%k", "info:"]
    done = subprocess.run(shot, capture_output=True, text=True, check=False)
    return int(done.stdout or 0) if done.returncode == 0 else 0


def picture(display: str, path: Path) -> None:
    """Keep what the screen shows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["import", "-display", display, "-window", "root", str(path)], check=True)


def open_window(debian: Debian, display: str, kept: Path, program: str = "potluck") -> float:
    """Open the window, keep a picture, close it; returns the seconds from the click to the first page."""
    while colours(display) >= WINDOW_COLOURS:
        time.sleep(0.1)  # the screen forgets the one before
    begin = time.monotonic()
    window = subprocess.Popen(debian.command(program, person=True), env=environment(DISPLAY=display, LANG="C.UTF-8"))
    try:
        while colours(display) < WINDOW_COLOURS:
            if window.poll() is not None or time.monotonic() - begin > WINDOW_MAX_S:
                raise SystemExit(f"The window did not open (exit code {window.poll()}).")
        seconds = time.monotonic() - begin
        time.sleep(1)
        picture(display, kept)
    finally:
        window.kill()  # unshare hears nothing else, and takes all with it
        window.wait()
    return seconds


def part_of(line: str) -> str | None:
    """The part of an installation that begins with a line of apt; None: the one before goes on."""
    if (said := STATUS.match(line)) is None:
        return None
    kind, package, words = said.groups()
    if kind == "dl":
        return "download"
    whose = "own" if package.startswith("potluck") else "debian"
    if words.startswith(("Preparing to configure", "Configuring", "Running post-installation", "Installed")):
        return f"{whose}_configure"
    return f"{whose}_unpack" if words.startswith(("Preparing", "Unpacking")) else None


def install(debian: Debian) -> dict[str, float]:
    """Install the package; returns the seconds that each part of it took.

    Raises:
        SystemExit: it failed.
    """
    words = ("apt-get", "install", "--yes", "-qq", "-o", "APT::Status-Fd=1", "/potluck.deb")
    took, part, since, said = dict.fromkeys(PARTS, 0.0), PARTS[0], time.monotonic(), [""]
    program = subprocess.Popen(
        debian.command(*words), env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert program.stdout is not None
    for line in chain(program.stdout, [""]):
        said.append(line)
        now = time.monotonic()
        took[part] += now - since
        part, since = part_of(line) or part, now
    if program.wait() != 0:
        raise SystemExit(f"apt-get failed:\n{''.join(said)[-3000:]}")
    return took


def children_cpu_s() -> float:
    """Seconds of processor that ended children have used: what a busy computer does not change."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def left(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """Files that are there now and were not, are gone, or have changed, besides what the system writes down."""
    paths = before.keys() | after.keys()
    return sorted(path for path in paths if before.get(path) != after.get(path) and not RECORDS.match(path))


def main(argv: list[str]) -> int:
    """Try the package; returns the exit code."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("package", type=Path)
    parser.add_argument("--suite", default="bookworm")
    parser.add_argument("--bare", type=Path, help="where a bare Debian is, or will be kept")
    parser.add_argument("--pictures", type=Path, default=Path("pictures"))
    parser.add_argument("--from", dest="wheels", type=Path, help="a folder of wheels for the training part")
    options = parser.parse_args(argv)
    with bare_debian(options.bare, options.suite) as debian, screen() as display:
        shutil.copy(options.package, debian.root / "potluck.deb")
        told = try_package(debian, display, options)
    print(json.dumps(told))
    return 1 if told["left"] else 0


def try_package(debian: Debian, display: str, options: argparse.Namespace) -> dict[str, object]:
    """Install, open, train, remove; returns what was measured."""
    accounts_before = debian.accounts()
    before, cpu_before = debian.listing(), children_cpu_s()
    parts = install(debian)
    installed_s, cpu_s = sum(parts.values()), children_cpu_s() - cpu_before
    first_s = open_window(debian, display, options.pictures / "first-page.png")
    told = {
        "package_mb": round(options.package.stat().st_size / 1e6, 1),
        "on_disk_mb": int(debian.run("du", "-sm", "/usr/lib/potluck").split()[0]),
        "install_s": round(installed_s, 1),
        "install_parts_s": {name: round(seconds, 1) for name, seconds in parts.items()},
        "install_cpu_s": round(cpu_s, 1),
        "first_page_s": round(first_s, 2),
        "all_told_s": round(installed_s + first_s, 1),
        "second_start_s": round(open_window(debian, display, options.pictures / "second-start.png"), 2),
        "version": debian.run("potluck", "--version", person=True).strip(),
    }
    if options.wheels:
        told |= train(debian, options.wheels)
    debian.run("apt-get", "purge", "--yes", "-qq", "--autoremove", "potluck")
    kinds = ("-o", "APT::AutoRemove::RecommendsImportant=0", "-o", "APT::AutoRemove::SuggestsImportant=0")
    debian.run("apt-get", *kinds, "autoremove", "--purge", "--yes", "-qq")
    accounts = debian.accounts() - accounts_before
    return {**told, "accounts": sorted(accounts), "left": left(before, debian.listing())}


def train(debian: Debian, wheels: Path, program: str = "potluck") -> dict[str, object]:
    """Get the training part as the person, and have a collaboration on this computer alone take some steps."""
    refused = subprocess.run(
        debian.command(program, "demo", "--headless", "--epochs", STEPS, person=True),
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    shutil.copytree(wheels, debian.root / "wheels")
    begin = time.monotonic()
    debian.run(program, "training-part", "get", "--build", "cpu", "--from", "/wheels", person=True)
    got_s = time.monotonic() - begin
    begin = time.monotonic()
    said = debian.run(program, "demo", "--headless", "--epochs", STEPS, person=True)
    shutil.rmtree(debian.root / "wheels")
    return {
        "without_training_part": (refused.stderr or refused.stdout).strip()[-300:],
        "training_part_s": round(got_s, 1),
        "training_part_mb": int(debian.run("du", "-sm", HOME).split()[0]),
        "trained_s": round(time.monotonic() - begin, 1),
        "trained": said.strip()[-300:],
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
