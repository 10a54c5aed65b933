"""What runs of `python -m tests.bench digits` have in common: settings, images, and what comes of a run."""

import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from core.base.data_source import DataSource
from core.base.problems import BadInput
from core.tasks.digits_cutting import image_rows
from core.text.sources.opening import open_source
from core.text.sources.source import Access

LAYERS: Final = 4
TOP: Final = 4
WIDTH: Final = 64
BATCH: Final = 16
PIXELS: Final = 784
RATE: Final = 1e-3
"""Learning rate of all parts, of Adam."""
MEASURED: Final = 2000
"""Images that are measured with."""


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """What is tried."""

    mode: str
    experts: int
    """In all layers together; 0: a dense model."""
    workers: int
    latency_s: float
    failures: float
    """Share of the calls that are not answered."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one run."""

    accuracy: float
    loss: float
    """On images that nobody learns from."""
    training_loss: float
    """The mean over the last tenth of the batches."""
    lost: int = 0
    """Flights that ended on their way."""
    stale: tuple[int, ...] = ()
    """Gradients of experts by how many steps these had taken since: 0, 1, 2 to 3, 4 to 7, and so on."""


class Images:
    """The images of a folder: the first `MEASURED` of the last file are measured with, where there are several files.

    Args:
        folder: Has idx files, with their classes beside.

    Raises:
        BadInput: it has none of the right size.
    """

    def __init__(self, folder: Path) -> None:
        path = folder.expanduser().absolute()
        shards = open_source(DataSource(address=str(path)), Access(folder=path))
        files = {shard.name: number for number, shard in enumerate(shards.listing().shards)}
        rows = {
            name: list(image_rows(([text] for piece in shards.read(number) for text in piece.texts), pixels=PIXELS))
            for name, number in files.items()
        }
        held = next((name for name in rows if name.startswith("t10k")), max(rows, default=""))
        if not held or sum(map(len, rows.values())) <= MEASURED:
            raise BadInput("There are too few images of 28 times 28 pixels.", hint="Name the folder of MNIST.")
        self.held = np.stack(rows[held][:MEASURED])
        rest = rows[held][MEASURED:] if len(rows) == 1 else []
        self.train = np.stack([row for name, found in rows.items() if name != held for row in found] + rest)

    def batches(self, seed: int) -> Iterator[NDArray[Any]]:
        """Batches without end, in an order by the seed."""
        random = np.random.default_rng(seed)
        while True:
            yield self.train[random.integers(0, len(self.train), BATCH)]


def last_tenth(losses: Sequence[float]) -> float:
    """The mean loss of the last tenth of the batches."""
    return statistics.fmean(losses[-max(1, len(losses) // 10) :])
