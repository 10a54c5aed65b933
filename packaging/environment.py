"""The virtual environment: made when it is missing or broken, filled from the lock when that has changed.

Standard library only.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import lock_files
import system_libraries as libraries
from pip_progress import PipProgress
from steps import ROOT, SetupProblem, Steps, last_lines, run_quietly

VENV = ROOT / ".venv"


def venv_python(venv: Path) -> Path:
    """The interpreter of a virtual environment."""
    return venv / "Scripts" / "python.exe" if os.name == "nt" else venv / "bin" / "python"


def site_packages(venv: Path) -> Path:
    """Where a virtual environment of our version keeps its packages."""
    return Path(sysconfig.get_path("purelib", "venv", {"base": str(venv), "platbase": str(venv)}))


def stamp_key(asked: list[bytes], python: str, torch: str) -> str:
    """Changes when what must be installed changes."""
    return hashlib.sha256(b"\0".join([*asked, python.encode(), torch.encode()])).hexdigest()


def is_installed(stamp: Path, key: str, locks: tuple[str, ...]) -> bool:
    """Whether the stamp says that what all of `locks` name is installed for `key`."""
    try:
        found = json.loads(stamp.read_text(encoding="utf-8"))
        return bool(found["key"] == key and set(locks) <= set(found["locks"]))
    except (OSError, ValueError, KeyError, TypeError):
        return False


def make_venv(steps: Steps) -> Path:
    """The environment's interpreter; the environment is made, or made again when it is broken.

    Raises:
        SetupProblem: it cannot be made.
    """
    python = venv_python(VENV)
    if works(python):
        return python
    steps.say(f"making {VENV.name}")
    shutil.rmtree(VENV, ignore_errors=True)
    done = create_venv(steps)
    if done.returncode != 0 and "ensurepip" in done.stdout + done.stderr:
        package = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
        libraries.system_install([package], "making an environment needs a package of the system", steps)
        shutil.rmtree(VENV, ignore_errors=True)
        done = create_venv(steps)
    if done.returncode != 0 or not works(python):
        raise SetupProblem(f"The environment {VENV} could not be made:\n{done.stdout}{done.stderr}".rstrip())
    return python


def create_venv(steps: Steps) -> subprocess.CompletedProcess[str]:
    """Run `python -m venv`."""
    command = [sys.executable, "-m", "venv", str(VENV)]
    with steps.showing(lambda: "unpacking pip"):
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def works(python: Path) -> bool:
    """Whether an environment's interpreter runs, has pip, and is of our version."""
    if not python.exists():
        return False
    question = "import pip, sys; print(sys.version)"
    try:
        done = subprocess.run(
            [str(python), "-c", question], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
    except OSError:
        return False
    return done.returncode == 0 and done.stdout.strip() == sys.version.strip()


def install(python: Path, locks: tuple[str, ...], torch: str, steps: Steps) -> None:
    """Install what is locked, unless the stamp says that it is there.

    Which build of torch pip would take says which of them is locked: pip alone would rather have one whose hash the
    index tells.  What builds comes next, since Potluck and what is published as source only are built without pip's
    usual environment for that, which would fetch what no lock names.

    Args:
        python: The environment's interpreter.
        locks: Names of lock files, besides those of torch.
        torch: The label of the build of torch to take; empty for the one that pip prefers.
        steps: Where progress is shown.

    Raises:
        SetupProblem: the lock is not the one of this pyproject.toml, or pip failed or refused a package.
    """
    site = site_packages(VENV)
    wanted = [ROOT / "pyproject.toml", *sorted(lock_files.lock_path("run").parent.glob("*.txt"))]
    key = stamp_key([path.read_bytes() for path in wanted], sys.version, torch)
    stamp = VENV / "potluck-stamp.json"
    if is_installed(stamp, key, locks):
        return
    lock_files.check()
    report = VENV / "torch.json"
    steps.say("installing the dependencies, some of them big: the first time takes minutes")
    stamp.unlink(missing_ok=True)
    compiling = ["--no-compile"] if "dev" in locks else []  # it takes a minute, and the tests import a fourth of all

    def pip(*words: str) -> None:
        run_pip(python, [*compiling, *words], PipProgress(site), steps)

    if not torch:
        asking = ("--dry-run", "--ignore-installed", "--no-deps", "--only-binary", ":all:", "--report", str(report))
        pip(*asking, lock_files.torch_pin())
        torch = json.loads(report.read_text("utf-8"))["install"][0]["metadata"]["version"].partition("+")[2]
    files = [lock_files.lock_path(name) for name in locks] + [lock_files.torch_lock(torch)]
    hashed = ("--require-hashes", "--only-binary", ":all:", "--no-build-isolation")
    pip(*hashed, "-r", str(files[0]))
    pip(*hashed, *(word for path in files for word in ("-r", str(path))))
    pip("--no-deps", "--no-build-isolation", "--editable", ".")
    stamp.write_text(json.dumps({"key": key, "locks": locks}), encoding="utf-8")
    steps.say("installed")


def run_pip(python: Path, words: list[str], progress: PipProgress, steps: Steps) -> None:
    """Run `pip install`.

    Raises:
        SetupProblem: it failed; with what to do.
    """
    log = VENV / "install.log"
    options = ["--no-input", "--progress-bar", "off", "--disable-pip-version-check"]
    begin = log.stat().st_size if log.exists() else 0
    if run_quietly([str(python), "-m", "pip", "install", *options, *words], log, steps, progress) == 0:
        return
    said = log.read_bytes()[begin:].decode("utf-8", errors="replace")
    if "DO NOT MATCH THE HASHES" in said:
        advice = (
            "A package is not the one that packaging/locked names, so it was not installed: take another index or"
            " network; if it is a build of torch that you trust, write it down: python3 packaging/lock.py torch LABEL."
        )
    elif "--require-hashes mode" in said:
        advice = f"packaging/locked lacks a package, so it was not installed. Write the lock anew: {lock_files.RENEW}."
    else:
        advice = "The dependencies could not be installed. Is there a connection, and room on the disk?"
    raise SetupProblem(f"{advice} The end of {log}:\n{last_lines(log)}")
