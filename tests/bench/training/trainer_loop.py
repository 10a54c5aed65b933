"""The loop of `transformers.Trainer`, with the model of transformers that a task's model can be exported as."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments

from core.api.settings import CPU
from core.base.manifest import Manifest
from core.tasks.albert.masking import MaskedBatch
from core.tasks.task import Task, TensorBatch
from core.training.devices.precision import precision_on
from tests.bench.training.loop_turns import LoopOrder, TurnTaken
from tests.bench.training.measured_loops import LEARNING_RATE, SEED, Measured, ready_batches

NOT_A_WORD: Final = -100
"""What transformers' loss passes over."""
STEPS_MAX: Final = 1_000_000


class TrainerLoop:
    """Trains until its turn ends, at the end of a step; what it takes to set up a Trainer does not count.

    Args:
        task: What is learned.
        manifest: Of the task.
        order: Where, and on what.
    """

    def __init__(self, task: Task, manifest: Manifest, order: LoopOrder) -> None:
        self.micro_batch = order.micro_batch or task.micro_batch
        self._network = task.pretrained(task.model(SEED)).network
        self.parameters = sum(each.numel() for each in self._network.parameters())
        self._rows = list(
            chain.from_iterable(map(transformers_rows, ready_batches(task, manifest, order, self.micro_batch)))
        )
        self._precision = precision_on(order.device, manifest.precision_name).precision
        self._order = order

    def turn(self, seconds: float, step_batches: int) -> TurnTaken:
        """Train for about so long, from one step's begin to another's end.

        Args:
            seconds: Of the turn; at least one step is taken.
            step_batches: Passes that make one step of the optimiser.
        """
        arguments = TrainingArguments(
            output_dir=str(Path(self._order.folder) / "trainer"),
            per_device_train_batch_size=self.micro_batch,
            gradient_accumulation_steps=step_batches,
            max_steps=STEPS_MAX,
            learning_rate=LEARNING_RATE,
            lr_scheduler_type="constant",
            use_cpu=self._order.device == CPU,
            bf16=self._precision.half is torch.bfloat16,
            fp16=self._precision.half is torch.float16,
            disable_tqdm=True,
            report_to=[],
            save_strategy="no",
            logging_strategy="no",
        )
        watch = _TurnWatch(seconds, self.micro_batch)
        trainer = Trainer(model=self._network, args=arguments, train_dataset=self._rows, callbacks=[watch])
        trainer.remove_callback(PrinterCallback)
        trainer.train()
        assert watch.taken is not None
        return watch.taken


class _TurnWatch(TrainerCallback):  # type: ignore[misc]
    """Counts passes, and ends the training at the end of a step, when its time is over."""

    def __init__(self, seconds: float, micro_batch: int) -> None:
        self._seconds, self._micro_batch = seconds, micro_batch
        self._began = Measured()
        self._samples = 0
        self.taken: TurnTaken | None = None

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        """Transformers says that the training begins."""
        self._began = Measured()

    def on_substep_end(self, *_: Any, **__: Any) -> None:
        """A pass has ended that is not the last one of a step."""
        self._samples += self._micro_batch

    def on_step_end(self, _: Any, __: Any, control: Any, **___: Any) -> None:
        """The last pass of a step has ended."""
        self._samples += self._micro_batch
        if self.taken is None and self._began.seconds >= self._seconds:
            self.taken = self._began.taken(self._samples)
            control.should_training_stop = True


def transformers_rows(batch: Any) -> Iterator[dict[str, Any]]:
    """The samples of a task's batch as transformers wants them."""
    if isinstance(batch, TensorBatch):  # each letter is the label of the one before it
        for letters_T in batch.rows[:, :-1]:
            yield {"input_ids": letters_T, "labels": letters_T}
        return
    assert isinstance(batch, MaskedBatch)
    labels = np.full(batch.pieces_BT.size, NOT_A_WORD)
    labels[batch.places_M] = batch.words_M
    labels_BT = labels.reshape(batch.pieces_BT.shape)
    for row in range(batch.samples):
        yield {
            "input_ids": batch.pieces_BT[row],
            "token_type_ids": batch.types_BT[row],
            "attention_mask": batch.present_BT[row].astype(np.int64),
            "labels": labels_BT[row],
            "sentence_order_label": int(batch.swapped_B[row]),
        }
