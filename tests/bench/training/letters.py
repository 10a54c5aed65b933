"""`python -m tests.bench letters`: dense models and a mixture of experts that write, where all is late.

Figure 6 of Learning@home, scaled: a dense model, a small one whose blocks are as large as one expert, and a mixture
whose letters are given to four such experts, all of three layers, after the same number of batches.  Time is
simulated: computing takes none.  The dense models' updates come late, as in the paper's emulation; the mixture is the
program's own, with its flights, codec and staleness, and experts that are late or do not answer.
"""

import argparse
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from core.base.content import digest
from core.base.data_source import DataSource
from core.tasks.experts.blocks import feed_forward
from core.tasks.gpt import prepare
from core.tasks.gpt_cutting import Alphabet, GptCutter, GptNumbers, gpt_numbers, read_counts
from core.tasks.gpt_experts import GptTrunk, MixtureGpt
from core.tasks.task import Blobs
from core.tasks.text import read_text, text_of
from core.text.order.documents import Document
from tests.bench.training.digit_runs import TOP, WIDTH, Outcome, Setting, last_tenth
from tests.bench.training.emulated import LateUpdates
from tests.bench.training.flown import flown_task, numbers_of

LAYERS: Final = 3
LENGTH: Final = 64
BATCH: Final = 16
FACTOR: Final = 2
DENSE_FACTOR: Final = 5
"""A block so wide has 4.3 times the parameters of an expert, of which a letter is given to four."""
HELD_OUT: Final = 256
WORKERS: Final = 16
LATENCY_S: Final = 1.0
CHARS_MAX: Final = 20_000_000


class LettersReport(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of all models."""

    bench: str = "letters"
    batches: int
    letters: int = BATCH * LENGTH
    """Letters of a batch."""
    width: int = WIDTH
    layers: int = LAYERS
    top: int = TOP
    workers: int
    latency_s: float
    failures: float
    experts: int
    runs: dict[str, list[Outcome]]


class Dense(nn.Module):
    """A trunk whose blocks are its own.

    Args:
        trunk: Its gates stay unused.
        factor: How many times as wide a block is within.
    """

    def __init__(self, trunk: GptTrunk, factor: int) -> None:
        super().__init__()
        self.trunk = trunk
        self.blocks = nn.ModuleList(feed_forward(WIDTH, factor) for _ in range(LAYERS))

    def forward(self, letters_BT: torch.Tensor) -> torch.Tensor:
        """Scores of the letter after each."""
        x = self.trunk.enter(letters_BT)
        for layer, block in enumerate(self.blocks):
            rows, _ = self.trunk.gate(layer, x)
            x = self.trunk.after(layer, x, block(rows))
        return self.trunk.scores(x)


class Letters:
    """A text as rows of letters, and the task of a mixture.

    Args:
        folder: Has the text.
        scratch: Where the task's files go.
        setting: Decides the mixture's sizes.
    """

    def __init__(self, folder: Path, scratch: Path, setting: Setting) -> None:
        text = text_of((DataSource(address=str(folder.expanduser().absolute())),))
        sizes = {"length": LENGTH, "heads": 4, "head_width": WIDTH // 4, "layers": LAYERS, "micro_batch": BATCH}
        prepared = prepare({**sizes, "held_out": HELD_OUT}, text, scratch, progress=lambda *_: None)
        named = {name: digest(path.read_bytes()).hex() for name, path in prepared.blobs.items()}
        for name, path in prepared.blobs.items():
            path.rename(scratch / named[name])
        blobs = Blobs(scratch, named)
        self.numbers: GptNumbers = gpt_numbers(prepared.numbers)
        self.mixture = numbers_of(setting, layers=LAYERS, factor=FACTOR)
        counts = read_counts(blobs)
        held_out = blobs.decode("held_out", list[Document])
        self.task = MixtureGpt(self.numbers, self.mixture, counts=counts, held_out=held_out, blobs=blobs)
        train, _ = read_text(text, lambda *_: None, chars_max=CHARS_MAX)
        cutter = GptCutter(self.numbers, Alphabet(list(counts), self.numbers.alphabet))
        self.rows = np.stack(list(cutter.cut(train, Random(0))))

    def batches(self, seed: int) -> Iterator[NDArray[Any]]:
        """Batches without end, in an order by the seed."""
        random = np.random.default_rng(seed)
        while True:
            yield self.rows[random.integers(0, len(self.rows), BATCH)]


def run(args: argparse.Namespace) -> int:
    """Try all models."""
    torch.set_num_threads(1)
    setting = Setting(
        mode="flights",
        experts=args.experts,
        workers=WORKERS,
        latency_s=LATENCY_S,
        failures=args.failures,
    )
    with tempfile.TemporaryDirectory() as scratch:
        letters = Letters(args.text, Path(scratch), setting)
        found: dict[str, list[Outcome]] = {}
        for seed in range(1, args.seeds + 1):
            for name, factor in (("dense", DENSE_FACTOR), ("dense, small", FACTOR)):
                found.setdefault(name, []).append(dense(letters, setting, factor, seed=seed, batches=args.batches))
            flown = flown_task(
                setting, letters.task, letters.mixture, letters.batches(seed), seed=seed, batches=args.batches
            )
            found.setdefault(f"{args.experts} experts", []).append(flown)
            if not args.json:
                _say(found, seed)
    if args.json:
        report = LettersReport(
            batches=args.batches,
            workers=setting.workers,
            latency_s=setting.latency_s,
            failures=setting.failures,
            experts=setting.experts,
            runs=found,
        )
        sys.stdout.write(msgspec.json.encode(report).decode() + "\n")
    return 0


def dense(letters: Letters, setting: Setting, factor: int, *, seed: int, batches: int) -> Outcome:
    """A dense model whose updates come late.

    Args:
        letters: What is learned.
        setting: How late.
        factor: How many times as wide a block is within.
        seed: All chance follows from it.
        batches: Number of batches.
    """
    torch.manual_seed(seed)
    model = Dense(letters.task.model(seed), factor)
    updates = LateUpdates(model.parameters(), setting, seed)
    rows, losses = letters.batches(seed), []
    for _ in range(batches):
        updates.begin()
        batch = letters.task.batch(next(rows), np.zeros(BATCH, np.uint64)).rows
        loss = nn.functional.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
        loss.backward()  # type: ignore[no-untyped-call]
        losses.append(loss.item())
        updates.end()
    with torch.no_grad():
        held = torch.cat([batch.rows for batch in letters.task.held_out])
        scores, meant = model(held[:, :-1]).flatten(0, 1), held[:, 1:].flatten()
    right = (scores.argmax(1) == meant).double().mean().item()
    return Outcome(
        accuracy=right, loss=nn.functional.cross_entropy(scores, meant).item(), training_loss=last_tenth(losses)
    )


def _say(found: dict[str, list[Outcome]], seeds: int) -> None:
    for name, runs in found.items():
        losses = [one.loss for one in runs]
        spread = statistics.stdev(losses) if len(losses) > 1 else 0.0
        sys.stdout.write(
            f"{name:14} loss {statistics.fmean(losses):.4f} +- {spread:.4f}"
            f"  letters right {statistics.fmean(one.accuracy for one in runs):.4f}"
            f"  training loss {statistics.fmean(one.training_loss for one in runs):.4f}"
            f"  lost {sum(one.lost for one in runs)}  {seeds} seeds\n"
        )
    sys.stdout.flush()
