"""What a device is said to compute in, and the scale of the loss."""

import math
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random

import msgspec
import pytest
import torch

from core.base.manifest import Manifest
from core.base.problems import BadInput
from core.base.recipe import read_recipe
from core.tasks.task import Losses
from core.training.devices import precision
from core.training.devices.precision import (
    FP32,
    GOOD_PASSES,
    PRECISIONS,
    SCALE_FIRST,
    SCALE_LEAST,
    SCALE_MOST,
    LossScale,
    Precision,
    precision_on,
    why_not,
)
from tests.unit.training.small import MANIFEST, Points, SmallTask, learner

CPU = torch.device("cpu")
FP16 = msgspec.structs.replace(MANIFEST, precision="fp16")
RECIPE = 'name = "t"\ntask = "gpt"\ntarget_samples = 8\nprecision = {}\n[optimizer]\nname = "lamb"\n'


def test_a_manifest_without_precision_keeps_its_text() -> None:
    assert b"precision" not in MANIFEST.canonical()
    assert MANIFEST.precision_name == "fp32"
    assert FP16.precision_name == "fp16"
    assert msgspec.json.decode(FP16.canonical(), type=Manifest).precision == "fp16"
    assert FP16.id != MANIFEST.id


def test_a_recipe_names_its_precision() -> None:
    assert read_recipe(RECIPE.format('"bf16"').encode(), called="my.toml").precision == "bf16"
    with pytest.raises(BadInput, match=r"my\.toml: precision must be one of .*bf16.*, not 'half'"):
        read_recipe(RECIPE.format('"half"').encode(), called="my.toml")


def test_a_precision_of_later_versions_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="does not know the precision 'fp8'"):
        learner(tmp_path, manifest=msgspec.structs.replace(MANIFEST, precision="fp8"))


@pytest.mark.parametrize("name", PRECISIONS)
def test_a_device_without_numbers_falls_back_to_fp32(name: str) -> None:
    choice = precision_on("meta", name)
    assert choice.precision is FP32
    assert bool(choice.note) == (name != "fp32")
    if choice.note:
        assert str(choice.note).startswith(f"The device meta does not compute in {name} (")
        assert str(choice.note).endswith(": training computes in fp32, which takes part like any other.")


def test_a_format_coarser_than_promised_is_refused() -> None:
    """Bfloat16 in the place of half precision: what a device might do that has only the former."""
    assert str(why_not(Precision("fp16", 2**-11, half=torch.bfloat16), CPU)) == "gives wrong results in fp16"


@pytest.mark.skipif(platform.machine() not in {"x86_64", "AMD64"}, reason="the variable is about these processors")
@pytest.mark.parametrize("name", ["bf16", "fp16"])
def test_a_processor_that_lacks_a_format_uses_fp32(name: str) -> None:
    """Without the instructions of newer ones it takes 16 and 22 times as long as fp32."""
    older = {"ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2"}
    program = (
        "import torch; torch.set_num_threads(1)\n"
        "from core.training.devices.precision import precision_on\n"
        f"found = precision_on('cpu', {name!r}); print(found.precision.name, found.note)"
    )
    said = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | older, capture_output=True, text=True, check=True
    )
    assert said.stdout.startswith("fp32 The processor is no faster ")
    assert f"is no faster in {name} than in fp32" in said.stderr


def test_the_scale_goes_as_torchs_own() -> None:
    ours, theirs = LossScale(3), torch.amp.GradScaler("cpu", init_scale=SCALE_FIRST, growth_interval=3)
    parameter = torch.zeros(1, requires_grad=True)
    optimizer, random = torch.optim.SGD([parameter], lr=0.0), Random(1)
    theirs.scale(torch.ones(()))
    for _ in range(200):
        finite = random.random() < 0.75
        parameter.grad = torch.tensor([1.0 if finite else math.inf])
        theirs.step(optimizer)
        theirs.update()
        ours.fits() if finite else ours.overflowed()
        assert SCALE_LEAST < ours.value < SCALE_MOST  # beyond them ours stays, and theirs goes on
        assert ours.value == theirs.get_scale()


def test_the_scale_by_hand() -> None:
    scale = LossScale()
    scale.overflowed()
    scale.overflowed()
    assert scale.value == 2**14
    for _ in range(GOOD_PASSES - 1):
        scale.fits()
    assert scale.value == 2**14
    scale.fits()
    assert scale.value == 2**15
    for _ in range(20):
        scale.overflowed()
    assert (scale.value, scale.can_fall) == (1.0, False)
    for _ in range(30 * GOOD_PASSES):
        scale.fits()
    assert scale.value == 2**24


@pytest.fixture
def slow_formats(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Half precision is used here, however slow it is."""
    monkeypatch.setattr(precision, "SLOWER_MAX", math.inf)
    precision_on.cache_clear()
    yield
    precision_on.cache_clear()


BATCHES = list(islice(SmallTask().batches(7), 6))


class Steep(SmallTask):
    """A loss a thousand times as large, so that gradients in half precision overflow by the first scale."""

    def batches(self, seed, size=None):
        return iter(BATCHES)

    def loss(self, model: torch.nn.Module, batch: Points) -> Losses:
        loss = 1000 * super().loss(model, batch).objective
        return Losses(objective=loss, reported=loss.detach())


@pytest.mark.usefixtures("slow_formats")
def test_an_overflow_by_the_scale_loses_no_batch(tmp_path: Path) -> None:
    peer = learner(tmp_path, task=Steep(), manifest=FP16)
    exact = Steep().model(int.from_bytes(FP16.id[:8], "big")).double()
    assert all(peer.accumulate() for _ in BATCHES)
    scale = peer.first.backprop.scale
    assert scale is not None
    assert SCALE_LEAST < scale.value < SCALE_FIRST
    assert peer.rule.dropped == 0
    union = Points(torch.cat([b.x for b in BATCHES]).double(), torch.cat([b.y for b in BATCHES]).double())
    assert peer.samples == union.samples
    Steep().loss(exact, union).objective.backward()
    exact_N = torch.cat([parameter.grad.flatten() for parameter in exact.parameters()])
    error = (torch.from_numpy(peer.hand_over()) - exact_N).norm() / exact_N.norm()
    assert error <= 2 * 20**0.5 * PRECISIONS["fp16"].rounding


class Broken(Steep):
    """One batch in two has no gradient: the loss itself is not finite, or only its slope."""

    def __init__(self, factor: float) -> None:
        self.factor, self.passes = factor, 0

    def loss(self, model: torch.nn.Module, batch: Points) -> Losses:
        self.passes += 1
        if batch is not BATCHES[1]:
            loss = 0.01 * SmallTask.loss(self, model, batch).objective
            return Losses(objective=loss, reported=loss.detach())
        slope = self.factor * (0 * model(batch.x)).square().sum().sqrt()
        return Losses(objective=slope, reported=slope.detach())


@pytest.mark.usefixtures("slow_formats")
@pytest.mark.parametrize(("factor", "passes"), [(math.nan, 1), (1.0, 17)])
def test_what_no_scale_mends_is_dropped(tmp_path: Path, factor: float, passes: int) -> None:
    """Sixteen times the scale is halved where only the slope is not finite; then it is what it was."""
    task = Broken(factor)
    peer = learner(tmp_path, task=task, manifest=FP16)
    assert [peer.accumulate() for _ in range(3)] == [True, False, True]
    assert peer.rule.dropped == 1
    assert peer.samples == BATCHES[0].samples + BATCHES[2].samples
    assert task.passes == 2 + passes
    assert peer.first.backprop.scale is not None
    assert peer.first.backprop.scale.value == SCALE_FIRST
