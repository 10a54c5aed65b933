"""One process with the whole batch: transformers' own ALBERT, torch's own AdamW, a schedule of one line.

    python -m tests.bench.training.big_batch MANIFEST BLOBS --steps 200 --samples 288 --seed 1

prints one JSON object with the held-out loss after each 5 steps.  Of Potluck it shares the text as batches and the
weights of the start, so that a collaboration has something independent to be held against (S000, figure 10).
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import torch
from torch.nn.functional import cross_entropy

from core.base.manifest import Manifest, read_manifest
from core.base.signing import Ed25519Verifier
from core.system.offline import offline
from core.tasks import task_of
from core.tasks.albert.masking import MaskedBatch
from core.tasks.albert.task import Albert
from core.tasks.task import Blobs
from core.training.samples.streamed import reading_alone
from tests.bench.training.batches import batches_of

EVERY = 5


class BigBatch:
    """A plain training loop, with one gradient a step.

    Args:
        task: Its text, and the weights of the start.
        manifest: Its AdamW with a linear schedule; and whether gradients are one step stale.
    """

    def __init__(self, task: Albert, manifest: Manifest) -> None:
        self._task = task
        self._numbers = manifest.optimizer
        self._stale = bool(manifest.averaging.overlaps)
        self._waiting: list[torch.Tensor] | None = None
        self.taken = 0
        self.network = task.pretrained(task.model(manifest.first_weights)).network.train()
        self._parameters = list(self.network.parameters())
        decay = float(self._numbers.get("weight_decay", 0.01))
        betas = float(self._numbers.get("beta1", 0.9)), float(self._numbers.get("beta2", 0.999))
        groups = [
            {"params": [p for p in self._parameters if p.ndim > 1], "weight_decay": decay},
            {"params": [p for p in self._parameters if p.ndim < 2], "weight_decay": 0.0},
        ]
        self._adamw = torch.optim.AdamW(groups, betas=betas, eps=1e-8)

    def step(self, batch: MaskedBatch) -> None:
        """Compute the gradient over a whole batch and take a step: with that gradient, or with the one before."""
        words, order = self._losses(batch)
        expected = 0.15 * batch.pieces_BT.size
        objective = words / expected + self._task.numbers.order_weight * order / batch.samples
        gradients = list(torch.autograd.grad(objective, self._parameters))
        if self._stale:
            gradients, self._waiting = self._waiting or [], gradients
            if not gradients:
                return
        for parameter, gradient in zip(self._parameters, gradients, strict=True):
            parameter.grad = gradient
        torch.nn.utils.clip_grad_norm_(self._parameters, float(self._numbers.get("max_grad_norm", 1.0)))
        total, warm = float(self._numbers["total_epochs"]), float(self._numbers["warmup_epochs"])
        share = min(1.0, (self.taken + 1) / warm, (total - self.taken) / (total - warm))
        for group in self._adamw.param_groups:
            group["lr"] = float(self._numbers["learning_rate"]) * share
        self._adamw.step()
        self.taken += 1

    @torch.no_grad()
    def loss(self) -> float:
        """The masked-word loss on the held-out text, in nats."""
        sums = [self._losses(batch)[0].item() for batch in self._task.held_out]
        return sum(sums) / sum(len(batch.words_M) for batch in self._task.held_out)

    def _losses(self, batch: MaskedBatch) -> tuple[torch.Tensor, torch.Tensor]:
        """Cross-entropies of masked words and of orders, each added up over the batch."""
        said = self.network(
            input_ids=torch.from_numpy(batch.pieces_BT),
            attention_mask=torch.from_numpy(batch.present_BT).long(),
            token_type_ids=torch.from_numpy(batch.types_BT),
        )
        words_MV = said.prediction_logits.flatten(0, 1)[torch.from_numpy(batch.places_M)]
        words = cross_entropy(words_MV, torch.from_numpy(batch.words_M), reduction="sum")
        return words, cross_entropy(said.sop_logits, torch.from_numpy(batch.swapped_B), reduction="sum")


def main(arguments: Sequence[str] | None = None) -> int:
    """Train and print; see the module's docstring."""
    parser = argparse.ArgumentParser(prog="big_batch", description="Train with the whole batch in one process.")
    parser.add_argument("manifest", type=Path)
    parser.add_argument("blobs", type=Path)
    for name in ("steps", "samples", "seed"):
        parser.add_argument(f"--{name}", type=int, required=True)
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(1)
    manifest = read_manifest(chosen.manifest.read_bytes(), Ed25519Verifier())
    with tempfile.TemporaryDirectory(prefix="potluck-bench-") as name:
        offline(Path(name) / "cache")
        task = task_of(manifest, Blobs(chosen.blobs, manifest.blobs))
        assert isinstance(task, Albert)
        loop = BigBatch(task, manifest)
        begin = reading_alone(manifest, manifest_path=chosen.manifest, blobs=chosen.blobs, blocks=Path(name) / "blocks")
        losses = {0: loop.loss()}
        with batches_of(manifest, task, begin, seed=chosen.seed, size=chosen.samples) as batches:
            while loop.taken < chosen.steps:
                loop.step(next(batches))
                if loop.taken % EVERY == 0:
                    losses[loop.taken] = loop.loss()
    sys.stdout.write(json.dumps(losses) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
