"""The choice of a device.  There is none but the processor here: others are pretended, and compute on it or nowhere."""

import pytest
import torch

from core.training.devices import devices
from core.training.devices.devices import PROCESSOR, Device, choose, titles_of, why_not

FIRST, SECOND = Device("cpu:0", "A card", 10**9), Device("cpu:1", "Another card")
BROKEN = Device("meta", "A broken card")
"""Torch's meta device has no numbers, so nothing can be read back from it."""


@pytest.mark.parametrize(
    ("there", "wish", "chosen", "part"),
    [
        ([], "auto", PROCESSOR, ""),
        ([], "cpu", PROCESSOR, ""),
        ([], "cuda", PROCESSOR, "There is no device cuda here now"),
        ([FIRST, SECOND], "auto", FIRST, ""),
        ([FIRST, SECOND], "cpu", PROCESSOR, ""),
        ([FIRST, SECOND], "cpu:1", SECOND, ""),
        ([FIRST], "cpu:1", PROCESSOR, "There are: cpu:0, cpu"),
        ([BROKEN, FIRST], "auto", FIRST, ""),
        ([BROKEN], "auto", PROCESSOR, "A broken card (meta) does not compute"),
        ([BROKEN, FIRST], "meta", PROCESSOR, "training uses the processor"),
    ],
)
def test_a_device_is_chosen_that_computes(
    monkeypatch: pytest.MonkeyPatch, there: list[Device], wish: str, chosen: Device, part: str
) -> None:
    monkeypatch.setattr(devices, "accelerators", lambda: there)
    choice = choose(wish)
    assert choice.devices == (chosen,)
    assert part in str(choice.note or "")
    assert bool(part) == bool(choice.note)


@pytest.mark.parametrize(
    ("wish", "chosen", "note"),
    [
        ("all", [FIRST, SECOND, PROCESSOR], "A broken card (meta) does not compute (Cannot copy"),
        ("cpu:1,cpu", [SECOND, PROCESSOR], ""),
        ("cpu,cpu:0,cpu:1", [PROCESSOR, FIRST, SECOND], ""),
        ("cpu:0,cuda:3", [FIRST], "There is no device cuda:3 here now: training uses cpu:0. There are: meta, cpu:0"),
        ("cuda,mps", [PROCESSOR], "no device cuda here now; There is no device mps here now: training uses the proc"),
        ("meta,cpu:1,cpu", [SECOND, PROCESSOR], "training uses cpu:1 and the processor."),
        ("cpu:0,cpu:0", [FIRST], ""),
    ],
)
def test_several_devices_compute_at_once(
    monkeypatch: pytest.MonkeyPatch, wish: str, chosen: list[Device], note: str
) -> None:
    monkeypatch.setattr(devices, "accelerators", lambda: [BROKEN, FIRST, SECOND])
    choice = choose(wish)
    assert list(choice.devices) == chosen
    assert note in str(choice.note or "")
    assert bool(note) == bool(choice.note)


def test_devices_of_one_kind_are_counted_for_people() -> None:
    assert titles_of(["cpu"]) == "processor"
    assert titles_of(["cpu", "cpu"]) == "2 x processor"


def test_a_device_that_computes_wrong_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not why_not(FIRST)
    to = torch.Tensor.to
    monkeypatch.setattr(torch.Tensor, "to", lambda tensor, name: to(tensor, name) * 1.1)
    assert str(why_not(FIRST)) == "gives wrong results"


def test_a_driver_that_complains_counts_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> bool:
        raise RuntimeError("no driver")

    monkeypatch.setattr(torch.accelerator, "is_available", fail)
    assert devices.accelerators() == []
