"""Copies of the model that a backbone does not offer."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from core.base.content import digest
from core.base.state_header import HEADER_BYTES_MAX, METADATA
from core.training.programs.check_state import checked
from tests.unit.training.small import MANIFEST, SmallTask, learner

STEPS = 5


@dataclass
class Copy:
    """A state of the small task as a file, which may be changed."""

    path: Path
    tensors: dict[str, torch.Tensor]
    metadata: dict[str, str]

    def fault(self) -> str:
        return checked(self.path, SmallTask(), MANIFEST).fault

    def write(self) -> None:
        save_file(self.tensors, self.path, metadata=self.metadata)

    def calls_itself(self, **fields: Any) -> None:
        header = msgspec.json.decode(self.metadata[METADATA])
        self.metadata = {METADATA: msgspec.json.encode(header | fields).decode()}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The newest state of a model that has learned something."""
    one = learner(tmp_path_factory.mktemp("trained") / "states")
    for epoch in range(1, STEPS + 1):
        for _ in range(20):
            assert one.accumulate()
        one.absorb(one.hand_over(), epoch=epoch, lineage=digest(bytes([epoch])))
    return one.state.saved.path


@pytest.fixture
def copy(trained: Path, tmp_path: Path) -> Copy:
    path = Path(shutil.copy(trained, tmp_path))
    with safe_open(path, framework="pt") as file:
        metadata = dict(file.metadata())
    return Copy(path, load_file(path), metadata)


def noise(copy: Copy) -> None:
    generator = torch.Generator().manual_seed(0)
    for name, tensor in copy.tensors.items():
        if name.startswith("parameters/"):
            tensor.normal_(0.0, 3.0, generator=generator)


def turned(copy: Copy) -> None:
    for name in ("parameters/3.weight", "parameters/3.bias"):
        copy.tensors[name].mul_(-10)


def of_a_kind(kind: str, number: float) -> Callable[[Copy], None]:
    def change(copy: Copy) -> None:
        next(one for name, one in copy.tensors.items() if name.startswith(kind)).view(-1)[0] = number

    return change


def longer(copy: Copy) -> None:
    name = next(iter(copy.tensors))
    copy.tensors[name] = torch.zeros(copy.tensors[name].numel() + 1)


def larger(copy: Copy) -> None:
    copy.tensors["more"] = torch.zeros(HEADER_BYTES_MAX // 4)


def test_trained_state_has_no_fault(copy: Copy) -> None:
    found = checked(copy.path, SmallTask(), MANIFEST)
    assert found.fault == ""
    assert found.loss is not None
    copy.write()
    assert copy.fault() == "", "as this test writes it"


def test_first_state_has_no_fault(tmp_path: Path) -> None:
    assert checked(learner(tmp_path / "states").state.saved.path, SmallTask(), MANIFEST).fault == ""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (noise, "everybody begins with"),
        (turned, "everybody begins with"),
        (of_a_kind("parameters/", float("nan")), "something else than this model's state"),
        (of_a_kind("v/", -1e-9), "something else than this model's state"),
        (of_a_kind("m/", 1e37), "something else than this model's state"),
        (longer, "something else than this model's state"),
        (larger, "larger than a state"),
        (lambda copy: copy.tensors.popitem(), "of another model"),
        (lambda copy: copy.calls_itself(manifest="ab" * 32), "of another collaboration"),
        (lambda copy: copy.calls_itself(format=99), "of another collaboration"),
    ],
    ids=["noise", "turned", "nan", "negative", "huge", "longer", "larger", "torn", "other", "newer"],
)
def test_false_state_has_a_fault(copy: Copy, change: Callable[[Copy], object], said: str) -> None:
    change(copy)
    copy.write()
    assert said in copy.fault()


@pytest.mark.parametrize("data", [b"", b"\xff" * 300, (300).to_bytes(8, "little") + b"{" * 300])
def test_file_that_is_no_state_has_a_fault(copy: Copy, data: bytes) -> None:
    copy.path.write_bytes(data)
    assert copy.fault()
