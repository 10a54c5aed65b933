"""A trainer that floods one host with calls: how long honest calls wait there."""

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Final
from unittest.mock import patch

import numpy as np

from core.base.ids import PeerId
from core.base.machine import Received
from core.codecs.registry import codec_of
from core.experts.messages import ExpertCall
from core.experts.queue import CallKind, CallQueue, WaitingCall
from tests.attacks.mixture.town import Town

FLOODER: Final = PeerId(bytes([250]) * 32)
CALLS_PER_S: Final = 1000.0
STEPS: Final = 2
"""Steps of the trunk that are taken beside the flood."""


class FirstCome(CallQueue):
    """The queue of a host that serves whoever came first."""

    def next(self) -> list[WaitingCall]:
        for trainer in self._trainers.values():
            trainer.served = self._least = 0.0
        return super().next()


class Flooder:
    """Asks a host's experts in turn, all the time.

    Args:
        town: Where it lives.
        host: Whom it asks.
        rows: Number of rows of a call.
    """

    def __init__(self, town: Town, host: PeerId, *, rows: int) -> None:
        self._town, self._host, self._rows = town, host, rows
        self._calls = count(1)
        numbers = np.random.default_rng(town.seed).normal(0, 1, rows * town.numbers.width).astype(np.float32)
        self._payload = memoryview(bytes(codec_of(town.numbers.codec).encode(numbers)))
        self._send()

    def _send(self) -> None:
        number, hosted = next(self._calls), sorted(self._town.exchange_of(self._host).host.hosted)
        layer, place = hosted[number % len(hosted)]
        call = ExpertCall(number, layer, place, CallKind.FORWARD, self._rows, 0, 2000, self._payload)
        self._town.deliver(self._host, Received(FLOODER, call))
        self._town.later(1 / CALLS_PER_S, self._send)


def wait(
    folder: Path, *, seed: int, rows: int, queue: Callable[..., CallQueue] = CallQueue, rows_max: int | None = None
) -> float:
    """Seconds within which 95 % of honest calls are answered at the host that is flooded.

    Args:
        folder: For files.
        seed: Of the town.
        rows: Number of rows of a call of the flood; 0: there is none.
        queue: The host's.
        rows_max: Number of rows that a host computes at once; None: the program's.
    """
    with patch("core.experts.hosting.CallQueue", queue):
        town = Town(folder, seed=seed, rows_max=rows_max)
    town.train(1)
    if rows:
        Flooder(town, town.hosts[0], rows=rows)
    town.waits.clear()
    town.train(1 + STEPS)
    return float(np.quantile(town.waits[town.hosts[0]], 0.95))
