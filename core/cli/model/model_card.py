"""The README.md of an exported model: what it is, how good, how to load it, and who is to be thanked."""

import re
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from types import MappingProxyType
from typing import Any, Final

from core.api.numbers import amount, lasting
from core.api.snapshot import LeaderboardRow
from core.base.data_source import MEMBERS, PYTHON_DOCS, DataSource
from core.base.manifest import Manifest
from core.base.problems import printable
from core.ledger.ledger import Ledger

THANKED_MAX: Final = 100
"""Number of people with names of their own in the card."""
PROJECT: Final = "Potluck"
TAKES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "digits": "pixels from 0 to 1, of shape (images, pixels)",
        "gpt-experts": "whole numbers of shape (samples, letters): places of letters in `letters` of `config.json`",
    }
)
"""What models with experts take, by the task."""
LOADED: Final = """\
from core.tasks.experts.whole import load_whole

folder = "ADDRESS"
model = load_whole(folder)
"""
"""A program that loads a model with experts."""
ASKED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "digits": f"{LOADED}scores = model(images)",
        "gpt-experts": f"""\
import json

import torch
{LOADED}\
with open(f"{{folder}}/config.json", encoding="utf-8") as file:
    letters = json.load(file)["letters"]
text = "People bring their "
for _ in range(200):
    known = [letters.index(letter) if letter in letters else 0 for letter in text[-LENGTH:]]
    text += letters[model(torch.tensor([known]))[0, -1].softmax(0).multinomial(1)]
print(text)""",
    }
)
"""The same, which then asks the model something, by the task; a sample has LENGTH letters."""
_MARKS: Final = re.compile(r"([!#&()*+.:<=>?\[\\\]^_`{|}~-])")
"""Letters that have a meaning in Markdown, at the beginning of a line or within it; a backslash takes it away."""
_ALONE: Final = re.compile(r"[@$]")
"""Letters whose meaning returns once Markdown is read: GitHub links e-mail addresses and has formulas in dollars."""


