"""`python -m tests.sim paper`: the averaging experiments of S000, the paper's numbers beside this program's."""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from core.system.progress_bar import ProgressBar
from tests.sim.rounds import paper
from tests.sim.rounds.paper import Figure4Row, StepModel

NODES = (2, 4, 8, 16, 32, 64, 128, 256, 512)
PARTS = ("table1", "figure4", "figure5")


def run(args: argparse.Namespace) -> int:
    """Run the experiments.

    Args:
        args: only (one of `PARTS`, or None), rounds (of each fleet and strategy), nodes (the most in figure 5), json.

    Returns:
        0.
    """
    began = time.perf_counter()
    say = _Teller(json_too=args.json)
    parts = PARTS if args.only is None else (args.only,)
    model = None
    if "table1" in parts:
        _table1(args.rounds, say)
    if "figure4" in parts or "figure5" in parts:
        model = _figure4(args.rounds, say, silent="figure4" not in parts)
    if "figure5" in parts and model is not None:
        _figure5(args.nodes, model, say)
    say.end(time.perf_counter() - began)
    return 0


class _Teller:
    """Writes rows as objects or as sentences."""

    def __init__(self, *, json_too: bool) -> None:
        self._json = json_too
        self.bar = ProgressBar(json=json_too)

    def row(self, event: str, fields: dict[str, Any], sentence: str) -> None:
        self.bar.clear()
        sys.stdout.write((json.dumps({"event": event, **_rounded(fields)}) if self._json else sentence) + "\n")
        sys.stdout.flush()

    def title(self, sentence: str) -> None:
        self.bar.clear()
        if not self._json:
            sys.stdout.write(f"\n{sentence}\n")

    def end(self, seconds: float) -> None:
        self.row("done", {"wall_s": round(seconds, 1)}, f"\n{seconds:.0f} s.")


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {name: _rounded(inner) for name, inner in value.items()}
    return value


def _watched(say: _Teller, rows: Iterator[Any], count: int, what: str) -> Iterator[Any]:
    say.bar.show(0.0, what, part=what)
    for done, row in enumerate(rows, 1):
        yield row
        say.bar.show(done / count, what, part=what)
    say.bar.clear()


def _table1(rounds: int, say: _Teller) -> None:
    say.title("Table 1: seconds to average ResNet-50's gradients (25.6 million, fp16)")
    for row in _watched(say, paper.table1(rounds), len(paper.TABLE1), "table 1"):
        claim = paper.TABLE1_CLAIMS.get(row.fleet)
        says = f"; the paper: {claim}" if claim else ""
        say.row(
            "table1",
            {**asdict(row), "faster": row.faster, "paper": claim},
            f"  {row.fleet}: all-reduce {row.all_reduce.seconds:.2f}, parameter server "
            f"{row.parameter_server.seconds:.2f}, adaptive {row.adaptive.seconds:.2f} "
            f"(bound {row.adaptive.bound_s:.2f}): {row.faster:.2f} times as fast as all-reduce{says}",
        )


def _figure4(rounds: int, say: _Teller, *, silent: bool) -> StepModel:
    """The setups of figure 4; the model with which figure 5 goes on."""
    if silent:
        rows = list(paper.figure4(1, essential=True))
    else:
        say.title("Figure 4: ALBERT-large on 16 workers; speed is steps a second, the high-bandwidth setup's being 1")
        rows = list(_watched(say, paper.figure4(rounds), paper.FIGURE4_ROWS, "figure 4"))
    alone, overlapping = paper.fitted(*(row.averaging.seconds for row in rows[:3]))
    if silent:
        return alone
    for row in rows:
        _figure4_row(row, rows[0], (alone, overlapping), say)
    fields = {"no_overlap": asdict(alone), "some_overlap": asdict(overlapping)}
    say.row(
        "figure4.models",
        fields,
        f"  (a) computing {alone.compute_s:.1f} s, then averaging: fitted to 2.5 times; (b) computing "
        f"{overlapping.compute_s:.1f} s, {overlapping.hidden_s:.1f} s of the averaging hidden behind it: fitted to 2.5 "
        f"times and 47 %; (c) as (a), with delayed parameter updates",
    )
    return alone


def _figure4_row(row: Figure4Row, first: Figure4Row, models: tuple[StepModel, StepModel], say: _Teller) -> None:
    alone, overlapping = models
    steps = {
        name: (step(first.averaging.seconds, first.workers), step(row.averaging.seconds, row.workers))
        for name, step in (
            ("no_overlap", alone.step_s),
            ("some_overlap", overlapping.step_s),
            ("delayed", alone.delayed_s),
        )
    }
    speeds = {name: fast / own for name, (fast, own) in steps.items()}
    fields = {**asdict(row), "step_s": {name: own for name, (_, own) in steps.items()}, "speed": speeds}
    claim = f"paper {row.paper_speed:.2f}, " if row.paper_speed is not None else ""
    say.row(
        "figure4",
        fields,
        f"  {row.setup}: averaging {row.averaging.seconds:.2f} s (bound {row.averaging.bound_s:.2f}); speed: {claim}"
        f"(a) {speeds['no_overlap']:.2f}, (b) {speeds['some_overlap']:.2f}, (c) {speeds['delayed']:.2f}",
    )


def _figure5(most: int, model: StepModel, say: _Teller) -> None:
    say.title("Figure 5: seconds a step by the number of nodes (one target batch, computing then averaging)")
    sizes = [nodes for nodes in NODES if nodes <= most]
    for done, nodes in enumerate(sizes):
        fields: dict[str, Any] = {"nodes": nodes}
        words = []
        for name, fast in (("25 Gb/s", True), ("200, 100, 50 Mb/s", False)):
            say.bar.show(done / len(sizes), f"figure 5, {nodes} nodes", part="figure 5")
            row = paper.figure5_row(nodes, fast=fast)
            step_s = model.step_s(row.averaging_s, nodes)
            delayed_s = model.delayed_s(row.averaging_s, nodes)
            kind = "high_bandwidth" if fast else "heterogeneous"
            fields[kind] = {**asdict(row), "step_s": step_s, "delayed_s": delayed_s}
            words.append(f"{name}: averaging {row.averaging_s:.2f}, step {step_s:.2f}, delayed {delayed_s:.2f}")
        stages = f" in {row.stages} stages" if row.stages > 1 else ""
        say.row("figure5", fields, f"  {nodes} nodes{stages}: {'; '.join(words)}")
