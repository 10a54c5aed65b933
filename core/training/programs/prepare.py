"""What the organiser does once: check the recipe, read text, make what the task needs beside its numbers.

    python -m core.training.programs.prepare --recipe JSON --called FILE --out FOLDER [--start DIR]
    python -m core.training.programs.prepare --recipe JSON --called FILE [--recipe JSON --called FILE ...]

prints one JSON object a line: `progress` (text, fraction unless it is as before), then `prepared` (numbers, blobs,
notes, summary, costs), without a folder `checked`, or `problem` (code, message, hint; exit code 2).
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from core.base.data_source import PYTHON_DOCS, DataSource
from core.base.recipe import Recipe
from core.system.offline import offline
from core.tasks.text import text_of
from core.text.sources.index_at import index_of, listed
from core.training.programs.child import bounded_memory, chosen_by, given_secrets, reporting, say, say_wait


def main(arguments: Sequence[str] | None = None) -> int:
    """The program; see the module's docstring."""
    parser = argparse.ArgumentParser(prog="prepare", description="Prepare text for a collaboration.")
    parser.add_argument("--recipe", required=True, action="append", help="core.base.recipe.Recipe as JSON")
    parser.add_argument("--called", action="append", default=[], help="how sentences call it")
    parser.add_argument("--out", type=Path, help="where the files go; without it the recipes are only checked")
    parser.add_argument("--start", type=Path, metavar="DIR", help="go on from the model that transformers wrote there")
    chosen = chosen_by(parser, arguments)
    bounded_memory()
    called = chosen.called or ["recipe"]
    recipes, secrets = [msgspec.json.decode(recipe, type=Recipe) for recipe in chosen.recipe], given_secrets()
    if chosen.out is None:
        return reporting(lambda: _check(recipes, called))
    return reporting(lambda: _prepare(recipes[0], called[0], chosen.out, start=chosen.start, secrets=secrets))


def _check(recipes: Sequence[Recipe], called: Sequence[str]) -> None:
    os.environ["USE_TORCH"] = "0"
    from core.training.programs.checks import checked_recipe  # noqa: PLC0415 - after what it looks at

    for recipe, name in zip(recipes, called, strict=True):
        checked_recipe(recipe, called=name)
    say("checked")


def _prepare(recipe: Recipe, called: str, out: Path, *, start: Path | None, secrets: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory(prefix="potluck-") as cache:
        offline(Path(cache))
        if start is None:
            os.environ["USE_TORCH"] = "0"  # reading text does not need it, and importing all of it takes seconds
        from core.training.programs.checks import checked_recipe  # noqa: PLC0415 - only now the libraries stay off the network

        found = checked_recipe(recipe, called=called)
        sources = tuple(listed(one, index_of(Path(one.index)) if one.index else None) for one in recipe.sources)
        text = text_of(sources, tokenizer=recipe.tokenizer_named, secrets=secrets, tell=say_wait)
        if start is None:
            done = found.module.prepare(found.numbers, text, out, progress=_progress)
        else:
            done = found.module.prepare_from(start.absolute(), found.numbers, text, out, progress=_progress)
    costs = found.module.costs(done.numbers, recipe.mixture)
    say(
        "prepared",
        numbers=done.numbers,
        blobs={name: str(path.absolute()) for name, path in done.blobs.items()},
        notes=done.notes,
        summary=recipe.summary or f"{found.module.SUMMARY} {_called(recipe.sources)}.",
        costs={
            "parameters": costs.parameters,
            "activation_bytes": costs.activation_bytes,
            "optimizer_bytes": found.optimizer_bytes,
        },
    )


def _called(sources: tuple[DataSource, ...]) -> str:
    """The text in a few words, for the sentence that says what is learned."""
    first = sources[0]
    if first.address == PYTHON_DOCS:
        words = "the documentation that came with Python"
    elif first.path and first.index:
        words = "the texts that its organiser gives"
    elif first.path:
        words = f"the texts in {Path(first.path).name}"
    else:
        words = f"the texts at {first.host}"
    return words if len(sources) == 1 else f"{words} and {len(sources) - 1} more"


def _progress(text: str, share: float) -> None:
    say("progress", text=text, fraction=share)


if __name__ == "__main__":
    sys.exit(main())
