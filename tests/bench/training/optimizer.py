"""`python -m tests.bench optimizer`: how long a step takes, what its memory costs, and what eight bits do to a loss.

Potluck's optimisers stand beside torch's own, and beside those of bitsandbytes and torch-optimizer where these are
installed.  All step in turns, several times over, from the same numbers; what counts is the median.
"""

import argparse
import gc
import importlib
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import msgspec
import torch

from core.training.optimizers import OPTIMIZERS, optimizer_of
from core.training.vectors.flat import FlatParameters

WARM_STEPS: Final = 1
TIMED_STEPS: Final = 3
SLOW_S: Final = 5.0
LEARNED_STEPS: Final = 300
SEEDS: Final = (1, 2, 3)
LOSS_MAX: Final = 1.01
"""Upper bound on the loss with eight bits, in parts of that with 32."""
BYTES_MAX: Final = 2.1
"""For a parameter, of both moments in eight bits."""
EVER: Final[dict[str, object]] = {"warmup_epochs": 0, "total_epochs": 10**9, "learning_rate": 0.002}
OURS: Final = (*((name, 32) for name in OPTIMIZERS), ("lamb", 8), ("adamw", 8))

OTHERS: Final = (
    ("torch_optimizer", "Lamb", "lamb", 32),
    ("bitsandbytes.optim", "AdamW8bit", "adamw", 8),
    ("bitsandbytes.optim", "LAMB8bit", "lamb", 8),
)
"""Module, class, name and bits of what is measured where it is installed."""


class StepFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One optimiser's step at one size of a model."""

    numel: int
    library: str
    optimizer: str
    bits: int
    """Bits of a number of its state."""
    median_s: float
    least_s: float
    cpu_s: float
    """Processor time of all threads, the median; what counts where others use the processor too."""
    bytes_per_parameter: float
    """Size of its whole state."""
    device_bytes_per_parameter: float
    """Size of what lies on the model's device, where that is not the CPU."""


class LossFigures(msgspec.Struct, frozen=True, kw_only=True):
    """A small network after some hundred steps: its held-out loss above the least there is, medians over seeds."""

    optimizer: str
    steps: int
    first: float
    bits32: float
    bits8: float
    ratio: float
    """Ratio of the loss with eight bits to that with 32: the median over seeds."""


