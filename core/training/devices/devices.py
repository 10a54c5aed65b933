"""The devices on which a worker can compute: what torch finds (CUDA, ROCm, MPS, XPU), and the choice among it.

A driver may end the process that asks for its devices.  Only the worker and `python -m core.training.devices.devices`,
which prints them as JSON, do so: both are children that may crash.
"""

import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final

import torch

from core.api.sentence import Sentence, in_series, later
from core.api.settings import ALL, AUTO, CPU
from core.base.problems import BadInput

SIDE: Final = 64
"""Side of the matrices whose product is compared with the processor's."""
TOLERANCE: Final = 0.05
"""Allowed error of that product, whose numbers are about 8: enough for reduced precision, too little for garbage."""


@dataclass(frozen=True, slots=True)
class Device:
    """One of this computer's devices."""

    name: str
    """As torch calls it: "cpu", "cuda:0"."""
    title: str
    """As its maker calls it."""
    memory_bytes: int = 0
    """Its own memory; 0: not known."""


@dataclass(frozen=True, slots=True)
class DeviceChoice:
    """The devices to compute on, and what people should know about them."""

    devices: tuple[Device, ...]
    """At least one; the first holds the state."""
    note: Sentence | None = None
    """Why they are not those that were wanted; None: they are."""

    @property
    def names(self) -> list[str]:
        """What torch calls them, in their order."""
        return [device.name for device in self.devices]


PROCESSOR: Final = Device(CPU, later("processor"))


def accelerators() -> list[Device]:
    """All devices except the processor, the first to be preferred; a driver that complains has none."""
    try:
        if not torch.accelerator.is_available():
            return []
        kind = torch.accelerator.current_accelerator()
        assert kind is not None
        return [_described(kind.type, number) for number in range(torch.accelerator.device_count())]
    except (RuntimeError, AssertionError, OSError) as error:
        sys.stderr.write(f"The devices cannot be listed: {error}\n")
        return []


def choose(wish: str) -> DeviceChoice:
    """The devices that a person wants and that compute right; the processor where there are none.

    Args:
        wish: "auto": the best one; "all"; or names with commas between them, of which one without a number means the
            first of its kind.
    """
    found = accelerators() if wish != CPU else []
    chosen: list[Device] = []
    problems: list[Sentence] = []
    missing = False
    for name in wish.split(","):
        wanted = _called(name, found)
        refusals: list[Sentence] = []
        for device in wanted:
            refusal = None if device == PROCESSOR else why_not(device)
            if refusal:
                refusals.append(Sentence("{title} ({device}) {refusal}", device.title, device.name, refusal))
            elif device not in chosen:
                chosen.append(device)
            if not refusal and name != ALL:
                refusals.clear()
                break
        if not wanted and name != AUTO:
            refusals, missing = [Sentence("There is no device {name} here now", name)], True
        problems += refusals if name == ALL else refusals[:1]
    devices = tuple(chosen) or (PROCESSOR,)
    if not problems:
        return DeviceChoice(devices)
    uses, *more = (Sentence("the processor" if device == PROCESSOR else device.name) for device in devices)
    for one in more:
        uses = Sentence("{some} and {last}", uses, one)
    note = Sentence("{problems}: training uses {uses}.", in_series(problems, "; "), uses)
    there = ", ".join(device.name for device in [*found, PROCESSOR])
    return DeviceChoice(devices, Sentence("{note} There are: {there}.", note, there) if missing else note)


def _called(name: str, found: list[Device]) -> list[Device]:
    """The devices that a name may mean, the first to be preferred."""
    if name == CPU:
        return [PROCESSOR]
    if name == ALL:
        return [*found, PROCESSOR]
    return [device for device in found if name in {AUTO, device.name, device.name.partition(":")[0]}]


def why_not(device: Device) -> Sentence | None:
    """Why nothing can be computed on a device, to go on with its name; None: it can."""
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(SIDE, SIDE, generator=generator) for _ in range(2))
    try:
        product = (a.to(device.name) @ b.to(device.name)).cpu()
    except RuntimeError as error:  # torch has no narrower kind for what drivers say
        return Sentence("does not compute ({error})", str(error).splitlines()[0][:200])
    right = torch.allclose(product, a @ b, atol=TOLERANCE, rtol=0)
    return None if right else Sentence("gives wrong results")


def usable(name: str, *, called: str = "") -> str:
    """A device that a person named for one command, as torch calls it.

    Args:
        name: The device.
        called: What the person called it, where that is something else.

    Raises:
        BadInput: torch cannot use it.
    """
    try:
        return str(torch.empty(0, device=name).device)
    except (RuntimeError, AssertionError) as error:  # torch without CUDA asserts
        reason = str(error).partition("\n")[0].rstrip(".")
        raise BadInput(
            "The device {called} cannot be used: {reason}.", called or name, reason, hint="Leave --device out."
        ) from error


def title_of(name: str) -> str:
    """How a device's maker calls it, by its name, such as "cuda:0"."""
    kind, _, number = name.partition(":")
    if kind == CPU:
        return PROCESSOR.title
    module = torch.get_device_module(kind)
    return str(module.get_device_name(int(number or 0))) if hasattr(module, "get_device_name") else kind.upper()


def titles_of(names: Sequence[str]) -> str:
    """How people call several devices together: "2 x NVIDIA H100, processor"."""
    counted = Counter(title_of(name) for name in names)
    return ", ".join(f"{count} x {title}" if count > 1 else title for title, count in counted.items())


def _described(kind: str, number: int) -> Device:
    module = torch.get_device_module(kind)
    name = f"{kind}:{number}"
    memory = 0
    if hasattr(module, "get_device_properties"):
        memory = int(getattr(module.get_device_properties(number), "total_memory", 0))
    return Device(name, title_of(name), memory)


if __name__ == "__main__":
    sys.stdout.write(json.dumps([asdict(device) for device in [*accelerators(), PROCESSOR]]) + "\n")
