"""The optimiser of the worked example in CONTRIBUTING.md does what the page says."""

import re
from pathlib import Path
from textwrap import dedent

import torch

from core.base.schedule import learning_rate
from core.training.vectors.flat import FlatParameters
from tests.contracts.variants import SCHEDULE, gradients
from tests.unit.training.small import SmallTask

PAGE = Path(__file__).parents[2] / "CONTRIBUTING.md"


def test_optimizer_of_the_worked_example_steps_like_that_of_torch() -> None:
    [code] = re.findall(r"   ```python\n(   \"\"\".*?)\n   ```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    written: dict = {}
    exec(compile(dedent(code), "adagrad.py", "exec"), written)
    flat, theirs = FlatParameters(SmallTask().model(1)), list(SmallTask().model(1).parameters())
    numbers = written["AdagradNumbers"](name="adagrad", **SCHEDULE)
    ours, reference = written["Adagrad"](numbers, flat), torch.optim.Adagrad(theirs)
    for epoch, gradient_N in zip(range(5), gradients(flat.numel), strict=False):
        for parameter, span in zip(theirs, flat.spans, strict=True):
            parameter.grad = span.of(gradient_N.clone())
        torch.nn.utils.clip_grad_norm_(theirs, numbers.max_grad_norm)
        reference.param_groups[0]["lr"] = learning_rate(numbers, epoch)
        reference.step()
        ours.step(gradient_N, taken=epoch, epoch=epoch)
    assert torch.allclose(flat.values_N, torch.cat([one.detach().flatten() for one in theirs]), rtol=1e-5, atol=1e-6)