class OptimizerReport(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of optimisers."""

    bench: str = "optimizer"
    device: str
    threads: int
    """Threads of torch; Potluck's own steps take one, except for Muon's products."""
    steps: list[StepFigures]
    losses: list[LossFigures]
    left_out: list[str]
    """Libraries that are not installed, or do not run on this device."""


class Stepper:
    """One optimiser with a model of its own."""

    def __init__(self, step: Callable[[], None], state: Callable[[], Iterable[torch.Tensor]]) -> None:
        self.step = step
        self.state = state


Maker = Callable[[FlatParameters, torch.Tensor], Stepper]


def run(args: argparse.Namespace) -> int:
    """Measure and print; the exit code is 1 if eight bits take more memory or learn less than they may."""
    if args.threads:
        torch.set_num_threads(args.threads)
    report = measure([1_000_000 * millions for millions in args.millions], repeats=args.repeats, device=args.device)
    sys.stdout.write((msgspec.json.encode(report).decode() if args.json else _sentences(report)) + "\n")
    eight = [one for one in report.steps if one.library == "potluck" and one.bits == 8]
    small = all(one.bytes_per_parameter <= BYTES_MAX for one in eight)
    return 0 if small and all(one.ratio <= LOSS_MAX for one in report.losses) else 1


def measure(sizes: Sequence[int], *, repeats: int, device: str) -> OptimizerReport:
    """All of it.

    Args:
        sizes: About how many numbers the models have.
        repeats: Turns of all optimisers.
        device: Where the model lies.
    """
    makers, left_out = _makers(device)
    return OptimizerReport(
        device=device,
        threads=torch.get_num_threads(),
        steps=[figures for size in sizes for figures in _timed(size, makers, repeats=repeats, device=device)],
        losses=[_learned(name) for name in ("lamb", "adamw")],
        left_out=left_out,
    )


class AlbertShapes(torch.nn.Module):
    """Parameters in the shapes of ALBERT, about `numel` of them; nothing is computed with them."""

    def __init__(self, numel: int) -> None:
        super().__init__()
        vocabulary, embedding = min(32_000, numel // 512), 128
        width = next(width for width in range(64, 10**6, 16) if 13 * width**2 + vocabulary * embedding >= numel)
        shapes = {"embeddings": (vocabulary, embedding), "mapping": (width, embedding), "pooler": (width, width)}
        shapes |= {f"attention_{part}": (width, width) for part in ("query", "key", "value", "dense")}
        shapes |= {"ffn": (4 * width, width), "ffn_output": (width, 4 * width)}
        for name, (rows, columns) in shapes.items():
            self.register_parameter(name, torch.nn.Parameter(0.02 * torch.randn(rows, columns)))
            self.register_parameter(f"{name}_bias", torch.nn.Parameter(torch.zeros(rows)))
        for number in range(3):
            self.register_parameter(f"norm_{number}", torch.nn.Parameter(torch.ones(width)))


def _ours(name: str, bits: int) -> Maker:
    numbers = {"name": name, **EVER, **({"bits": bits} if bits != 32 else {})}

    def make(flat: FlatParameters, gradient_N: torch.Tensor) -> Stepper:
        optimizer = optimizer_of(numbers, flat)
        own_N, taken = torch.empty_like(gradient_N), iter(range(10**9))

        def step() -> None:
            own_N.copy_(gradient_N)
            at = next(taken)
            optimizer.step(own_N, taken=at, epoch=at)

        return Stepper(step, optimizer.state.values)

    return make


def _theirs(kind: Callable[..., torch.optim.Optimizer], *, matrices: bool = False, **numbers: Any) -> Maker:
    """An optimiser in torch's manner.

    Args:
        kind: Its class.
        matrices: It takes nothing else; the rest is AdamW's.
        numbers: Its own.
    """

    def make(flat: FlatParameters, gradient_N: torch.Tensor) -> Stepper:
        parameters = [torch.nn.Parameter(span.of(flat.values_N)) for span in flat.spans]
        gradients = [span.of(gradient_N).to(flat.values_N.device) for span in flat.spans]
        hidden = [span.decays and "embed" not in span.name for span in flat.spans]
        rest = [p for p, inner in zip(parameters, hidden, strict=True) if matrices and not inner]
        optimizers = [
            kind([p for p, inner in zip(parameters, hidden, strict=True) if inner or not matrices], **numbers)
        ]
        optimizers += [torch.optim.AdamW(rest, lr=3e-5)] if rest else []

        def step() -> None:
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.grad = gradient
            torch.nn.utils.clip_grad_norm_(parameters, 1e9)
            for optimizer in optimizers:
                optimizer.step()

        def state() -> Iterable[torch.Tensor]:
            kept = [value for optimizer in optimizers for slots in optimizer.state.values() for value in slots.values()]
            distinct = {value.data_ptr(): value for value in kept if isinstance(value, torch.Tensor)}
            return distinct.values()

        return Stepper(step, state)

    return make


def _makers(device: str) -> tuple[dict[tuple[str, str, int], Maker], list[str]]:
    """What can be measured here, by library, name and bits; and the libraries that cannot."""
    makers = {("potluck", name, bits): _ours(name, bits) for name, bits in OURS}
    rate, left_out = EVER["learning_rate"], []
    makers["torch", "adamw", 32] = _theirs(torch.optim.AdamW, lr=rate)
    makers["torch", "adamw, fused", 32] = _theirs(torch.optim.AdamW, lr=rate, fused=True)
    makers["torch", "sgd", 32] = _theirs(torch.optim.SGD, lr=rate, momentum=0.9, nesterov=True)
    makers["torch", "muon", 32] = _theirs(torch.optim.Muon, matrices=True, lr=rate)
    for module, kind, name, bits in OTHERS:
        library, key = module.partition(".")[0], (module.partition(".")[0], name, bits)
        try:
            makers[key] = _theirs(getattr(importlib.import_module(module), kind), lr=rate)
            _stepped(makers[key], device)
        except Exception as error:  # noqa: BLE001 - another project's code may fail in any way
            makers.pop(key, None)
            left_out.append(f"{library} {name}: {str(error).strip().splitlines()[0] if str(error) else error!r}"[:200])
    return makers, left_out


def _stepped(make: Maker, device: str) -> None:
    flat = FlatParameters(torch.nn.Linear(128, 128).to(device))
    make(flat, torch.randn(flat.numel)).step()


def _timed(size: int, makers: dict[tuple[str, str, int], Maker], *, repeats: int, device: str) -> list[StepFigures]:
    """Step with each in turn, a model of its own each time, so that only one is in memory."""
    flat = FlatParameters(AlbertShapes(size).to(device))
    start_N, gradient_N = flat.values_N.clone(), 1e-3 * torch.randn(flat.numel)
    times: dict[tuple[str, str, int], list[tuple[float, float]]] = {key: [] for key in makers}
    memory: dict[tuple[str, str, int], tuple[float, float]] = {}
    for _ in range(repeats):
        for key, make in makers.items():
            flat.values_N.copy_(start_N)
            stepper = make(flat, gradient_N)
            times[key] += _times(stepper, device)
            state = list(stepper.state())
            there = sum(tensor.nbytes for tensor in state if tensor.device.type != "cpu")
            memory[key] = (sum(tensor.nbytes for tensor in state) / flat.numel, there / flat.numel)
            del stepper, state
            gc.collect()
    return [
        StepFigures(
            numel=flat.numel,
            library=library,
            optimizer=name,
            bits=bits,
            median_s=round(statistics.median(seconds for seconds, _ in times[library, name, bits]), 4),
            least_s=round(min(times[library, name, bits])[0], 4),
            cpu_s=round(statistics.median(cpu_s for _, cpu_s in times[library, name, bits]), 4),
            bytes_per_parameter=round(memory[library, name, bits][0], 3),
            device_bytes_per_parameter=round(memory[library, name, bits][1], 3),
        )
        for library, name, bits in makers
    ]


def _times(stepper: Stepper, device: str) -> list[tuple[float, float]]:
    """How long steps take, and how long the CPU is busy with them, seconds; after a slow one there is no other."""
    found: list[tuple[float, float]] = []
    for number in range(WARM_STEPS + TIMED_STEPS):
        began, busy = time.perf_counter(), time.process_time()
        stepper.step()
        if device.startswith("cuda"):
            torch.cuda.synchronize()
        seconds = time.perf_counter() - began
        if number >= WARM_STEPS or seconds > SLOW_S:
            found.append((seconds, time.process_time() - busy))
        if seconds > SLOW_S:
            break
    return found


def _learned(name: str) -> LossFigures:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # more only wait for each other, with so little to do
    runs = [[_loss(name, bits, seed) for bits in (32, 8)] for seed in SEEDS]
    torch.set_num_threads(threads)
    return LossFigures(
        optimizer=name,
        steps=LEARNED_STEPS,
        first=round(statistics.median(full[0] for full, _ in runs), 4),
        bits32=round(statistics.median(full[1] for full, _ in runs), 4),
        bits8=round(statistics.median(eight[1] for _, eight in runs), 4),
        ratio=round(statistics.median(eight[1] / full[1] for full, eight in runs), 4),
    )


def _loss(name: str, bits: int, seed: int) -> tuple[float, float]:
    """Held-out loss before and after the steps, of a network that learns what another one says: 0 is the least.

    Both are made of matrices that eight bits concern.  Equal seeds give equal networks and equal batches.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        teacher, student = (
            torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.Tanh(), torch.nn.Linear(256, 32)) for _ in range(2)
        )
        teacher.requires_grad_(requires_grad=False)
        flat = FlatParameters(student)
        numbers = {"name": name, "warmup_epochs": 20, "total_epochs": LEARNED_STEPS, "learning_rate": 0.01}
        optimizer = optimizer_of(numbers | {"bits": bits}, flat)

        def loss(samples: int) -> torch.Tensor:
            x = torch.randn(samples, 64)
            said, told = student(x).log_softmax(1), (8 * teacher(x)).log_softmax(1)
            return torch.nn.functional.kl_div(said, told, reduction="batchmean", log_target=True)

        def heldout() -> float:
            with torch.random.fork_rng(devices=[]), torch.no_grad():
                torch.manual_seed(0)
                return loss(4096).item()

        first = heldout()
        for step in range(LEARNED_STEPS):
            flat.gradients_N.zero_()
            loss(256).backward()  # type: ignore[no-untyped-call]
            optimizer.step(flat.gradients_N.clone(), taken=step, epoch=step)
    return first, heldout()


def _sentences(report: OptimizerReport) -> str:
    lines = [f"Steps on {report.device}, torch with {report.threads} threads (medians):"]
    for one in report.steps:
        words = f"{one.library} {one.optimizer}, {one.bits} bits"
        memory = f"{one.bytes_per_parameter:.2f} bytes a parameter"
        times = f"{one.median_s * 1000:8.1f} ms, CPU {one.cpu_s * 1000:8.1f} ms"
        lines.append(f"  {one.numel / 1e6:6.1f} million  {words:34} {times}  {memory}")
    lines += [
        f"Loss after {one.steps} steps of {one.optimizer}: {one.bits8} with 8 bits, {one.bits32} with 32 "
        f"({one.first} before); ratio {one.ratio}."
        for one in report.losses
    ]
    return "\n".join([*lines, *(f"Left out: {one}." for one in report.left_out)])
