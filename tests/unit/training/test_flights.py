"""Flights against one whole graph, and what becomes of them where experts do not answer."""

import os
from collections.abc import Callable, Iterable
from itertools import cycle
from pathlib import Path
from random import Random

import msgspec
import pytest
import torch

from core.base.mixture import ExpertNumbers
from core.experts.queue import CallKind
from core.training.flights.calls import (
    AskExpert,
    CallNews,
    ExpertAnswered,
    ExpertLapsed,
    LocalExperts,
    PlacesSought,
    SeekPlaces,
)
from core.training.flights.flight import Turn
from tests.unit.training.mixtures import PlainExperts, World, batches_of, random_numbers, whole_graph

MODELS = 100 if os.environ.get("POTLUCK_LONG") else 20
NUMBERS = msgspec.structs.replace(random_numbers(0), layers=2, grid=(3, 3), live=9, top=2, width=8, factor=1)
Change = Callable[[AskExpert, CallNews], CallNews]


class Answering(PlainExperts):
    """Changes what experts answer; and keeps back what it says until it is asked for, in any order.

    Args:
        numbers: The mixture's.
        change: What becomes of an answer.
        order: Draws the order of what is heard; None: as it was asked.
    """

    def __init__(
        self, numbers: ExpertNumbers, change: Change = lambda _, news: news, order: Random | None = None
    ) -> None:
        super().__init__(numbers)
        self.change = change
        self.order = order

    def answer(self, ask: AskExpert) -> CallNews:
        return self.change(ask, super().answer(ask))

    def heard(self) -> Iterable[CallNews]:
        news = super().heard()
        if self.order is None or not news:
            return news
        if self.order.random() < 0.5:
            self.news = news
            return []
        self.order.shuffle(news)
        count = self.order.randint(1, len(news))
        self.news = news[count:]
        return news[:count]


def difference(found: torch.Tensor, wanted: torch.Tensor) -> float:
    return (found - wanted).abs().max().item() / max(1.0, wanted.abs().max().item())


@pytest.mark.parametrize("seed", range(MODELS))
def test_flights_give_the_gradients_of_one_graph(seed: int) -> None:
    world = World(random_numbers(seed), iter(()), seed=seed)
    (batch,) = batches_of(world.task, 1, rows=1 + seed % 6, seed=seed)
    of_trunk, of_experts = whole_graph(world, batch)
    world.field.batches = iter([batch])
    world.run()
    ((_, _, found_N),) = world.field.landed
    assert difference(found_N, of_trunk) <= 1e-5
    for (layer, place), wanted in of_experts.items():
        own = world.experts.block(layer, place).parameters()
        for parameter, gradient in zip(own, wanted, strict=True):
            assert difference(parameter.grad, gradient) <= 1e-5


def test_flights_in_any_order_give_each_its_gradient() -> None:
    plain, mixed = (
        World(msgspec.structs.replace(NUMBERS, balance=0.0), iter(()), carried=carried)
        for carried in (PlainExperts, lambda numbers: Answering(numbers, order=Random(1)))
    )
    batches = batches_of(plain.task, 20, rows=3, seed=3)
    for world in (plain, mixed):
        world.field.batches = iter(batches)
        world.run(idle=50)
    assert len(mixed.flights) == 0
    found = {id(batch): gradient for batch, _, gradient in mixed.field.landed}
    assert [id(batch) for batch, _, _ in plain.field.landed] != list(found)
    for batch, _, gradient in plain.field.landed:
        assert difference(found[id(batch)], gradient) <= 1e-6


def test_experts_that_fail_backward_are_constants() -> None:
    deaf: set[tuple[int, int]] = set()

    def change(ask: AskExpert, news: CallNews) -> CallNews:
        is_deaf = ask.kind is CallKind.BACKWARD and (ask.layer, ask.place) in deaf
        return ExpertLapsed(ask.call) if is_deaf else news

    world = World(NUMBERS, iter(()), carried=lambda numbers: Answering(numbers, change))
    (batch,) = batches_of(world.task, 1, rows=12, seed=4)
    plain = World(NUMBERS, iter([batch]))
    plain.run()
    deaf |= set(sorted({(ask.layer, ask.place) for ask in plain.experts.asked})[::2])
    assert difference(plain.field.landed[0][2], whole_graph(world, batch)[0]) <= 1e-5
    of_trunk, _ = whole_graph(world, batch, deaf=lambda layer, place: (layer, place) in deaf)
    world.field.batches = iter([batch])
    world.run()
    assert difference(world.field.landed[0][2], of_trunk) <= 1e-5
    assert difference(plain.field.landed[0][2], of_trunk) > 1e-3


