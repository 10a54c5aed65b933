"""Sets Potluck up in `.venv` and starts it, on a machine that has nothing but Python.

    python3 packaging/bootstrap.py run [words for `potluck demo`]
    python3 packaging/bootstrap.py test [words for pytest]
    python3 packaging/bootstrap.py server               what a volunteer's server needs; starts nothing
    python3 packaging/bootstrap.py organiser            the same, and what a backbone's page needs

Standard library only.  It parses with Python 3.8 and later, to tell an older Python what is needed.  Progress goes to
stderr; stdout belongs to what is started.  pip's own settings (PIP_INDEX_URL, PIP_FIND_LINKS, ...) are honoured;
what it finds must have a hash that the files in `resources/locked` name.  The build of torch is the one that fits this
computer's cards (`core/parts/choice.py`).  With `--torch LABEL` before the words the build 2.13.0+LABEL is asked for;
pip must be able to find it, and the lock to know it (`lock.py torch LABEL`).  `--torch plain` takes pip's usual one.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import environment
import system_libraries as libraries
from demo_options import read_demo_options
from lock_files import SETS
from steps import ROOT, SetupProblem, Steps

PYTHON_NEEDED = (3, 11)
PYTHON_KNOWN = (3, 14)
"""The newest Python for which what is locked has files."""
WINDOWS = os.name == "nt"
EXIT_PROBLEM = 2
NO_SCREEN = "There is no screen here: progress is shown in this terminal, and Ctrl-C stops.\n"
NEXT = {"server": "docs/servers.md", "organiser": "docs/organiser.md"}
"""Commands that start nothing, and where their reader goes on."""
CHECKS = (
    ("ruff", ("-m", "ruff", "check", ".")),
    ("mypy", ("-m", "mypy")),
    ("lint-imports", ("-c", "from importlinter.cli import lint_imports_command as run; run()")),
)


@dataclass(frozen=True)
class Words:
    """The command line."""

    command: str
    torch: str
    rest: list[str]


def read_words(argv: list[str]) -> Words:
    """The command line, taken apart.

    Raises:
        SetupProblem: it cannot be understood.
    """
    if not argv or argv[0] not in SETS:
        raise SetupProblem(
            "Say what to do: python3 packaging/bootstrap.py run, or with test, server or organiser in the place of run"
        )
    command, rest = argv[0], list(argv[1:])
    torch = ""
    if rest and rest[0].startswith("--torch"):
        first = rest.pop(0)
        torch = first.partition("=")[2] if "=" in first else (rest.pop(0) if rest else "")
        if not re.fullmatch(r"[a-z0-9.]+", torch):
            raise SetupProblem("--torch needs the label of a build, for example: --torch cpu")
    if command in NEXT and rest:
        raise SetupProblem(f"bootstrap.py {command} takes no further words: it starts nothing.")
    return Words(command, torch, rest)


def usable_python() -> str | None:
    """A Python of this computer that is neither too old nor too new."""
    names = [f"python3.{minor}" for minor in range(PYTHON_KNOWN[1], PYTHON_NEEDED[1] - 1, -1)]
    for name in names:
        if shutil.which(name) and subprocess.call([name, "-c", ""], stderr=subprocess.DEVNULL) == 0:
            return name
    return None


def has_screen(environ: dict[str, str]) -> bool:
    """Whether a window can be shown."""
    return sys.platform != "linux" or bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))


def start(python: Path, words: Words) -> int:
    """Start the demo in place of this process, where the system can do that."""
    command = [str(python), "-m", "core", "demo", *words.rest]
    os.environ["PYTHONSAFEPATH"] = "1"  # a folder named core, where the person stands, is not ours
    if not WINDOWS:
        sys.stderr.flush()
        os.execv(command[0], command)  # noqa: S606 - our own interpreter, no shell wanted
    process = subprocess.Popen(command)
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            continue  # the child heard it too, and ends


def in_workers(words: list[str], cores: int) -> list[str]:
    """Return the words for pytest with which two processes more run the tests than there are cores: many tests wait.

    Words that choose the number of processes themselves, or a debugger, which needs the tests in its own process, are
    returned as they are.  A process that has nothing left takes over tests of the other ones: they differ in length.

    Args:
        words: The person's words for pytest.
        cores: Number of cores of this computer.
    """
    own = ("-n", "--numprocesses", "--maxprocesses", "--dist", "--tx", "--pdb", "--trace")
    if any(word.startswith(own) or "no:xdist" in word for word in words):
        return words
    return ["-n", str(cores + 2), "--dist", "worksteal", *words]


def begin_to_compile(python: Path, words: Words, environ: dict[str, str]) -> subprocess.Popen[bytes]:
    """Compile what the tests import, on a core that the checks leave idle: else each process of tests does it again."""
    command = [str(python), "-m", "pytest", "-q", *words.rest, "-n0", "--collect-only"]
    nothing = subprocess.DEVNULL
    return subprocess.Popen(command, cwd=ROOT, stdin=nothing, stdout=nothing, stderr=nothing, env=environ)


def run_tests(python: Path, words: Words, steps: Steps) -> int:
    """Run every check to its end; returns 0 when all passed.

    Hypothesis draws the same examples each time: a change is judged by what it changes. pytest alone draws others.
    """
    environ = {**os.environ, "POTLUCK_KEYRING": "off", "POTLUCK_SENSES": "off"}
    if not has_screen(environ):
        environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    results: list[tuple[str, int, float]] = []
    tests = in_workers(words.rest, os.cpu_count() or 1)
    compiler = begin_to_compile(python, words, environ)
    for name, arguments in (*CHECKS, ("pytest", ("-m", "pytest", "-q", "--hypothesis-profile=ci", *tests))):
        steps.say(f"{name} ...")
        if name == "pytest":
            compiler.wait()
        begin = time.monotonic()
        done = subprocess.run([str(python), *arguments], cwd=ROOT, stdin=subprocess.DEVNULL, check=False, env=environ)
        results.append((name, done.returncode, time.monotonic() - begin))
    sys.stdout.flush()
    for name, code, seconds in results:
        steps.say(f"{name:<12} {'passed' if code == 0 else f'FAILED (exit code {code})'} in {seconds:.0f} s")
    return 0 if all(code == 0 for _, code, _ in results) else 1


def main(argv: list[str]) -> int:
    """Set up and start; returns the exit code."""
    steps = Steps()
    try:
        words = read_words(argv)
        headless = words.command == "run" and read_demo_options(words.rest).headless
        if words.command == "run" and not headless and not has_screen(dict(os.environ)):
            sys.stderr.write(NO_SCREEN)
        python = environment.make_venv(steps)
        environment.install(python, SETS[words.command], words.torch, steps)
        if words.command == "test":
            libraries.install_missing(python, libraries.TEST_PLUGINS, steps)
            libraries.install_test_programs(steps)
            return run_tests(python, words, steps)
        if words.command in NEXT:
            steps.say(f"{python.parent / 'potluck'} is here; what comes next: {NEXT[words.command]}")
            return 0
        if has_screen(dict(os.environ)) and not headless:
            wayland = bool(os.environ.get("WAYLAND_DISPLAY"))
            libraries.install_missing(python, libraries.WAYLAND_PLUGINS if wayland else libraries.X11_PLUGINS, steps)
        return start(python, words)
    except SetupProblem as problem:
        sys.stderr.write(f"\n{problem}\n")
        return EXIT_PROBLEM
    except OSError as error:
        sys.stderr.write(f"\nPotluck could not be set up: {error}\n")
        return EXIT_PROBLEM
    except KeyboardInterrupt:
        sys.stderr.write("\nStopped.\n")
        return 130


def refuse_python() -> NoReturn:
    """Say which Python is needed, and end."""
    usable = usable_python()
    needed, known = (".".join(map(str, version)) for version in (PYTHON_NEEDED, PYTHON_KNOWN))
    words = " ".join(["packaging/bootstrap.py", *sys.argv[1:]])
    hint = f"Use: {usable} {words}" if usable else "Install one of these from python.org or your system's packages."
    sys.stderr.write(f"Potluck needs Python {needed} to {known}; this is {sys.version.split()[0]}. {hint}\n")
    sys.exit(EXIT_PROBLEM)


if __name__ == "__main__":
    if not PYTHON_NEEDED <= sys.version_info[:2] <= PYTHON_KNOWN:
        refuse_python()
    sys.exit(main(sys.argv[1:]))
