"""What a pass promises for every task: the gradient in each precision, and with layers that are computed again."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from core.base.tasks import MIXTURES, TASKS
from core.tasks.task import Task
from core.training.devices.backprop import Backprop
from core.training.devices.precision import FP32, PRECISIONS
from core.training.vectors.flat import FlatParameters
from tests.small_task import small_task
from tests.trained import batches_of, founded


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Several threads only wait for each other where models are small; and torch's products are as exact as before."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
    torch.set_float32_matmul_precision("highest")


@pytest.fixture(scope="module", params=[task for task in TASKS if task not in MIXTURES])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Task, Any]:
    folder = tmp_path_factory.mktemp(request.param)
    manifest, task = founded(small_task(folder, task=request.param), folder / "blobs", request.param)
    return task, next(batches_of(manifest, folder / "blobs"))


@pytest.fixture
def task(made: tuple[Task, Any]) -> Task:
    return made[0]


@pytest.fixture
def batch(made: tuple[Task, Any]) -> Any:
    return made[1]


def gradient_of(task: Task, batch: object, precision: str, *, recompute: bool = False) -> torch.Tensor:
    model = task.model(3)
    parameters = FlatParameters(model)
    backprop = Backprop(task, model, parameters, PRECISIONS[precision])
    if recompute:
        backprop.recompute()
    backprop.run(batch)
    return parameters.gradients_N


@pytest.mark.parametrize("name", PRECISIONS)
def test_each_precision_gives_the_gradient_of_doubles(task: Task, batch: Any, name: str) -> None:
    """It has gone through some twenty roundings of random sign: their root is expected, and twice that is allowed."""
    exact = task.model(3).double()
    task.loss(exact, batch).objective.backward()
    exact_N = torch.cat([parameter.grad.flatten() for parameter in exact.parameters()])
    error = (gradient_of(task, batch, name) - exact_N).norm() / exact_N.norm()
    assert error <= 2 * 20**0.5 * PRECISIONS[name].rounding
    if PRECISIONS[name].half is not None:
        assert error > 0.1 * PRECISIONS[name].rounding  # it was computed in that format


@pytest.mark.parametrize("name", PRECISIONS)
def test_recomputed_layers_give_the_same_bits(task: Task, batch: Any, name: str) -> None:
    assert torch.equal(gradient_of(task, batch, name), gradient_of(task, batch, name, recompute=True))


def test_recomputed_layers_keep_less(task: Task, batch: Any) -> None:
    kept = [0, 0]
    for recompute in (False, True):
        model = task.model(0)
        if recompute:
            Backprop(task, model, FlatParameters(model), FP32).recompute()

        def keep(tensor: torch.Tensor, *, place: int = recompute) -> torch.Tensor:
            kept[place] += tensor.nbytes
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            task.loss(model, batch)
    assert kept[1] < 0.75 * kept[0]  # of the one layer that these models have


class Operations(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.add(func.name())
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("name", PRECISIONS)
def test_attention_keeps_no_scores(task: Task, batch: Any, name: str) -> None:
    """It is computed by torch's fused operation, with and without autocast."""
    model = task.model(0)
    with Operations() as operations, PRECISIONS[name].computing(torch.device("cpu")):
        task.loss(model, batch)
    assert "aten::_scaled_dot_product_flash_attention_for_cpu" in operations.names