def model_card(
    manifest: Manifest,
    *,
    epoch: int,
    ledger: Ledger,
    thanked: list[LeaderboardRow],
    exported: dict[str, Any],
    address: str,
) -> str:
    """The card, in Markdown with the hub's metadata; words of strangers are letters in it and nothing else.

    Args:
        manifest: The collaboration.
        epoch: Epoch of the state.
        ledger: Who gave what up to there.
        thanked: Those with names, who gave most first.
        exported: What the child process says (`core.training.programs.use.Exported`).
        address: What a program gives to `from_pretrained`.
    """
    samples = sum(row.samples for row in ledger.rows.values())
    unit = exported["loss_unit"]
    facts = [
        ("Organised by", _words(manifest.organiser)),
        ("Task", _words(manifest.task)),
        ("Text", _source(manifest)),
        ("Parameters", amount(exported["parameters"])),
        ("Steps", f"{amount(epoch)}, with {amount(samples)} samples"),
        (f"{_words(exported['loss_name']).capitalize()} on held-out text", f"{exported['loss']:.4f} {unit}".strip()),
        *_experts(exported),
        *((f"The same of {_words(name)} alone", f"{loss:.4f} {unit}") for name, loss in exported["baselines"].items()),
        ("Collaboration", f"`{manifest.id.hex()}`"),
    ]
    return "\n".join(
        [
            *("---", *_library(exported)),
            *("tags:", "- potluck", "- collaborative-training", "---", ""),
            *(f"# {_words(manifest.name)}", "", _words(manifest.summary), ""),
            f"People trained this model together on their own computers, with {PROJECT}.",
            *("", "| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in facts), ""),
            *("## How to load it", "", *_use(exported, address, manifest), ""),
            "It has learned from the text above only, and nobody has checked what it says.",
            _licence(manifest),
            *("", "## Thanks", "", *_thanks(thanked, len(ledger.rows)), ""),
        ]
    )


def _library(exported: dict[str, Any]) -> Iterable[str]:
    if "places" not in exported:
        yield "library_name: transformers"
        yield f"pipeline_tag: {exported['pipeline']}"


def _experts(exported: dict[str, Any]) -> Iterable[tuple[str, str]]:
    """How many experts are in the model, and how old their states were."""
    if "places" not in exported:
        return
    now, saved = exported["now"], exported["saved"]
    if exported["live"] is not None:
        yield "Experts that lived at volunteers", f"{amount(exported['live'])} of {amount(exported['places'])}"
    yield "Experts in this folder", f"{amount(exported['experts'])} of {amount(exported['places'])}"
    if saved:
        ages = [lasting(max(0.0, now - at)) for at in (saved[-1], saved[len(saved) // 2], saved[0])]
        yield "Age of their states", f"{ages[0]} the newest, {ages[1]} the median, {ages[2]} the oldest"
    if exported["missing"]:
        yield "Missing (layer: place)", ", ".join(exported["missing"])


def _use_mixture(address: str, manifest: Manifest) -> Iterable[str]:
    """A model with layers of experts needs this program, which has its modules."""
    yield f"With Potluck's own modules; the model takes {TAKES[manifest.task]}:"
    yield "```python"
    yield ASKED[manifest.task].replace("ADDRESS", address).replace("LENGTH", str(manifest.numbers.get("length")))
    yield "```"
    yield "`experts-NN.safetensors` has the experts of a layer by their places; a row goes to the best that are here."


def _use(exported: dict[str, Any], address: str, manifest: Manifest) -> Iterable[str]:
    if "places" in exported:
        yield from _use_mixture(address, manifest)
        return
    text = f"People bring their {exported['blank']} computers." if exported["blank"] else "People bring their "
    yield "```python"
    yield f"from transformers import {exported['auto_class']}, pipeline"
    yield ""
    yield f'use = pipeline("{exported["pipeline"]}", model="{address}")'
    yield f'print(use("{text}"))'
    yield f'model = {exported["auto_class"]}.from_pretrained("{address}")'
    yield "```"


def _thanks(thanked: list[LeaderboardRow], people: int) -> Iterable[str]:
    """A table of names and their shares of the samples."""
    if not thanked:
        yield "The ledger of this state names nobody yet."
        return
    yield "| who | samples | share |"
    yield "|---|---:|---:|"
    for row in thanked:
        yield f"| {_words(row.name)} | {amount(row.samples)} | {row.share:.1%} |"
    if people > len(thanked):
        yield ""
        yield f"And {amount(people - len(thanked))} more."


def _source(manifest: Manifest) -> str:
    """The text that was learned, without the path of the organiser's folder."""
    return " and ".join(_named(source) for source in manifest.sources)


def _named(source: DataSource) -> str:
    """One source, with its licence and credit where they are known."""
    name = PurePath(source.path.replace("\\", "/")).name
    if source.address == PYTHON_DOCS:
        named = "the documentation that comes with Python"
    elif source.address == MEMBERS:
        named = "texts that its organiser gave"
    elif source.path:
        named = f"the texts in the organiser's folder {_words(name)}"
    else:
        named = f"`{printable(source.address).replace('`', '%60').replace('|', '%7C')}`"
    more = ", ".join(_words(each) for each in (source.licence, source.credit) if each)
    return f"{named} ({more})" if more else named


def _licence(manifest: Manifest) -> str:
    """What is known of rights: the text's, never the model's."""
    if any(source.licence for source in manifest.sources):
        return "The licence of the text stands above; none is named for the model: ask its organiser."
    return "The collaboration names no licence: ask its organiser."


def _words(text: str) -> str:
    """Text of a stranger that Markdown, its extensions on GitHub and HTML leave as it is."""
    escaped = _MARKS.sub(r"\\\1", printable(text).strip())
    return _ALONE.sub(lambda found: f"<span>&#{ord(found[0])};</span>", escaped)
