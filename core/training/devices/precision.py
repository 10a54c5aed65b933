"""What a pass computes in: the manifest's word, as far as this device can do it.

Parameters, the sum of gradients and the optimiser are float32 always.  In a collaboration of one half format the other
would let it diverge (S000, appendix I.7), so a device that cannot do the manifest's computes in fp32, which goes with
all.
"""

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Final, Literal

import torch

from core.api.settings import CPU
from core.base.problems import Sentence, unknown_name

SIDE: Final = 256
"""Side of the matrices that are tried: large enough that a processor's time goes into products."""
TRIES: Final = 5
"""Number of measurements of which the shortest time counts: the computer may be busy."""
ROUNDINGS: Final = 4
"""Roundings by which a gradient of two layers may be off; half formats that work are at about one."""
SLOWER_MAX: Final = 1.0
"""Times as long as for fp32 that a processor may take; one that lacks a format's instructions takes three to twenty."""
SCALE_FIRST: Final = 2.0**16
SCALE_LEAST: Final = 1.0
"""Below it small gradients vanish sooner than without any scale."""
SCALE_MOST: Final = 2.0**24
GOOD_PASSES: Final = 2000
"""Passes in a row without an overflow after which twice the scale is tried."""


@dataclass(frozen=True, slots=True)
class Precision:
    """A way to compute a pass."""

    name: str
    rounding: float
    """The relative error of one rounding."""
    half: torch.dtype | None = None
    """What autocast computes products in; None: there is none."""
    matmul: Literal["highest", "high"] = "highest"
    """How exact torch's products of float32 numbers are."""

    def computing(self, device: torch.device) -> torch.autocast:
        """Enter it for forward pass and loss."""
        torch.set_float32_matmul_precision(self.matmul)
        half = self.half or torch.bfloat16
        return torch.autocast(device.type, dtype=half, enabled=self.half is not None)


FP32: Final = Precision("fp32", 2**-24)
PRECISIONS: Final[Mapping[str, Precision]] = MappingProxyType(
    {
        each.name: each
        for each in (
            FP32,
            Precision("tf32", 2**-11, matmul="high"),
            Precision("bf16", 2**-8, half=torch.bfloat16),
            Precision("fp16", 2**-11, half=torch.float16),
        )
    }
)
"""All by the names of manifests."""


@dataclass(frozen=True, slots=True)
class PrecisionChoice:
    """What passes compute in here, and what people should know about it."""

    precision: Precision
    note: Sentence | None = None
    """Why it is not the manifest's; None: it is."""


@lru_cache
def precision_on(device: str, name: str) -> PrecisionChoice:
    """The manifest's precision, or fp32 where the device cannot do it.

    Args:
        device: As torch calls it.
        name: The manifest's word.

    Raises:
        BadInput: this release does not know it.
    """
    if name not in PRECISIONS:
        raise unknown_name("precision", name, PRECISIONS)
    precision = PRECISIONS[name]
    refusal = None if precision is FP32 else why_not(precision, torch.device(device))
    if not refusal:
        return PrecisionChoice(precision)
    called = Sentence("The processor") if device == CPU else Sentence("The device {device}", device)
    note = Sentence("{called} {refusal}: training computes in fp32, which takes part like any other.", called, refusal)
    sys.stderr.write(f"{note}\n")
    return PrecisionChoice(FP32, note)


def why_not(precision: Precision, device: torch.device) -> Sentence | None:
    """Why a device had better not compute in a precision, to go on with its name; None: it can.

    A small computation is held against the same in fp32, in one thread: on a busy computer several wait for each other,
    a hundred times as long as they compute.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        plain, plain_s = _tried(FP32, device)
        found, found_s = _tried(precision, device)
    except RuntimeError as error:  # torch has no narrower kind for what drivers say
        return Sentence("does not compute in {precision} ({error})", precision.name, str(error).splitlines()[0][:200])
    finally:
        torch.set_num_threads(threads)
    if not (found - plain).norm() <= ROUNDINGS * precision.rounding * plain.norm():
        return Sentence("gives wrong results in {precision}", precision.name)
    if precision.half is not None and device.type == CPU and found_s > SLOWER_MAX * plain_s:
        times = f"{found_s / plain_s:.2f}"
        return Sentence("is no faster in {precision} than in fp32 ({times} times as long)", precision.name, times)
    return None


def _tried(precision: Precision, device: torch.device) -> tuple[torch.Tensor, float]:
    """The gradient of two layers, and how long it took, seconds."""
    generator = torch.Generator().manual_seed(0)
    x, *layers = (torch.randn(SIDE, SIDE, generator=generator).to(device) for _ in range(3))
    for layer in layers:
        layer.requires_grad_()
    seconds = []
    for _ in range(TRIES):
        began = time.perf_counter()
        with precision.computing(device):
            inner = torch.nn.functional.gelu(x @ layers[0] / SIDE**0.5)
            loss = (inner @ layers[1] / SIDE**0.5).float().square().sum() / SIDE
        gradients = torch.autograd.grad(loss, layers)
        found = torch.cat([gradient.flatten() for gradient in gradients]).cpu()
        seconds.append(time.perf_counter() - began)
    return found, min(seconds)


class LossScale:
    """The factor of a loss with which small gradients of half precision do not vanish (Micikevicius et al. 2018, 3.2).

    It doubles after `good_passes` good passes, and halves where a gradient overflows, as torch's `GradScaler` does.  It
    is the machine's own: gradients are divided by it before they are added up and sent.
    """

    def __init__(self, good_passes: int = GOOD_PASSES) -> None:
        self.value = SCALE_FIRST
        self._good_passes = good_passes
        self._good = 0

    @property
    def can_fall(self) -> bool:
        """Whether an overflow may be the scale's fault."""
        return self.value > SCALE_LEAST

    def fits(self) -> None:
        """A pass gave gradients that are finite."""
        self._good += 1
        if self._good >= self._good_passes:
            self.value, self._good = min(2 * self.value, SCALE_MOST), 0

    def overflowed(self) -> None:
        """A pass gave gradients that are not."""
        self.value, self._good = max(self.value / 2, SCALE_LEAST), 0
