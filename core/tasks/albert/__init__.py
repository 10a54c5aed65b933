"""A small ALBERT that learns masked words and the order of sentences (Lan et al. 2019)."""

from typing import Final

from core.base.manifest import Manifest
from core.tasks.albert.numbers import AlbertNumbers, albert_costs
from core.tasks.albert.prepare import prepare
from core.tasks.task import Blobs, Task

SUMMARY: Final = "A small language model learns to fill in missing words in"

NUMBERS: Final = AlbertNumbers
costs = albert_costs

__all__ = ["NUMBERS", "SUMMARY", "costs", "open_task", "prepare"]


def open_task(manifest: Manifest, blobs: Blobs) -> Task:
    """The task that a manifest describes.

    Raises:
        BadInput: numbers or blobs cannot be used.
    """
    from core.tasks.albert.task import Albert  # noqa: PLC0415 - brings torch, which preparing does not need

    return Albert.from_manifest(manifest, blobs)
