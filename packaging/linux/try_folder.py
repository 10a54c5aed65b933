"""Starts a program folder on a bare Debian, on which nothing else is installed, and says what works there.

    python3 packaging/linux/try_folder.py DIR/potluck [--suite bookworm] [--bare DIR] [--pictures DIR]

Needs what try_deb.py needs.  Asks the commands, has a collaboration refused for the training part that is not there,
installs the libraries of the system that the window asks for, as any desktop has them, and opens it.  Prints one line
of JSON.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from pathlib import Path

from try_deb import HOME, PERSON, Debian, bare_debian, environment, open_window, screen


def asked(debian: Debian, *words: str, **variables: str) -> dict[str, object]:
    """What the program answers to a command, the end of it."""
    done = subprocess.run(
        debian.command(f"{HOME}/potluck/potluck", *words, person=True),
        env=environment(LANG="C.UTF-8", **variables),
        capture_output=True,
        text=True,
        check=False,
    )
    return {"code": done.returncode, "said": (done.stdout.strip() + " " + done.stderr.strip()).strip()[-600:]}


def main(argv: list[str]) -> int:
    """Try the folder; returns the exit code."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--suite", default="bookworm")
    parser.add_argument("--bare", type=Path, help="where a bare Debian is, or will be kept")
    parser.add_argument("--pictures", type=Path, default=Path("pictures"))
    options = parser.parse_args(argv)
    with bare_debian(options.bare, options.suite) as debian, screen() as display:
        program = debian.root / HOME[1:] / "potluck"
        began = time.monotonic()
        subprocess.run(["cp", "--archive", str(options.folder), str(program)], check=True)
        debian.run("chown", "-R", f"{PERSON}:{PERSON}", f"{HOME}/potluck")
        copied_s = time.monotonic() - began
        told = {
            "on_disk_mb": int(debian.run("du", "-sm", f"{HOME}/potluck").split()[0]),
            "copied_s": round(copied_s, 1),
            "version": asked(debian, "--version"),
            "doctor": asked(debian, "doctor"),
            "without_training_part": asked(debian, "demo", "--headless", "--epochs", "1"),
            "without_libraries": asked(debian, DISPLAY=display),
        }
        if lacks := re.search(r"apt-get install ([a-z0-9.+ -]+)", str(told["without_libraries"])):
            debian.run("apt-get", "install", "--yes", "-qq", "--no-install-recommends", *lacks[1].split())
        first_s = open_window(debian, display, options.pictures / "folder.png", f"{HOME}/potluck/potluck")
        told["first_page_s"] = round(first_s, 2)
    print(json.dumps(told))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
