"""`potluck try - --stay`: answers one text after another; the model stays loaded, and follows training.

Each line of standard input is a `Question`, each line of standard output its answer: what `potluck try --json` prints.
The child with torch loads another state when there is a newer one, or when a question is about an earlier step.
"""

import argparse
import contextlib
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from core.base.manifest import Manifest
from core.base.problems import BadInput, Problem, Said, UserProblem, WorkerProblem
from core.cli.model.kept_model import KeptModel, KeptState, kept_model, newest_state
from core.cli.model.model_process import ANSWERS
from core.cli.printing.say import say_json, say_problem
from core.system.child_process import own_command

TEXT_CHARS_MAX: Final = 20_000
LINE_BYTES_MAX: Final = 256 * 1024
ENDED: Final = "The process with the model has ended."


class Question(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A text about which the model is asked."""

    text: Annotated[str, Meta(max_length=TEXT_CHARS_MAX)]
    """Empty: the model is loaded, and nothing else."""
    step: Annotated[int, Meta(ge=0, le=2**31)] | None = None
    """The model's step; None: the newest."""


def talk(args: argparse.Namespace) -> int:
    """Answer questions until standard input ends.

    Args:
        args: As for `potluck try`.
    """
    with tempfile.TemporaryDirectory(prefix="potluck-", ignore_cleanup_errors=True) as scratch:
        child = _Child(Path(scratch))
        try:
            for line in sys.stdin.buffer:
                try:
                    say_json(_answer(child, args, line))
                except Problem as problem:
                    say_problem(problem, json=True)
        finally:
            child.end()
    return 0


def _answer(child: "_Child", args: argparse.Namespace, line: bytes) -> dict[str, Any]:
    """The answer to one line.

    Raises:
        Problem: there is none.
    """
    try:
        asked = msgspec.json.decode(line, type=Question)
    except msgspec.DecodeError as error:
        raise BadInput("This line is not a question: {error}.", error) from error
    kept = kept_model(args)
    state = child.state(kept, asked.step)
    said = child.ask(kept, state, asked.text)
    return {**said, "collaboration": kept.manifest.id.hex(), "epoch": state.header.epoch, "steps": kept.epochs}


@dataclass(slots=True)
class _Child:
    """The process with torch, and copies of the states that it was asked about last.

    Attributes:
        scratch: Holds the copies.
    """

    scratch: Path
    _process: subprocess.Popen[bytes] | None = None
    _manifest: Manifest | None = None
    _states: dict[int | None, KeptState] = field(default_factory=dict)

    def state(self, kept: KeptModel, step: int | None) -> KeptState:
        """A copy of the state that is meant, as it was copied before where it is the same.

        Raises:
            Problem: there is none, or it cannot be copied.
        """
        known = self._states.get(step)
        newest = next(iter(kept.files(step)), None)
        if known is not None and newest is not None and newest.name.endswith(known.path.name):
            return known
        state = newest_state(kept, self.scratch, epoch=step)
        for old in {one.path for one in self._states.values()} - {state.path}:
            with contextlib.suppress(OSError):
                old.unlink()
        self._states = {step: state}
        return state

    def ask(self, kept: KeptModel, state: KeptState, text: str) -> dict[str, Any]:
        """What the model says of a text.

        Raises:
            Problem: the child says one, or has ended.
        """
        if self._process is None or self._manifest != kept.manifest:
            self.end()
            self._process, self._manifest = _started(kept, state), kept.manifest
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(msgspec.json.encode({"text": text, "state": str(state.path)}) + b"\n")
            process.stdin.flush()
            while line := process.stdout.readline(LINE_BYTES_MAX):
                said = _said(line)
                if said.get("event") == "problem":
                    made = msgspec.convert(said.get("said", ()), Said)
                    raise UserProblem(str(said.get("message")), hint=str(said.get("hint", "")), said=made)
                if said.get("event") in {*ANSWERS, "ready"}:
                    return said
        except OSError:
            pass
        self.end()
        raise WorkerProblem(ENDED, hint="Ask again in a moment.")

    def end(self) -> None:
        """Have the child end: it does when its input does."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in filter(None, (process.stdin, process.stdout)):
                with contextlib.suppress(OSError):  # what was to be written has no reader any more
                    pipe.close()


def _started(kept: KeptModel, state: KeptState) -> subprocess.Popen[bytes]:
    where = ["--manifest", str(kept.manifest_path), "--blobs", str(kept.blobs), "--state", str(state.path)]
    command = [*own_command("use-model", "core.training.programs.use"), *where, "answer"]
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # what a library says there may repeat the text
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
    )


def _said(line: bytes) -> dict[str, Any]:
    """The object on a line; an empty one where a library has printed something else."""
    try:
        said = msgspec.json.decode(line)
    except msgspec.DecodeError:
        return {}
    return said if isinstance(said, dict) else {}
