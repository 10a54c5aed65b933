"""Compiled layers: they give the same gradient, or are not used."""

import os
import shutil
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import msgspec
import pytest
import torch

from core.training.devices import backprop
from core.training.devices.backprop import COMPILED_TOLERANCE, Backprop, keep_compiled
from core.training.devices.precision import FP32
from core.training.vectors.flat import FlatParameters
from tests.unit.training.small import MANIFEST, SmallTask, learner

BATCHES = [batch for batch in islice(SmallTask().batches(3), 40) if batch.samples == 8][:3]


@pytest.fixture(autouse=True)
def forgotten() -> None:
    torch.compiler.reset()


class Compiled:
    """Passes with and without a compiler, over the same batches."""

    def __init__(self, compiler: str | Callable[..., object]) -> None:
        self.model = SmallTask().model(1)
        self.parameters = FlatParameters(self.model)
        self.backprop = Backprop(SmallTask(), self.model, self.parameters, FP32)
        self.backprop.compile(compiler)

    def gradients(self) -> list[torch.Tensor]:
        found = []
        for batch in BATCHES:
            self.backprop.run(batch)
            found.append(self.parameters.gradients_N.clone())
            self.parameters.gradients_N.zero_()
        return found

    @property
    def used(self) -> bool:
        return getattr(self.model.forward, "__func__", None) is not torch.nn.Sequential.forward


def plain() -> list[torch.Tensor]:
    model = SmallTask().model(1)
    found = []
    for batch in BATCHES:
        gradients = torch.autograd.grad(SmallTask().loss(model, batch).objective, list(model.parameters()))
        found.append(torch.cat([gradient.flatten() for gradient in gradients]))
    return found


def fails(module: object, inputs: object) -> None:
    raise OSError("no C++ compiler was found")


def check(found: list[torch.Tensor]) -> None:
    for one, other in zip(found, plain(), strict=True):
        assert (one - other).norm() <= COMPILED_TOLERANCE * other.norm()


@pytest.mark.parametrize(
    "compiler",
    [
        "aot_eager",
        pytest.param(
            "inductor",
            marks=[
                pytest.mark.long,
                pytest.mark.skipif(shutil.which("g++") is None, reason="needs a compiler"),
            ],
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # of torch's own compiler
@pytest.mark.filterwarnings("ignore:The distutils package:DeprecationWarning")  # likewise
def test_compiled_layers_give_the_same_gradient(
    compiler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "before")
    monkeypatch.setenv("TORCHINDUCTOR_COMPILE_THREADS", "1")  # a pool imports torch once a core, for two small layers
    keep_compiled(tmp_path)
    compiled = Compiled(compiler)
    check(compiled.gradients())
    assert compiled.used
    assert "cannot be used" not in capfd.readouterr().err
    assert any(tmp_path.iterdir()) == (compiler == "inductor")


@pytest.mark.parametrize("given", ["no such compiler", None])
def test_a_compiler_that_fails_is_a_sentence(given: str | None, capfd: pytest.CaptureFixture[str]) -> None:
    compiled = Compiled(given or fails)
    check(compiled.gradients())
    assert not compiled.used
    assert capfd.readouterr().err.count("Compiled layers cannot be used (") == 1


def test_a_compiler_that_errs_is_found_out(capfd: pytest.CaptureFixture[str]) -> None:
    def errs(module: torch.fx.GraphModule, inputs: object) -> Callable[..., object]:
        return lambda *given: tuple(1.001 * each for each in module.forward(*given))

    compiled = Compiled(errs)
    check(compiled.gradients())
    assert not compiled.used
    assert "cannot be used (the gradient is another one)" in capfd.readouterr().err


def test_layers_that_fail_later_are_given_up(capfd: pytest.CaptureFixture[str]) -> None:
    calls = [0]

    def fails_later(module: torch.fx.GraphModule, inputs: object) -> Callable[..., object]:
        def run(*given: object) -> object:
            calls[0] += 1
            if calls[0] == 2:
                raise RuntimeError("a driver\nhas gone")
            return module.forward(*given)

        return run

    compiled = Compiled(fails_later)
    check(compiled.gradients())
    assert not compiled.used
    assert "cannot be used (a driver): training goes on without them." in capfd.readouterr().err


def test_evaluation_is_not_compiled_for() -> None:
    modules: list[object] = []

    def counts(module: torch.fx.GraphModule, inputs: object) -> Callable[..., object]:
        modules.append(module)
        return module.forward

    compiled = Compiled(counts)
    compiled.gradients()
    found = len(modules)
    assert found
    with compiled.backprop.uncompiled(), torch.no_grad():
        assert not compiled.used
        SmallTask().loss(compiled.model.eval(), BATCHES[0])
    assert compiled.used
    assert len(modules) == found


def test_memory_that_lacks_gives_compiled_layers_up(capfd: pytest.CaptureFixture[str]) -> None:
    compiled = Compiled("eager")
    compiled.gradients()
    compiled.backprop.recompute()
    check(compiled.gradients())
    assert "cannot be used (memory does not suffice)" in capfd.readouterr().err


def test_layers_are_compiled_once_the_size_is_known(tmp_path: Path) -> None:
    sizes: list[int] = []
    peer = learner(tmp_path, manifest=msgspec.structs.replace(MANIFEST, target_samples=16))
    peer.first.backprop.compile = lambda: sizes.append(peer.first.micro_batch.size)  # type: ignore[method-assign]
    peer.first.compiles = True
    for _ in range(200):
        peer.accumulate()
    assert peer.first.micro_batch.fit is not None
    assert sizes == [peer.first.micro_batch.fit.size]


def test_a_folder_that_has_grown_begins_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "before")
    monkeypatch.setattr(backprop, "COMPILED_BYTES_MAX", 10)
    folder = tmp_path / "compiled"
    keep_compiled(folder)
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "one").write_bytes(b"0123456789")
    keep_compiled(folder)
    assert (folder / "deep" / "one").exists()
    (folder / "two").write_bytes(b"0")
    keep_compiled(folder)
    assert not folder.exists()
    assert os.environ["TORCHINDUCTOR_CACHE_DIR"] == str(folder)
