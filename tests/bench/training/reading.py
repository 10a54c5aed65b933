"""From text to rows on one core, beside `datasets` with the same tokenizer, and from the disk."""

import argparse
import asyncio
import os
import re
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import psutil

from core.api.numbers import amount
from core.base.data_source import PYTHON_DOCS, DataSource
from core.base.problems import BadInput
from core.reading.block_file import Shape
from core.reading.block_maker import BlockMaker
from core.reading.block_store import BlockKey, BlockStore
from core.reading.room import DiskRoom
from core.reading.rows import Counts, RowMaker
from core.storage.recipes import DEFAULT_RECIPE, open_recipe
from core.system.offline import offline
from core.tasks.albert.cutting import LENGTHS, AlbertCutter
from core.tasks.albert.numbers import AlbertNumbers
from core.tasks.tokenizers.unigram import pieces, train_unigram
from core.text.order.filters import read_filters
from core.text.sources.opening import open_source
from core.text.sources.source import Access, SourceTrouble, TextShards
from core.text.sources.texts import problem_of_trouble
from tests.bench.charters import charter_of
from tests.bench.spread import Spread
from tests.bench.training.loops import WORKER, LoopsWanted, measure_loops

LARGE: Final = {"layers": 24, "hidden": 1024, "intermediate": 4096, "length": 512}
"""ALBERT-large as in S000, section 4.2."""
CARD_FLOPS: Final = 400e12
"""What the fastest card of today gives a training loop at best, half-precision operations a second."""
TRAINED_CHARS: Final = 4_000_000
"""Length of the text on which the tokenizer is trained."""
_BLANK_LINES: Final = re.compile(r"\n\s*\n")


