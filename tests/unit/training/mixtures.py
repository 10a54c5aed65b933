"""Small mixtures of experts for tests: digits made on the spot, flights, and the same as one whole graph."""

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

import numpy as np
import torch

from core.base.mixture import ExpertNumbers
from core.experts.grid import ExpertGrid
from core.tasks.digits import Digits, DigitsBatch
from core.tasks.digits_cutting import CLASSES, DigitsNumbers
from core.tasks.experts.blocks import new_expert
from core.tasks.experts.gate import PlaceScores
from core.tasks.experts.stages import MixtureTask
from core.training.devices.precision import FP32
from core.training.flights.calls import AskExpert, CallNews, ExpertAnswered, PlacesSought, SeekPlaces
from core.training.flights.flight import Turn
from core.training.flights.flights import Flights
from core.training.flights.passes import Answer, AnswerBounds, TrunkPasses
from core.training.samples.samples import Drawn
from core.training.vectors.flat import FlatParameters

PIXELS = 16


def images(count: int, seed: int, *, noise: float = 60) -> np.ndarray:
    """Rows of images: of each class a pattern of its own, and noise."""
    random = np.random.default_rng(seed)
    patterns = np.random.default_rng(99).integers(0, 256, (CLASSES, PIXELS))
    classes = random.integers(0, CLASSES, count)
    pixels = np.clip(patterns[classes] + random.normal(0, noise, (count, PIXELS)), 0, 255)
    return np.column_stack([classes, pixels]).astype(np.uint16)


def small_digits(experts: ExpertNumbers, *, held_out: int = 64, noise: float = 60) -> Digits:
    kept = [[row.astype(np.uint8).tobytes().hex()] for row in images(held_out, 7, noise=noise)]
    numbers = DigitsNumbers(pixels=PIXELS, micro_batch=16, held_out=held_out)
    return Digits(numbers, experts, counts=[10] * CLASSES, held_out=kept)


def random_numbers(seed: int) -> ExpertNumbers:
    """Sizes of a small mixture, of which no expert takes a step."""
    random = Random(seed)
    grid = tuple(random.randint(2, 5) for _ in range(random.randint(1, 3)))
    places = int(np.prod(grid))
    live = random.randint(2, places)
    return ExpertNumbers(
        layers=random.randint(1, 3),
        grid=grid,
        live=live,
        top=random.randint(1, min(4, live)),
        spare=0,
        width=random.choice([8, 12]),
        factor=random.randint(1, 2),
        codec="raw",
        step_rows=65_536,
        step_calls=1000,
        balance=random.choice([0.0, 0.01, 0.5]),
    )


class PlainExperts:
    """Experts that answer at once, add up what they would learn, and never take a step.

    Args:
        numbers: The mixture's.
    """

    def __init__(self, numbers: ExpertNumbers) -> None:
        self.numbers = numbers
        self.blocks: dict[tuple[int, int], torch.nn.Module] = {}
        self.news: list[CallNews] = []
        self.asked: list[AskExpert] = []
        self.forgotten: list[int] = []
        self.blamed: list[int] = []

    def block(self, layer: int, place: int) -> torch.nn.Module:
        sizes = {"width": self.numbers.width, "factor": self.numbers.factor}
        seed = 1000 * layer + place
        return self.blocks.setdefault((layer, place), new_expert("ffn", seed=seed, **sizes))

    def seek(self, seek: SeekPlaces) -> None:
        scores = PlaceScores(ExpertGrid(self.numbers.grid, self.numbers.live)).of_all(seek.scores_RG)
        count = min(self.numbers.top + self.numbers.spare, self.numbers.live)
        self.news.append(PlacesSought(seek.flight, scores.topk(count, dim=1).indices))

    def ask(self, ask: AskExpert) -> None:
        self.asked.append(ask)
        self.news.append(self.answer(ask))

    def answer(self, ask: AskExpert) -> CallNews:
        block, x = self.block(ask.layer, ask.place), ask.x_rW.clone().requires_grad_()
        y = block(x)
        if ask.gradient_rW is None:
            return ExpertAnswered(ask.call, y.detach(), 0)
        y.backward(ask.gradient_rW)
        return ExpertAnswered(ask.call, x.grad, 0)

    def forget(self, flight: int) -> None:
        self.forgotten.append(flight)

    def blame(self, call: int) -> None:
        self.blamed.append(call)

    def heard(self) -> list[CallNews]:
        news, self.news = self.news, []
        return news


