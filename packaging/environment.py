"""The virtual environment: made when it is missing or broken, filled when what is pinned has changed.

Standard library only.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

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


def stamp_key(pyproject: bytes, python: str, torch: str) -> str:
    """Changes when what must be installed changes."""
    return hashlib.sha256(b"\0".join([pyproject, python.encode(), torch.encode()])).hexdigest()


def is_installed(stamp: Path, key: str, extras: tuple[str, ...]) -> bool:
    """Whether the stamp says that all of `extras` are installed for `key`."""
    try:
        found = json.loads(stamp.read_text(encoding="utf-8"))
        return bool(found["key"] == key and set(extras) <= set(found["extras"]))
    except (OSError, ValueError, KeyError, TypeError):
        return False


def requirements(extras: tuple[str, ...], torch: str, pyproject: str) -> list[str]:
    """What pip is asked for: this folder with its extras, and a certain build of torch if one is named."""
    wanted = ["--editable", f".[{','.join(extras)}]"]
    if torch:
        pinned = re.search(r'"torch==([0-9.]+)"', pyproject)
        wanted.append(f"torch=={pinned.group(1) if pinned else ''}+{torch}")
    return wanted


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


def install(python: Path, extras: tuple[str, ...], torch: str, steps: Steps) -> None:
    """Install what is pinned, unless the stamp says that it is there.

    Raises:
        SetupProblem: pip failed.
    """
    pyproject = (ROOT / "pyproject.toml").read_bytes()
    key = stamp_key(pyproject, sys.version, torch)
    stamp = VENV / "potluck-stamp.json"
    if is_installed(stamp, key, extras):
        return
    steps.say("installing the dependencies, some of them big: the first time takes minutes")
    stamp.unlink(missing_ok=True)
    log = VENV / "install.log"
    wanted = requirements(extras, torch, pyproject.decode())
    options = ["--no-input", "--progress-bar", "off", "--disable-pip-version-check"]
    if "dev" in extras:
        options.append("--no-compile")  # it takes a minute, and the tests import a fourth of all files
    progress = PipProgress(site_packages(VENV))
    code = run_quietly([str(python), "-m", "pip", "install", *options, *wanted], log, steps, progress)
    if code != 0:
        raise SetupProblem(
            f"The dependencies could not be installed. Is there a connection, and room on the disk? The end of {log}:\n"
            f"{last_lines(log)}"
        )
    stamp.write_text(json.dumps({"key": key, "extras": extras}), encoding="utf-8")
    steps.say("installed")