class DataReport(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of reading text, all on one core; tokens are pieces of text, without padding.

    A pass is all that a reader does: it reads files, finds paragraphs and sentences, filters, leaves out what is held
    out, cuts into pieces and rows, and writes rows with their digest to the disk.  `datasets` streams the same files by
    paragraphs and gives them to the same tokenizer by its default batch, and that is all: it neither finds sentences
    nor makes rows.
    """

    bench: str = "data"
    text_bytes: int
    recipe: str
    """The recipe whose tokenizer it is."""
    tokens: int
    """Tokens of a pass over the text."""
    vocab_size: int
    sequence_length: int
    first_pass: Spread
    """Tokens a processor second, from files to rows on the disk, by a reader that has just started: it meets every
    word for the first time."""
    second_pass: Spread
    """The same by a reader that knows the words, as one does that has read for a while."""
    cached: Spread
    """The same from blocks on the disk, which are checked and drawn in another order."""
    datasets: Spread
    """The same of `datasets` in streaming mode with the same tokenizer."""
    first_over_datasets: Spread
    """Turn by turn."""
    cached_over_first: Spread
    first_batch_s: float
    """From the beginning of a pass until 512 rows are there, seconds on the clock."""
    demo_need: float
    """Tokens a second that the demo's worker takes on this computer; 0: not measured."""
    large_need: float
    """Tokens a second that ALBERT-large takes at `card_flops`."""
    card_flops: float = CARD_FLOPS
    turns: int
    one_core: bool
    """Whether the system kept all of it on one core; else only what computes in several threads could use more."""
    cpus: int
    load_before: float
    """Processes that waited for a CPU when it began, mean of a minute."""


def run(args: argparse.Namespace) -> int:
    """Measure, and print the figures that came out."""
    report = measure(args)
    sys.stdout.write((msgspec.json.encode(report).decode() if args.json else sentences(report)) + "\n")
    return 0


def measure(args: argparse.Namespace) -> DataReport:
    """Read a text several times in each way.

    Raises:
        BadInput: the text cannot be used.
    """
    load_before = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    with (
        tempfile.TemporaryDirectory(prefix="potluck-bench-", ignore_cleanup_errors=True) as name,
        one_core() as is_one,
    ):
        folder = Path(name)
        offline(folder / "cache")
        size = _gathered(args.text, folder / "texts", args.megabytes * 1_000_000)
        tokenizer = train_unigram(iter(_beginning(folder / "texts")), vocab_size=args.vocab, recipe=args.recipe)
        numbers = AlbertNumbers(vocab_size=tokenizer.get_vocab_size(), sequence_length=args.length)
        others_read = _with_datasets(folder / "texts", tokenizer)
        first, second, cached, others, batch_s = [], [], [], [], []
        tokens = 0
        for turn in range(args.turns):
            cutter = AlbertCutter(numbers, tokenizer)
            once, again = (_Pass(folder / "texts", folder / f"blocks-{turn}-{at}", cutter) for at in range(2))
            tokens, seconds = _timed(once.read)
            first.append(tokens / seconds)
            batch_s.append(once.begun_s)
            others.append(_rate(others_read))
            second.append(_rate(again.read))
            cached.append(_rate(once.draw))
    return DataReport(
        text_bytes=size,
        recipe=args.recipe,
        tokens=tokens,
        vocab_size=numbers.vocab_size,
        sequence_length=args.length,
        first_pass=Spread.of(first),
        second_pass=Spread.of(second),
        cached=Spread.of(cached),
        datasets=Spread.of(others),
        first_over_datasets=Spread.of([one / other for one, other in zip(first, others, strict=True)]),
        cached_over_first=Spread.of([one / other for one, other in zip(cached, first, strict=True)]),
        first_batch_s=round(min(batch_s), 3),
        demo_need=0.0 if args.no_worker else asyncio.run(_demo_need()),
        large_need=round(CARD_FLOPS / _flops_a_token(**LARGE)),
        turns=args.turns,
        one_core=is_one,
        cpus=os.cpu_count() or 1,
        load_before=round(load_before, 2),
    )


@contextmanager
def one_core() -> Iterator[bool]:
    """Keep this thread, and those that it starts, on one core; gives whether the system can."""
    process = psutil.Process()
    if not hasattr(process, "cpu_affinity"):  # macOS
        yield False
        return
    before = process.cpu_affinity()
    process.cpu_affinity(before[-1:])
    try:
        yield True
    finally:
        process.cpu_affinity(before)


class _Pass:
    """One pass over a folder of text, by what a reader's process does, and another over what it left on the disk."""

    def __init__(self, texts: Path, blocks: Path, cutter: AlbertCutter) -> None:
        self._source = _opened(str(texts), texts)
        self._store = BlockStore(blocks, Shape(cutter.width, wide=False), b"bench" * 9, DiskRoom(1 << 40, blocks))
        rows = RowMaker(b"bench", 0, cutter, read_filters({}), Counts(), threading.Lock())
        self._maker = BlockMaker(self._source, rows, self._store, lambda *_: self._begun())
        self._began = 0.0
        self.begun_s = 0.0

    def read(self) -> int:
        """Make all blocks; returns how many tokens they hold."""
        self._began = time.monotonic()
        listing = self._source.listing()
        self._store.open_source(0, listing.digest)
        tokens = 0
        for shard in range(len(listing.shards)):
            row, last = 0, False
            while not last:
                _, path, seal = self._maker.make(shard, row, lambda: None, lambda: None)
                tokens += _tokens_of(path, seal.rows)
                row, last = row + seal.rows, seal.last
        return tokens

    def draw(self) -> int:
        """Open all blocks again, checked, and take their rows in another order; returns how many tokens they hold."""
        tokens = 0
        for shard in range(len(self._source.listing().shards)):
            row, last = 0, False
            while not last:
                kept = self._store.find(BlockKey(0, shard, row))
                assert kept is not None
                rows = np.load(kept.path, mmap_mode="r")
                order = np.random.default_rng(shard).permutation(kept.seal.rows)
                drawn = (rows[order[at : at + 64]] for at in range(0, kept.seal.rows, 64))
                tokens += sum(int(batch[:, :LENGTHS].sum(dtype=np.int64)) for batch in drawn)
                row, last = row + kept.seal.rows, kept.seal.last
        return tokens

    def _begun(self) -> None:
        self.begun_s = self.begun_s or time.monotonic() - self._began


def _tokens_of(path: Path, rows: int) -> int:
    return int(np.load(path, mmap_mode="r")[:rows, :LENGTHS].sum(dtype=np.int64))


def _with_datasets(texts: Path, tokenizer: Any) -> Callable[[], int]:
    """What reads all text with `datasets`, as its manual has it, and returns how many tokens came."""
    from datasets import load_dataset

    def read() -> int:
        files = sorted(str(path) for path in texts.iterdir())
        stream = load_dataset("text", data_files=files, split="train", streaming=True, sample_by="paragraph")
        cut = stream.map(lambda batch: {"ids": pieces(tokenizer, batch["text"])}, batched=True, remove_columns=["text"])
        return sum(len(row["ids"]) for row in cut)

    return read


def _timed(work: Callable[[], int]) -> tuple[int, float]:
    """What some work says, and the processor seconds that it took."""
    before = time.process_time()
    said = work()
    return said, time.process_time() - before


def _rate(work: Callable[[], int]) -> float:
    tokens, seconds = _timed(work)
    return tokens / seconds


def _opened(address: str, folder: Path | None) -> TextShards:
    return open_source(DataSource(address=address), Access(folder=folder))


def _gathered(address: str, folder: Path, bytes_max: int) -> int:
    """Write the beginning of a text to files that all can read; returns its size.

    Raises:
        BadInput: it cannot be read.
    """
    folder.mkdir()
    size = 0
    try:
        for number, text in enumerate(_texts(address)):
            size += (folder / f"{number:06}.txt").write_bytes(text.encode())
            if size >= bytes_max:
                break
    except SourceTrouble as trouble:
        raise problem_of_trouble(trouble) from trouble
    if size < bytes_max // 100:
        raise BadInput(f"{address} has too little text to measure with: {size:,} bytes.", hint="Name more text.")
    return size


def _texts(address: str) -> Iterator[str]:
    """The text in stretches of some hundred kilobytes, with lines between its paragraphs that all take for empty."""
    source = _opened(address, None if address == PYTHON_DOCS else Path(address))
    pieces_of = chain.from_iterable(source.read(shard) for shard in range(len(source.listing().shards)))
    waiting: list[str] = []
    for piece in pieces_of:
        waiting += (_BLANK_LINES.sub("\n\n", text) for text in piece.texts)
        if sum(map(len, waiting)) > 500_000:
            yield "\n\n".join(waiting)
            waiting = []
    yield "\n\n".join(waiting)


def _beginning(folder: Path) -> Iterator[str]:
    chars = 0
    for path in sorted(folder.iterdir()):
        for paragraph in path.read_text("utf-8").split("\n\n"):
            yield " ".join(paragraph.split())
            chars += len(paragraph)
            if chars > TRAINED_CHARS:
                return


def _flops_a_token(*, layers: int, hidden: int, intermediate: int, length: int) -> float:
    """Operations of a forward and a backward pass for each token: six a weight, and attention's."""
    return 6.0 * layers * (4 * hidden * hidden + 2 * hidden * intermediate) + 12.0 * layers * hidden * length


async def _demo_need() -> float:
    """Tokens a second that a worker of the demo takes, on one core of this computer."""
    recipe = open_recipe(DEFAULT_RECIPE)
    length = int(recipe.model.get("sequence_length", AlbertNumbers().sequence_length))
    with tempfile.TemporaryDirectory(prefix="potluck-bench-", ignore_cleanup_errors=True) as name:
        charter = await charter_of(Path(name) / "demo")
        wanted = LoopsWanted(loops=[WORKER], device="cpu", threads=1, micro_batch=None, turns=1, turn_s=4.0)
        found = await measure_loops(charter, Path(name) / "loops", wanted)
    return round(found.loops[WORKER].samples_per_s.median * length)


def sentences(report: DataReport) -> str:
    """The figures as sentences, for people."""

    def told(found: Spread) -> str:
        return f"{amount(found.median)} ({amount(found.least)} to {amount(found.most)})"

    need = f"ALBERT-large on a card of {report.card_flops / 1e12:.0f} TFLOP/s needs {amount(report.large_need)}"
    demo = f"; the demo's worker takes {amount(report.demo_need)} here" if report.demo_need else ""
    text = f"{report.text_bytes / 1e6:.1f} MB of text, {amount(report.tokens)} tokens of {report.vocab_size:,} pieces"
    return "\n".join(
        [
            f"{text} ({report.recipe}); tokens a second on one core, median of {report.turns} turns (least to most):",
            f"  first pass   {told(report.first_pass)}, first batch after {report.first_batch_s:.2f} s",
            f"  second pass  {told(report.second_pass)}: all words are known",
            f"  from disk    {told(report.cached)}, {report.cached_over_first.median:.3g} times the first pass",
            f"  datasets     {told(report.datasets)}",
            f"  first pass / datasets: {report.first_over_datasets.median:.3g} times as many",
            "A pass makes sentences, samples and files; datasets streams paragraphs to the same tokenizer, no more.",
            f"{need} tokens a second{demo}.",
            f"{report.cpus} processors, load {report.load_before:g} before.",
        ]
    )