class KeptField:
    """Gives batches, and keeps the gradients that land.

    Args:
        parameters: In which gradients land.
        batches: What flights are to learn.
    """

    def __init__(self, parameters: FlatParameters, batches: Iterator[Any]) -> None:
        self.parameters = parameters
        self.batches = batches
        self.landed: list[tuple[Any, float, torch.Tensor]] = []
        self.lost: list[Any] = []
        self.epoch = 0
        self.batches_of_step = 0
        """The trunk takes a step after so many batches; 0: never."""

    def draw(self) -> Drawn[Any] | None:
        batch = next(self.batches, None)
        return None if batch is None else Drawn(batch, ())

    def land(self, drawn: Drawn[Any], loss: float) -> bool:
        self.landed.append((drawn.batch, loss, self.parameters.gradients_N.clone()))
        self.parameters.gradients_N.zero_()
        if self.batches_of_step and len(self.landed) % self.batches_of_step == 0:
            self.epoch += 1
        return True

    def lose(self, drawn: Drawn[Any]) -> None:
        self.lost.append(drawn.batch)


class Unbounded(AnswerBounds):
    """Takes answers as they are, for what is compared with one whole graph."""

    def bounded(self, answers: Sequence[Answer]) -> tuple[list[Answer], list[int]]:
        return list(answers), []


class World:
    """A trunk, its experts, and its flights.

    Args:
        numbers: The mixture's.
        batches: What flights are to learn.
        carried: Makes the carrier; left out: of `PlainExperts`.
        seed: Of the trunk.
        bounded: Whether answers are bounded.
        task: What is learned; left out: small digits.
    """

    def __init__(
        self,
        numbers: ExpertNumbers,
        batches: Iterator[Any],
        *,
        carried: Callable[[ExpertNumbers], Any] = PlainExperts,
        seed: int = 0,
        bounded: bool = False,
        task: MixtureTask | None = None,
    ) -> None:
        self.task = task or small_digits(numbers)
        self.trunk = self.task.model(seed)
        self.parameters = FlatParameters(self.trunk)
        self.experts = carried(numbers)
        self.field = KeptField(self.parameters, batches)
        self.passes = TrunkPasses(self.task, self.trunk, numbers, FP32)
        if not bounded:
            self.passes.bounds = [Unbounded() for _ in range(numbers.layers)]
        self.flights = Flights(self.passes, self.experts, self.field, most=numbers.flights)

    def run(self, *, idle: int = 1) -> list[Turn]:
        """Take turns until so many in a row move nothing."""
        found: list[Turn] = []
        while found[-idle:] != [Turn.NOTHING] * idle:
            found.append(self.flights.turn())
            assert len(found) < 100_000
        return [turn for turn in found if turn is not Turn.NOTHING]


def batches_of(task: Digits, count: int, *, rows: int, seed: int) -> list[DigitsBatch]:
    return [task.batch(images(rows, seed + number), np.zeros(rows, np.uint64)) for number in range(count)]


def whole_graph(
    world: World, batch: Any, *, deaf: Callable[[int, int], bool] = lambda layer, place: False
) -> tuple[torch.Tensor, dict[tuple[int, int], list[torch.Tensor]]]:
    """The gradients of one graph with all experts in it: the trunk's, of the mean; the experts', of the sum.

    Args:
        world: Whose trunk and experts these are.
        batch: What is learned.
        deaf: Whether the expert of a layer and place answers forward, and not backward.
    """
    numbers, trunk = world.passes.numbers, world.trunk
    grid = ExpertGrid(numbers.grid, numbers.live)
    starts = np.cumsum((0, *numbers.grid[:-1]))
    experts: dict[tuple[int, int], torch.nn.Module] = {}
    x, objective = trunk.first(batch), torch.zeros(())
    for layer in range(numbers.layers):
        rows, scores = trunk.gate(layer, x)
        out = []
        for row in range(len(rows)):
            of_place = [
                sum(scores[row, start + at] for start, at in zip(starts, grid.place(number), strict=True))
                for number in range(numbers.live)
            ]
            best = sorted(range(numbers.live), key=lambda number: -of_place[number].item())[: numbers.top]
            weights = torch.stack([of_place[number] for number in best]).softmax(0)
            answers = []
            for number in best:
                if (layer, number) not in experts:
                    experts[layer, number] = world.experts.block(layer, number)
                answer = experts[layer, number](rows[row : row + 1])[0]
                answers.append(answer.detach() if deaf(layer, number) else answer)
            out.append((weights.unsqueeze(1) * torch.stack(answers)).sum(0))
        x = trunk.after(layer, x, torch.stack(out))
        for start, size, dimension in zip(starts, numbers.grid, range(len(starts)), strict=True):
            living = sorted({grid.place(number)[dimension] for number in range(numbers.live)})
            share = scores[:, start : start + size][:, living].softmax(1).mean(0)
            objective = objective + numbers.balance * share.var(unbiased=False) / share.mean() ** 2
    objective = objective + trunk.last(x, batch).objective
    trained = [parameter for expert in experts.values() for parameter in expert.parameters()]
    own = list(trunk.parameters())
    found = torch.autograd.grad(objective * batch.samples, [*own, *trained], allow_unused=True, materialize_grads=True)
    of_trunk = torch.cat([gradient.flatten() for gradient in found[: len(own)]]) / batch.samples
    rest = iter(found[len(own) :])
    of_experts = {place: [next(rest) for _ in expert.parameters()] for place, expert in experts.items()}
    return of_trunk, of_experts
