"""Tries mutants in copies of the repository, which are gone afterwards."""

import contextlib
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final, Self

from tests.mutants.table import Mutant

COPIED: Final = ("core", "tests", "pyproject.toml")
PYTEST: Final = ("-m", "pytest", "-q", "-x", "-rfE", "-p", "no:cacheprovider", "--hypothesis-profile=ci")
PASSED, FAILED = 0, 1
"""Exit codes of pytest; any other one says that it could not run the tests."""
_FIRST_FAILED: Final = re.compile(r"^(?:FAILED|ERROR) \S*::(\S+)", re.MULTILINE)


class Result(StrEnum):
    """What became of a mutant."""

    NOTICED = "noticed"
    SURVIVED = "survived"
    EQUIVALENT = "equivalent"
    """It survived, and the table says why it must."""
    NOT_EQUIVALENT = "not equivalent"
    """A test noticed it, although the table says that none can."""
    DOES_NOT_APPLY = "does not apply"
    NOT_TRIED = "not tried"
    """Its tests could not run."""


GOOD: Final = frozenset({Result.NOTICED, Result.EQUIVALENT})


@dataclass(frozen=True, slots=True)
class Tried:
    """A mutant, and what became of it."""

    mutant: Mutant
    result: Result
    why: str = ""
    """The first test that failed, or what was wrong."""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Run:
    """One run of pytest."""

    code: int | None
    """Exit code; None: it took longer than it may."""
    output: str
    seconds: float


class BaselineFailed(Exception):
    """The tests fail without any mutant; the message is what pytest said."""


class Runner:
    """Runs pytest in copies of the repository; on the way out of the context all of its processes end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[str]] = set()
        self._over = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._over = True
            for process in self._running:
                _kill(process)

    def pytest(self, copy: Path, tests: Sequence[str], *, limit_s: float) -> Run:
        """Run files of tests in a copy.

        Args:
            copy: Its root.
            tests: The files.
            limit_s: How long they may take together.

        Raises:
            RuntimeError: the context is over.
        """
        began = time.monotonic()
        with self._lock:
            if self._over:
                raise RuntimeError("no more tests are run")
            process = _start([sys.executable, *PYTEST, *tests], copy)
            self._running.add(process)
        try:
            output, _ = process.communicate(timeout=limit_s)
            return Run(process.returncode, output, time.monotonic() - began)
        except subprocess.TimeoutExpired:
            return Run(None, "", time.monotonic() - began)
        finally:
            with self._lock:
                _kill(process)
                self._running.discard(process)
            process.communicate()


def try_mutants(
    mutants: Sequence[Mutant], *, root: Path, jobs: int, limit_s: float, tell: Callable[[Tried | Run], None]
) -> list[Tried]:
    """Run the tests of all mutants on the tree as it is, and then those of each with its line made wrong.

    Args:
        mutants: In the order in which they begin.
        root: The repository; nothing in it changes.
        jobs: Number of mutants that are tried at the same time.
        limit_s: How long the tests of one mutant may take; one that makes them longer is noticed.
        tell: Told the run without mutants, and each result, as soon as it stands.

    Returns:
        One for each mutant, in their order.

    Raises:
        BaselineFailed: a test fails without any mutant, so that a failure would say nothing.
    """
    with copies(root, jobs) as free, ThreadPoolExecutor(jobs) as pool, Runner() as runner:

        def attempt(mutant: Mutant) -> Tried:
            copy = free.get()
            try:
                return _try(mutant, copy, runner, limit_s)
            finally:
                free.put(copy)

        tests = sorted({test for mutant in mutants for test in mutant.tests if (root / test).is_file()})
        if tests:
            copy = free.get()
            whole = runner.pytest(copy, tests, limit_s=limit_s * len(tests))
            free.put(copy)
            if whole.code != PASSED:
                raise BaselineFailed(whole.output or f"The tests take longer than {limit_s * len(tests):.0f} s.")
            tell(whole)
        futures = [pool.submit(attempt, mutant) for mutant in mutants]
        for future in as_completed(futures):
            tell(future.result())
        return [future.result() for future in futures]


@contextlib.contextmanager
def copies(root: Path, count: int) -> Iterator[SimpleQueue[Path]]:
    """Copies of what tests need, removed in the end."""
    free: SimpleQueue[Path] = SimpleQueue()
    folder = Path(tempfile.gettempdir()) / f"potluck-mutants-{secrets.token_hex(4)}"
    try:  # a signal may come as soon as the folder is there
        for number in range(count):
            copy = folder / str(number)
            copy.mkdir(parents=True, mode=0o700)
            for name in COPIED:
                source, target = root / name, copy / name
                if source.is_dir():
                    shutil.copytree(source, target)
                else:
                    shutil.copy2(source, target)
            free.put(copy)
        yield free
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _try(mutant: Mutant, copy: Path, runner: Runner, limit_s: float) -> Tried:
    """Make the line wrong in a copy, run the tests there, and make it right again."""
    try:
        mutated = mutant.apply(copy)
    except ValueError as problem:
        return Tried(mutant, Result.DOES_NOT_APPLY, str(problem))
    path = copy / mutant.file
    right = path.read_text(encoding="utf-8")
    path.write_text(mutated, encoding="utf-8")
    for compiled in path.parent.glob(f"__pycache__/{path.stem}.*"):  # may look as if it were of the wrong line
        compiled.unlink()
    try:
        run = runner.pytest(copy, mutant.tests, limit_s=limit_s)
    finally:
        path.write_text(right, encoding="utf-8")
    return Tried(mutant, *_judged(mutant, run), run.seconds)


def _judged(mutant: Mutant, run: Run) -> tuple[Result, str]:
    found = _FIRST_FAILED.search(run.output)
    match run.code:
        case None:
            result, why = Result.NOTICED, "the tests do not end"
        case 0:
            return (
                (Result.EQUIVALENT, " ".join(mutant.equivalent.split())) if mutant.equivalent else (Result.SURVIVED, "")
            )
        case 1 if found:
            result, why = Result.NOTICED, found[1]
        case _:
            return Result.NOT_TRIED, run.output[-2000:]
    return (Result.NOT_EQUIVALENT if mutant.equivalent else result), why


def _start(command: list[str], folder: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "POTLUCK_KEYRING": "off"}
    environment.pop("PYTHONPATH", None)
    own_group: dict[str, Any] = {"start_new_session": True} if os.name == "posix" else {}
    return subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
        **own_group,
    )


def _kill(process: subprocess.Popen[str]) -> None:
    """End a process that runs, and on systems that have groups of processes also those that it has started."""
    if process.poll() is not None:
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
