"""What trainers and hosts of experts that lie do, and what holds each of them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final
from unittest.mock import patch

import numpy as np
import torch

from core.experts.queue import CallKind
from core.training.experts.bounds import Rows

Random = np.random.Generator
TrainerLie = Callable[[torch.Tensor, Random], torch.Tensor]
HostLie = Callable[[CallKind, Rows, Rows, Random], Rows]


@dataclass(frozen=True, kw_only=True)
class Lies:
    """Who lies, and how: the last of the trainers, the first of the hosts.

    Attributes:
        trainer: What such a trainer gives in place of the gradient of an answer; None: all trainers are honest.
        repeats: How often it gives it.
        host: What such a host gives in place of an answer, or of a gradient of rows; None: all hosts are honest.
        liars: How many lie.
        silent: Whether such a host says nothing at all.
    """

    trainer: TrainerLie | None = None
    repeats: int = 1
    host: HostLie | None = None
    liars: int = 1
    silent: bool = False

    def of_trainer(self, number: int, seed: int, *, trainers: int = 8) -> Callable[[torch.Tensor], torch.Tensor] | None:
        """The lie of a trainer, if it is one that lies."""
        lie, random = self.trainer, np.random.default_rng((seed, 1000 + number))
        return None if lie is None or number < trainers - self.liars else lambda g_rW: lie(g_rW, random)

    def of_host(self, number: int, seed: int) -> Callable[[CallKind, Rows, Rows], Rows] | None:
        """The lie of a host, if it is one that lies."""
        lie, random = self.host, np.random.default_rng((seed, 2000 + number))
        if lie is None or number >= self.liars:
            return None
        return lambda kind, x_rW, found_rW: lie(kind, x_rW, found_rW, random)

    def is_silent(self, number: int) -> bool:
        """Whether a host says nothing."""
        return self.silent and number < self.liars


def turned(factor: float) -> TrainerLie:
    return lambda g_rW, _: g_rW * -factor


def noise_like(g_rW: torch.Tensor, random: Random) -> torch.Tensor:
    norm_r1 = g_rW.norm(dim=1, keepdim=True)
    noise_rW = torch.from_numpy(random.normal(0, 1, tuple(g_rW.shape)).astype(np.float32))
    return 3 * noise_rW * norm_r1 / noise_rW.norm(dim=1, keepdim=True)


def answers(lie: Callable[[Rows, Random], Rows]) -> HostLie:
    return lambda kind, _, found, random: lie(found, random) if kind is CallKind.FORWARD else found


def gradients(lie: Callable[[Rows, Random], Rows]) -> HostLie:
    return lambda kind, _, found, random: lie(found, random) if kind is CallKind.BACKWARD else found


def noise(found: Rows, random: Random) -> Rows:
    """Noise of three times the size."""
    drawn = random.normal(0, 1, found.shape).astype(np.float32)
    sizes = np.linalg.norm(found, axis=1, keepdims=True) / np.linalg.norm(drawn, axis=1, keepdims=True)
    return (3 * drawn * sizes).astype(np.float32)


@dataclass(frozen=True)
class Case:
    """An attack, and the program without what holds it."""

    lies: Lies
    undefended: Callable[[], AbstractContextManager[Any]]


def without(target: str, value: Any) -> Callable[[], AbstractContextManager[Any]]:
    return lambda: patch(target, value)


@contextmanager
def sizes_count_for_nothing() -> Iterator[None]:
    """Rows of any norm count whole, and take no more of a share than small ones."""
    with patch(BOUNDS + "NORM_RATIO_MAX", 1e30), patch(BOUNDS + "UsualNorm.size", lambda *_: 0.0):
        yield


BOUNDS: Final = "core.training.experts.bounds."
UNBOUNDED: Final = without(
    "core.training.flights.passes.AnswerBounds.bounded", lambda self, answers: (list(answers), [])
)
CASES: Final[Mapping[str, Case]] = MappingProxyType(
    {
        "a trainer: 10,000 times, turned": Case(Lies(trainer=turned(1e4)), without(BOUNDS + "NORM_RATIO_MAX", 1e30)),
        "a trainer: 3 times, turned, 12 times as many": Case(
            Lies(trainer=turned(3), repeats=12), without(BOUNDS + "ASKING_MIN", 10**9)
        ),
        "a trainer: noise of 3 times, 12 times as many": Case(
            Lies(trainer=noise_like, repeats=12), without(BOUNDS + "ASKING_MIN", 10**9)
        ),
        "a host: answers of 10^6": Case(Lies(host=answers(lambda y, _: np.full_like(y, 1e6))), UNBOUNDED),
        "a host: answers turned": Case(Lies(host=answers(lambda y, _: -y)), nullcontext),
        "a host: noise of 3 times": Case(Lies(host=answers(noise)), nullcontext),
        "a host: zeros": Case(Lies(host=answers(lambda y, _: 0 * y)), nullcontext),
        "a host: gradients of rows of 10^6": Case(Lies(host=gradients(lambda y, _: np.full_like(y, 1e6))), UNBOUNDED),
        "a host: gradients of rows, 3 times, turned": Case(Lies(host=gradients(lambda y, _: -3 * y)), nullcontext),
        "a host: says nothing": Case(Lies(silent=True), nullcontext),
    }
)
