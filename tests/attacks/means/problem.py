"""A small problem that members of simulated rounds learn together: the next letter of a text, from the four before."""

from functools import cache
from pathlib import Path
from typing import Final, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import cross_entropy

Vector = NDArray[np.float32]
TEXT: Final = Path(__file__).parents[3] / "LICENSE"
LETTERS: Final = 64
CONTEXT: Final = 4
WIDTH: Final = 16
"""Numbers for each letter."""
HIDDEN: Final = 64
HELD_OUT: Final = 0.1
"""Part of the text on which nothing is learned."""
STEP: Final = 0.01
"""Learning rate of the optimiser, which is Adam."""


class Learned(Protocol):
    """What members learn together."""

    numel: int
    steps: int
    """Steps that were taken."""

    def gradient(self, member: int, samples: int, attempt: int) -> Vector:
        """What a member computes of so many samples in the round of this number."""

    def step(self, mean: Vector) -> None:
        """Take a step with a mean."""

    def held_out_loss(self) -> float:
        """How far from well learned it is."""


class Noise:
    """Nothing is learned: a fixed gradient, and as much noise of each member as it is long.

    Args:
        seed: Decides both.
        numel: Numbers in it.
    """

    def __init__(self, seed: int, numel: int) -> None:
        self.numel = numel
        self.steps = 0
        self._seed = seed
        self.direction = np.random.default_rng(seed).standard_normal(numel, dtype=np.float32)

    def gradient(self, member: int, samples: int, attempt: int) -> Vector:
        """What a member computes of so many samples in the round of this number."""
        noise = np.random.default_rng((1, self._seed, attempt, member)).standard_normal(self.numel, dtype=np.float32)
        return self.direction + noise * np.float32((64 / samples) ** 0.5)

    def step(self, mean: Vector) -> None:
        """Only count it."""
        del mean
        self.steps += 1

    def held_out_loss(self) -> float:
        """There is none."""
        return 0.0


@cache
def _windows() -> tuple[torch.Tensor, torch.Tensor]:
    """All places of the text with the letters before each: to learn from, and held out; shape (places, CONTEXT + 1)."""
    letters = torch.tensor([ord(letter) % LETTERS for letter in TEXT.read_text().lower()])
    places = letters.unfold(0, CONTEXT + 1, 1)
    first = int(len(places) * (1 - HELD_OUT))
    return places[:first], places[first:]


class Problem:
    """One model, which learns by the means of its members' gradients.

    Args:
        seed: Decides where it begins, and which places are drawn.
    """

    def __init__(self, seed: int) -> None:
        torch.manual_seed(seed)
        torch.set_num_threads(1)
        self._seed = seed
        self._model = torch.nn.Sequential(
            torch.nn.Embedding(LETTERS, WIDTH),
            torch.nn.Flatten(),
            torch.nn.Linear(CONTEXT * WIDTH, HIDDEN),
            torch.nn.Tanh(),
            torch.nn.Linear(HIDDEN, LETTERS),
        )
        self._parameters = list(self._model.parameters())
        self.numel = sum(one.numel() for one in self._parameters)
        self._optimizer = torch.optim.Adam(self._parameters, lr=STEP)
        self.steps = 0

    def gradient(self, member: int, samples: int, attempt: int) -> Vector:
        """What a member computes of so many samples in one round.

        Args:
            member: Its place.
            samples: How many.
            attempt: Number of the round.
        """
        train, _ = _windows()
        random = np.random.default_rng((self._seed, attempt, member))
        batch = train[torch.from_numpy(random.integers(len(train), size=samples))]
        gradients = torch.autograd.grad(self._loss(batch), self._parameters)
        return torch.cat([one.flatten() for one in gradients]).numpy()

    def step(self, mean: Vector) -> None:
        """Take a step with a mean; numbers that are none are taken like others."""
        place, whole = 0, torch.from_numpy(mean.copy())
        for one in self._parameters:
            one.grad = whole[place : place + one.numel()].view_as(one)
            place += one.numel()
        self._optimizer.step()
        self.steps += 1

    def held_out_loss(self) -> float:
        """The mean loss on the held-out text, nats."""
        _, held_out = _windows()
        with torch.no_grad():
            return float(self._loss(held_out))

    def _loss(self, places: torch.Tensor) -> torch.Tensor:
        return cross_entropy(self._model(places[:, :CONTEXT]), places[:, CONTEXT])