@pytest.mark.parametrize(
    "break_up",
    [
        lambda ask, _: ExpertLapsed(ask.call),
        lambda ask, _: ExpertAnswered(ask.call, torch.full(ask.x_rW.shape, torch.nan), 0),
        lambda ask, _: ExpertAnswered(ask.call, torch.full(ask.x_rW.shape, torch.inf), 0),
        lambda ask, _: ExpertAnswered(ask.call, torch.zeros(len(ask.x_rW) + 1, 8), 0),
        lambda ask, _: ExpertAnswered(ask.call, torch.zeros(0), 0),
        lambda ask, _: ExpertAnswered(ask.call, torch.zeros(len(ask.x_rW), 1), 0),
    ],
)
def test_a_row_without_an_answer_ends_its_flight(break_up: Change) -> None:
    def change(ask: AskExpert, news: CallNews) -> CallNews:
        return break_up(ask, news) if ask.layer == 1 and 2 in ask.rows_r.tolist() else news

    world = World(NUMBERS, iter(()), carried=lambda numbers: Answering(numbers, change))
    lost, kept = batches_of(world.task, 1, rows=5, seed=5) + batches_of(world.task, 1, rows=2, seed=6)
    world.field.batches = iter([lost, kept])
    turns = world.run()
    assert turns.count(Turn.LOST) == turns.count(Turn.LANDED) == 1
    assert [id(batch) for batch in world.field.lost] == [id(lost)]
    assert [id(batch) for batch, _, _ in world.field.landed] == [id(kept)]
    assert len(world.experts.forgotten) == 2


def test_spare_experts_stand_in_for_those_that_fail() -> None:
    numbers = msgspec.structs.replace(NUMBERS, spare=2)
    gone = {0, 3}
    failing = World(
        numbers,
        iter(()),
        carried=lambda given: Answering(
            given, lambda ask, news: ExpertLapsed(ask.call) if ask.place in gone and ask.layer == 0 else news
        ),
    )
    (batch,) = batches_of(failing.task, 1, rows=9, seed=8)
    failing.field.batches = iter([batch])
    assert failing.run().count(Turn.LANDED) == 1
    backward = [ask for ask in failing.experts.asked if ask.kind is CallKind.BACKWARD]
    for layer in range(2):
        rows = [row for ask in backward if ask.layer == layer for row in ask.rows_r.tolist()]
        assert sorted(rows) == sorted(list(range(9)) * numbers.top)


def test_places_that_nobody_knows_end_a_flight() -> None:
    class Empty(PlainExperts):
        def seek(self, seek: SeekPlaces) -> None:
            self.news.append(PlacesSought(seek.flight, torch.full((len(seek.scores_RG), 2), -1)))

    world = World(NUMBERS, iter(()), carried=Empty)
    world.field.batches = iter(batches_of(world.task, 3, rows=4, seed=9))
    assert world.run().count(Turn.LOST) == 3
    assert not world.field.landed


def test_answers_that_nobody_waits_for_are_dropped() -> None:
    world = World(NUMBERS, iter(()))
    stray = torch.zeros(1, 8)
    world.experts.news = [
        ExpertAnswered(999, stray, 0),
        ExpertLapsed(-1),
        PlacesSought(999, torch.zeros(1, 1, dtype=torch.long)),
    ]
    assert world.flights.turn() is Turn.NOTHING


@pytest.mark.parametrize(("steps", "lands"), [(0, True), (1, True), (2, False), (-1, False)])
def test_a_flight_outlives_one_step_of_the_trunk(steps: int, *, lands: bool) -> None:
    world = World(NUMBERS, iter(()))
    world.field.epoch = 7
    world.field.batches = iter(batches_of(world.task, 1, rows=4, seed=10))
    assert [world.flights.turn() for _ in range(2)] == [Turn.MOVED, Turn.MOVED]
    world.field.epoch += steps
    turns = world.run()
    assert (Turn.LANDED in turns, Turn.OLD in turns) == (lands, not lands)
    assert len(world.field.landed) == lands
    assert len(world.field.lost) == (not lands)


def test_dropped_flights_give_their_batches_back() -> None:
    world = World(NUMBERS, iter(()), carried=lambda numbers: Answering(numbers, order=Random(2)))
    world.field.batches = iter(batches_of(world.task, 30, rows=4, seed=11))
    for _ in range(25):
        world.flights.turn()
    begun = len(world.field.landed) + len(world.flights)
    world.flights.drop()
    assert len(world.flights) == 0
    assert len(world.field.landed) + len(world.field.lost) == begun
    world.run(idle=50)
    assert len(world.field.landed) + len(world.field.lost) == 30


