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
from steps import ROOT, Progress, SetupProblem, Steps, last_lines, run_quietly

VENV = ROOT / ".venv"
PLAIN = "plain"
"""In the place of a label: the build that pip would take by itself."""
PIP_OPTIONS = ("--no-input", "--progress-bar", "off", "--disable-pip-version-check")


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

    What builds comes first, since Potluck and what is published as source only are built without pip's
    usual environment for that, which would fetch what no lock names.

    Args:
        python: The environment's interpreter.
        locks: Names of lock files, besides those of torch.
        torch: The label of the build of torch to take, or PLAIN; empty for the one that fits this computer.
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
    steps.say("installing the dependencies, some of them big: the first time takes minutes")
    stamp.unlink(missing_ok=True)
    compiling = ["--no-compile"] if "dev" in locks else []  # it takes a minute, and the tests import a fourth of all

    def pip(*words: str) -> None:
        run_pip(python, [*compiling, *words], PipProgress(site), steps)

    label, places = (torch, ()) if torch not in ("", PLAIN) else find_torch(python, torch, steps)
    files = [lock_files.lock_path(name) for name in locks] + [lock_files.torch_lock(label)]
    hashed = ("--require-hashes", "--only-binary", ":all:", "--no-build-isolation")
    pip(*hashed, "-r", str(files[0]))
    pip(*hashed, *places, *(word for path in files for word in ("-r", str(path))))
    pip("--no-deps", "--no-build-isolation", "--editable", ".")
    stamp.write_text(json.dumps({"key": key, "locks": locks}), encoding="utf-8")
    steps.say("installed")


def find_torch(python: Path, wish: str, steps: Steps) -> tuple[str, tuple[str, ...]]:
    """The label of the build of torch that fits this computer, and further words with which pip finds it.

    A build with a label is looked for where pip's settings say, and then in PyTorch's own index.  Without a label pip
    is asked which one it would take: it would rather have one whose hash the index tells.

    Args:
        python: The environment's interpreter.
        wish: PLAIN: pip's usual one, whatever this computer has.
        steps: Where progress is shown.

    Raises:
        SetupProblem: no place has it.
    """
    sys.path.append(str(ROOT))
    from core.parts import choice  # noqa: PLC0415 - a Python that is too old could not read it

    hardware = choice.look()
    locked = [one for one in choice.builds_for(hardware) if lock_files.lock_path(choice.lock_name(one)).exists()]
    label = "" if wish == PLAIN or not locked else choice.label(locked[0])
    report = VENV / "torch.json"
    asking = ("--dry-run", "--ignore-installed", "--no-deps", "--only-binary", ":all:", "--report", str(report))
    if not label:
        run_pip(python, [*asking, lock_files.torch_pin()], Progress("asking pip which torch it has"), steps)
        label = json.loads(report.read_text("utf-8"))["install"][0]["metadata"]["version"].partition("+")[2]
        return label, ()
    steps.say(f"this computer gets torch for {locked[0]}. {choice.advice_of(hardware)}".rstrip())
    wanted = f"{lock_files.torch_pin()}+{label}"
    for places in ((), ("--extra-index-url", choice.PYTORCH + label)):
        words = [str(python), "-m", "pip", "install", *PIP_OPTIONS, "--retries", "1", *asking, *places, wanted]
        if run_quietly(words, VENV / "install.log", steps, Progress("asking pip which torch it has")) == 0:
            return label, places
    raise SetupProblem(
        f"Neither the places that pip asks nor {choice.PYTORCH} give {wanted}, the build for {locked[0]}. Connect this"
        f" computer, or name a folder that has it: PIP_FIND_LINKS=FOLDER. pip's usual build, which can bring gigabytes"
        f" of NVIDIA's libraries, is taken with: --torch {PLAIN}"
    )


def run_pip(python: Path, words: list[str], progress: Progress, steps: Steps) -> None:
    """Run `pip install`.

    Raises:
        SetupProblem: it failed; with what to do.
    """
    log = VENV / "install.log"
    begin = log.stat().st_size if log.exists() else 0
    if run_quietly([str(python), "-m", "pip", "install", *PIP_OPTIONS, *words], log, steps, progress) == 0:
        return
    said = log.read_bytes()[begin:].decode("utf-8", errors="replace")
    if "DO NOT MATCH THE HASHES" in said:
        advice = (
            "A package is not the one that resources/locked names, so it was not installed: take another index or"
            " network; if it is a build of torch that you trust, write it down: python3 packaging/lock.py torch LABEL."
        )
    elif "--require-hashes mode" in said:
        advice = f"resources/locked lacks a package, so it was not installed. Write the lock anew: {lock_files.RENEW}."
    else:
        advice = "The dependencies could not be installed. Is there a connection, and room on the disk?"
    raise SetupProblem(f"{advice} The end of {log}:\n{last_lines(log)}")
