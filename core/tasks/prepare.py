"""What the organiser does once: read text, make what the task needs beside its numbers, choose the numbers.

    python -m core.tasks.prepare --task albert --source python-docs --out FOLDER

prints one JSON object a line: `progress` (text, fraction), then `prepared` (numbers, blobs, optimizer, target_samples,
summary) or `problem` (code, message, hint; exit code 2).
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from core.base.problems import UserProblem
from core.base.tasks import DEFAULT_TASK
from core.tasks import module_of
from core.tasks.lines import say, watch_parent
from core.tasks.text_files import PYTHON_DOCS, offline


def main(arguments: Sequence[str] | None = None) -> int:
    """The program; see the module's docstring."""
    parser = argparse.ArgumentParser(prog="prepare", description="Prepare text for a collaboration.")
    parser.add_argument("--task", default=DEFAULT_TASK, help=f"what is to be learned (default: {DEFAULT_TASK})")
    parser.add_argument("--source", default=PYTHON_DOCS, help="python-docs, or a folder of text files")
    parser.add_argument("--out", type=Path, required=True, help="where the files go")
    parser.add_argument("--start", type=Path, metavar="DIR", help="go on from the model that transformers wrote there")
    parser.add_argument("--with-parent", action="store_true", help="end when standard input closes")
    chosen = parser.parse_args(arguments)
    if chosen.with_parent:
        watch_parent()
    docs = chosen.source == PYTHON_DOCS
    source = chosen.source if docs else str(Path(chosen.source).absolute())
    try:
        with tempfile.TemporaryDirectory(prefix="potluck-") as cache:
            offline(Path(cache))
            module = module_of(chosen.task)
            if chosen.start is not None:
                done = module.prepare_from(chosen.start.absolute(), source, chosen.out, progress=_progress)
            else:
                os.environ["USE_TORCH"] = "0"  # reading text does not need it, and importing it takes seconds
                done = module.prepare(source, chosen.out, progress=_progress)
    except UserProblem as problem:
        say("problem", code=problem.code, message=problem.message, hint=problem.hint)
        return 2
    text = "the documentation that came with Python" if docs else f"the texts in {Path(source).name}"
    say(
        "prepared",
        numbers=done.numbers,
        blobs={name: str(path.absolute()) for name, path in done.blobs.items()},
        optimizer=done.optimizer,
        target_samples=done.target_samples,
        summary=f"{module.SUMMARY} {text}.",
    )
    return 0


def _progress(text: str, share: float) -> None:
    say("progress", text=text, fraction=share)


if __name__ == "__main__":
    sys.exit(main())
