"""What the organiser does once: check the recipe, read text, make what the task needs beside its numbers.

    python -m core.training.prepare --recipe JSON --called FILE --out FOLDER [--start DIR]

prints one JSON object a line: `progress` (text, fraction), then `prepared` (numbers, blobs, notes, summary, costs) or
`problem` (code, message, hint; exit code 2).
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from core.base.recipe import PYTHON_DOCS, Recipe
from core.system.offline import offline
from core.training.child import end_with_parent, reporting, say


def main(arguments: Sequence[str] | None = None) -> int:
    """The program; see the module's docstring."""
    parser = argparse.ArgumentParser(prog="prepare", description="Prepare text for a collaboration.")
    parser.add_argument("--recipe", required=True, help="core.base.recipe.Recipe as JSON")
    parser.add_argument("--called", default="recipe", help="how sentences call it")
    parser.add_argument("--out", type=Path, required=True, help="where the files go")
    parser.add_argument("--start", type=Path, metavar="DIR", help="go on from the model that transformers wrote there")
    parser.add_argument("--with-parent", action="store_true", help="end when standard input closes")
    chosen = parser.parse_args(arguments)
    if chosen.with_parent:
        end_with_parent()
    recipe = msgspec.json.decode(chosen.recipe, type=Recipe)
    return reporting(lambda: _prepare(recipe, chosen.called, chosen.out, chosen.start))


def _prepare(recipe: Recipe, called: str, out: Path, start: Path | None) -> None:
    with tempfile.TemporaryDirectory(prefix="potluck-") as cache:
        offline(Path(cache))
        if start is None:
            os.environ["USE_TORCH"] = "0"  # reading text does not need it, and importing all of it takes seconds
        from core.training.checks import checked_recipe  # noqa: PLC0415 - only now the libraries stay off the network

        found = checked_recipe(recipe, called=called)
        if start is None:
            done = found.module.prepare(found.numbers, out, progress=_progress)
        else:
            done = found.module.prepare_from(start.absolute(), found.numbers, out, progress=_progress)
    docs = recipe.text == PYTHON_DOCS
    text = "the documentation that came with Python" if docs else f"the texts in {Path(recipe.text).name}"
    costs = found.module.costs(done.numbers)
    say(
        "prepared",
        numbers=done.numbers,
        blobs={name: str(path.absolute()) for name, path in done.blobs.items()},
        notes=done.notes,
        summary=recipe.summary or f"{found.module.SUMMARY} {text}.",
        costs={
            "parameters": costs.parameters,
            "activation_bytes": costs.activation_bytes,
            "optimizer_bytes": found.optimizer_bytes,
        },
    )


def _progress(text: str, share: float) -> None:
    say("progress", text=text, fraction=share)


if __name__ == "__main__":
    sys.exit(main())
