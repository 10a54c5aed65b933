"""A small ALBERT that learns masked words and the order of sentences (Lan et al. 2019)."""

from pathlib import Path
from typing import Final

from core.base.manifest import Manifest, Numbers
from core.tasks.albert.numbers import AlbertNumbers, albert_costs
from core.tasks.albert.prepare import prepare
from core.tasks.task import Blobs, PreparedTask, Task
from core.tasks.text import GivenText, Progress

SUMMARY: Final = "A small language model learns to fill in missing words in"

NUMBERS: Final = AlbertNumbers
costs = albert_costs

__all__ = ["NUMBERS", "SUMMARY", "costs", "open_task", "prepare", "prepare_from"]


def prepare_from(start: Path, numbers: Numbers, text: GivenText, out_dir: Path, *, progress: Progress) -> PreparedTask:
    """What `core.tasks.albert.pretrained` makes of a model as `transformers` has it."""
    from core.tasks.albert import pretrained  # noqa: PLC0415 - brings torch, which preparing else does not need

    return pretrained.prepare_from(start, numbers, text, out_dir, progress=progress)


def open_task(manifest: Manifest, blobs: Blobs) -> Task:
    """The task that a manifest describes.

    Raises:
        BadInput: numbers or blobs cannot be used.
    """
    from core.tasks.albert.task import Albert  # noqa: PLC0415 - brings torch, which preparing does not need

    return Albert.from_manifest(manifest, blobs)
