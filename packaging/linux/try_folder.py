"""Starts a program folder or an AppImage on a bare Debian, where nothing else is installed, and says what works.

    python3 packaging/linux/try_folder.py DIR/potluck [--suite bookworm] [--bare DIR] [--pictures DIR] [--from WHEELS]
    python3 packaging/linux/try_folder.py FILE.AppImage ...

Needs what try_deb.py needs.  Asks the commands, has a collaboration refused for the training part that is not there,
installs the libraries of the system that the window asks for, as any desktop has them (for an AppImage also fuse, which
mounts it), and opens it.  With --from a collaboration trains then.  Prints one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from pathlib import Path

from try_deb import HOME, PERSON, Debian, bare_debian, environment, open_window, screen, train

MOUNTS = ("fuse3", "libfuse2")
"""What mounts an AppImage: its runtime of today asks for the first, those from before 2023 for both."""


def asked(debian: Debian, program: str, *words: str, **variables: str) -> dict[str, object]:
    """What the program answers to a command, the end of it."""
    done = subprocess.run(
        debian.command(program, *words, person=True),
        env=environment(LANG="C.UTF-8", **variables),
        capture_output=True,
        text=True,
        check=False,
    )
    return {"code": done.returncode, "said": (done.stdout.strip() + " " + done.stderr.strip()).strip()[-600:]}


def main(argv: list[str]) -> int:
    """Try it; returns the exit code."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("program", type=Path)
    parser.add_argument("--suite", default="bookworm")
    parser.add_argument("--bare", type=Path, help="where a bare Debian is, or will be kept")
    parser.add_argument("--pictures", type=Path, default=Path("pictures"))
    parser.add_argument("--from", dest="wheels", type=Path, help="a folder of wheels for the training part")
    options = parser.parse_args(argv)
    with bare_debian(options.bare, options.suite) as debian, screen() as display:
        print(json.dumps(try_program(debian, display, options)))
    return 0


def try_program(debian: Debian, display: str, options: argparse.Namespace) -> dict[str, object]:
    """Copy, ask, open, train; returns what was measured."""
    is_file = options.program.is_file()
    place = f"{HOME}/{options.program.name}"
    program = place if is_file else f"{place}/potluck"
    began = time.monotonic()
    subprocess.run(["cp", "--archive", str(options.program), f"{debian.root}{place}"], check=True)
    debian.run("chown", "-R", f"{PERSON}:{PERSON}", place)
    copied_s = time.monotonic() - began
    if is_file:
        debian.run("apt-get", "install", "--yes", "-qq", "--no-install-recommends", *MOUNTS)
    told = {
        "on_disk_mb": int(debian.run("du", "-sm", place).split()[0]),
        "copied_s": round(copied_s, 1),
        "version": asked(debian, program, "--version"),
        "doctor": asked(debian, program, "doctor"),
        "without_training_part": asked(debian, program, "demo", "--headless", "--epochs", "1"),
        "without_libraries": asked(debian, program, DISPLAY=display),
    }
    if lacks := re.search(r"apt-get install ([a-z0-9.+ -]+)", str(told["without_libraries"])):
        debian.run("apt-get", "install", "--yes", "-qq", "--no-install-recommends", *lacks[1].split())
    first_s = open_window(debian, display, options.pictures / "folder.png", program)
    told["first_page_s"] = round(first_s, 2)
    return told | train(debian, options.wheels, program) if options.wheels else told


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
