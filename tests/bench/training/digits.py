"""`python -m tests.bench digits`: how a mixture of experts learns where answers are late, or do not come.

Figure 5 of Learning@home, scaled: models of four layers on images of digits, a dense one and mixtures, whose workers
all share one model.  Time is simulated: computing takes none, and waiting an exponential time.

- `paper`: the paper's own emulation.  Each worker computes a whole pass at once, by the experts as they are; the
  update of the dense part comes later, by a latency.  Experts are never stale.  One that fails is replaced by the next.
- `flights`: the program's own flights, experts of a host, codec and staleness.  Each call waits an eighth of the
  latency; experts learn when it arrives.  The trunk takes a synchronous step for each `workers` batches.
"""

import argparse
import statistics
import sys
from collections.abc import Sequence

import msgspec
import torch

from core.training.experts.bounds import STALE_BUCKETS
from tests.bench.training.digit_runs import BATCH, LAYERS, TOP, WIDTH, Images, Outcome, Setting
from tests.bench.training.emulated import emulated
from tests.bench.training.flown import flown


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """All runs of a setting."""

    setting: Setting
    runs: list[Outcome]


class DigitsReport(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of all settings."""

    bench: str = "digits"
    batches: int
    batch: int = BATCH
    width: int = WIDTH
    layers: int = LAYERS
    top: int = TOP
    rows: list[Row]


def run(args: argparse.Namespace) -> int:
    """Try all settings."""
    torch.set_num_threads(1)
    images = Images(args.text)
    settings = [
        Setting(mode=mode, experts=experts, workers=workers, latency_s=latency_s, failures=failures)
        for mode in args.modes
        for experts in args.experts
        for workers, latency_s, failures in ((16, 0.1, 0.0), (64, 1.0, 0.0), (64, 1.0, 0.1))
        if experts or mode == "paper"
    ]
    rows = []
    for setting in settings:
        runs = [_try(setting, images, seed=seed, batches=args.batches) for seed in range(1, args.seeds + 1)]
        rows.append(Row(setting=setting, runs=runs))
        if not args.json:
            _say(rows[-1], args.batches)
    if args.json:
        sys.stdout.write(msgspec.json.encode(DigitsReport(batches=args.batches, rows=rows)).decode() + "\n")
    return 0


def _try(setting: Setting, images: Images, *, seed: int, batches: int) -> Outcome:
    if setting.mode == "paper":
        return emulated(setting, images, seed=seed, batches=batches)
    return flown(setting, images, seed=seed, batches=batches)


def _deviation(found: Sequence[float]) -> float:
    return statistics.stdev(found) if len(found) > 1 else 0.0


def _say(row: Row, batches: int) -> None:
    setting = row.setting
    model = f"{setting.experts} experts" if setting.experts else "dense"
    accuracies = [one.accuracy for one in row.runs]
    words = [
        f"{setting.mode:8}{model:12}{setting.workers:3} workers {setting.latency_s * 1000:5.0f} ms",
        f"{setting.failures:.0%} failures",
        f"accuracy {statistics.fmean(accuracies):.4f} +- {_deviation(accuracies):.4f}",
        f"loss {statistics.fmean(one.loss for one in row.runs):.3f}",
        f"training loss {statistics.fmean(one.training_loss for one in row.runs):.4f}",
        f"after {batches} batches of {BATCH}, {len(row.runs)} seeds, width {WIDTH}, {LAYERS} layers, top {TOP}",
    ]
    if setting.mode != "paper":
        stale = [sum(one.stale[bucket] for one in row.runs) for bucket in range(STALE_BUCKETS)]
        while stale and not stale[-1]:
            stale.pop()
        words.append(f"lost {sum(one.lost for one in row.runs)}; steps late (0, 1, 2-3, ...): {stale}")
    sys.stdout.write("  ".join(words) + "\n")
    sys.stdout.flush()