class Far(PlainExperts):
    """Experts whose answers take `late` turns."""

    late = 30
    now = 0

    def __init__(self, numbers: ExpertNumbers) -> None:
        super().__init__(numbers)
        self.coming: list[tuple[int, CallNews]] = []

    def ask(self, ask: AskExpert) -> None:
        self.coming.append((self.now + self.late, self.answer(ask)))

    def heard(self) -> list[CallNews]:
        self.news += [one for at, one in self.coming if at <= self.now]
        self.coming = [(at, one) for at, one in self.coming if at > self.now]
        return super().heard()


def far_world(batches_of_step: int, *, flights: int = 256) -> tuple[World, Callable[[int], list[tuple[Turn, int]]]]:
    """Flights whose answers take 30 turns; and what takes turns: each with the number of flights after it."""
    world = World(msgspec.structs.replace(NUMBERS, layers=1, flights=flights), iter(()), carried=Far)
    world.field.batches = cycle(batches_of(world.task, 20, rows=1, seed=12))
    world.field.batches_of_step = batches_of_step

    def take(turns: int) -> list[tuple[Turn, int]]:
        found = []
        for _ in range(turns):
            turn = world.flights.turn()
            world.experts.now += 1
            found.append((turn, len(world.flights)))
        return found

    return world, take


def test_flights_begin_until_one_always_has_answers() -> None:
    """A flight has a turn each to begin, to turn round and to land, and waits 30 turns twice."""
    _, take = far_world(batches_of_step=0)
    take(300)
    found = take(200)
    assert all(turn is not Turn.NOTHING for turn, _ in found)
    assert 28 <= max(count for _, count in found) <= 36


def test_flights_are_no_more_than_a_step_takes() -> None:
    """With 30 flights most would be lost: the trunk has taken several steps when one comes back."""
    world, take = far_world(batches_of_step=4)
    take(400)
    landed, lost = len(world.field.landed), len(world.field.lost)
    take(600)
    landed, lost = len(world.field.landed) - landed, len(world.field.lost) - lost
    assert lost < 0.2 * landed


def test_no_more_flights_begin_than_the_bound() -> None:
    _, take = far_world(batches_of_step=0, flights=7)
    assert max(count for _, count in take(200)) == 7


def test_held_out_batches_are_measured_beside_flights() -> None:
    world = World(NUMBERS, iter(()), carried=lambda numbers: Answering(numbers, order=Random(3)))
    plain = World(NUMBERS, iter(()))
    for one in (world, plain):
        one.flights.measure()
        one.field.batches = iter(batches_of(one.task, 5, rows=4, seed=13))
        assert one.flights.measured is None
        one.run(idle=50)
    assert world.flights.measured == plain.flights.measured
    assert len(world.field.landed) == 5


def test_local_experts_learn_and_come_back_from_a_file(tmp_path: Path) -> None:
    numbers = msgspec.structs.replace(NUMBERS, step_rows=4, codec="u8")

    def local(given: ExpertNumbers) -> LocalExperts:
        return LocalExperts(given, b"s" * 32, device="cpu", clock=lambda: 0.0)

    world = World(numbers, iter(()), carried=local)
    world.field.batches = iter(batches_of(world.task, 6, rows=8, seed=14))
    assert world.run().count(Turn.LANDED) == 6
    assert any(world.experts.expert(0, place).version for place in range(9))
    path = tmp_path / "experts.safetensors"
    world.experts.save(path)
    other = local(numbers)
    other.load(path)
    for layer in range(2):
        for place in range(9):
            one, two = world.experts.expert(layer, place), other.expert(layer, place)
            assert one.version == two.version
            assert all(torch.equal(tensor, two.tensors()[name]) for name, tensor in one.tensors().items())


@pytest.mark.parametrize("data", [b"", b"x" * 100, b"\x08\0\0\0\0\0\0\0{}      "])
def test_a_damaged_file_of_experts_is_set_aside(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "experts.safetensors"
    path.write_bytes(data)
    experts = LocalExperts(NUMBERS, b"s" * 32, device="cpu", clock=lambda: 0.0)
    experts.load(path)
    assert [one.name.partition("-")[0] for one in tmp_path.iterdir()] == ["experts.safetensors.damaged"]
    assert experts.expert(0, 0).version == 0
