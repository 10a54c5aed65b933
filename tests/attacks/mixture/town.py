"""Trainers and hosts of one mixture, with the program's own machines, in simulated time.

Each peer has the program's exchange, each host its runtime of experts, each trainer its flights.  All honest trainers
have one trunk, whose steps are the mean of their gradients, as rounds make it; a trainer that lies adds nothing to it,
for rounds have bounds of their own.  Messages take `TRIP_S`, batches at a host `BATCH_S` and `ROW_S` for each row.
"""

import heapq
from collections import defaultdict
from collections.abc import Callable
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, Final

import numpy as np
import torch

from core.base.ids import Key, PeerId
from core.base.machine import Received, Send, Tick, Trace
from core.base.mixture import ExpertNumbers, ExpertOptimizer
from core.codecs.registry import codec_of
from core.dht.events import Found
from core.dht.messages import Record
from core.experts import hosting
from core.experts.calls import CallAnswered, CallLapsed
from core.experts.messages import ExpertCall, ExpertReply, batch_rows
from core.kept.state_files import DiskStateSink
from core.swarm.catching_up.donor import PastMembers
from core.swarm.experts import exchange, places
from core.swarm.experts.reading import ExpertsSought
from core.swarm.experts.records import Mixture
from core.tasks.digits import Digits
from core.tasks.digits_cutting import CLASSES, DigitsNumbers
from core.training.vectors.flat import FlatParameters
from core.workers import flight_frames
from tests.attacks.mixture.hosts import RUN, Directory, HostWorker
from tests.attacks.mixture.lies import Lies
from tests.attacks.mixture.trainers import PIXELS, Trainer, images

TRIP_S: Final = 0.01
BATCH_S: Final = 0.002
ROW_S: Final = 0.0001
STEP_BATCHES: Final = 8
"""Batches of one step of the trunk."""
RATE: Final = 0.05
HELD_OUT: Final = 2048
MEASURED: Final = 128
"""Images of a batch that is measured with."""
NUMBERS: Final = ExpertNumbers(
    layers=1,
    grid=(2, 4),
    live=8,
    top=2,
    spare=1,
    width=16,
    factor=2,
    codec="u8",
    optimizer=ExpertOptimizer(learning_rate=0.01),
    step_rows=64,
    step_calls=10,
    balance=0.05,
    patience_s=5.0,
    flights=1,
)
SECONDS_MAX: Final = 100_000.0


class Town:
    """All peers, their messages, and the trunk.

    Args:
        folder: For files.
        seed: Decides everything.
        lies: Who lies, and how.
        trainers: Number of trainers.
        hosts: Number of hosts.
        rows_max: Number of rows of a batch at a host; None: the program's.
    """

    def __init__(
        self,
        folder: Path,
        *,
        seed: int,
        lies: Lies | None = None,
        trainers: int = 8,
        hosts: int = 8,
        rows_max: int | None = None,
    ) -> None:
        self.seed, self.lies, self.numbers = seed, lies or Lies(), NUMBERS
        numbers, codec = NUMBERS, codec_of(NUMBERS.codec)
        self._rows_max = rows_max or batch_rows(codec, numbers=numbers.width, rows=MEASURED)
        self.mixture = Mixture.of(RUN, numbers)
        kept = [[row.astype(np.uint8).tobytes().hex()] for row in images(HELD_OUT, np.random.default_rng(7))]
        task_numbers = DigitsNumbers(pixels=PIXELS, micro_batch=MEASURED, held_out=HELD_OUT)
        self.task = Digits(task_numbers, numbers, counts=[10] * CLASSES, held_out=kept)
        self.trunk = self.task.model(seed)
        self._parameters = FlatParameters(self.trunk)
        self._optimizer = torch.optim.Adam(self.trunk.parameters(), lr=RATE)
        self._sum = torch.zeros_like(self._parameters.gradients_N)
        self._landed = self.epoch = self.lost = self._steps = 0
        self.losses: list[float] = []
        self.trains = False
        self.now = 0.0
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()
        self._ticks: dict[PeerId, float] = {}
        self._stored: dict[Key, dict[bytes, Record]] = {}
        self._came: dict[tuple[PeerId, PeerId, int], float] = {}
        self.waits: defaultdict[PeerId, list[float]] = defaultdict(list)
        """By host: seconds from the coming of a trainer's call to its answer."""
        self.traces: dict[PeerId, Trace] = {}
        self._exchanges: dict[PeerId, exchange.ExpertExchange] = {}
        self.hosts = [self._join(folder, 100 + number) for number in range(hosts)]
        self.workers = {
            peer: HostWorker(folder / f"host{number}", numbers, lambda: self.now, self.lies.of_host(number, seed))
            for number, peer in enumerate(self.hosts)
        }
        self._silent: set[PeerId] = set()
        self.trainers = [Trainer(self, self._join(folder, 1 + number), number) for number in range(trainers)]
        self._of_peer = {one.peer: one for one in self.trainers}
        self._host_all()
        self._silent = {peer for number, peer in enumerate(self.hosts) if self.lies.is_silent(number)}

    def exchange_of(self, peer: PeerId) -> exchange.ExpertExchange:
        return self._exchanges[peer]

    def _join(self, folder: Path, number: int) -> PeerId:
        peer = PeerId(bytes([number]) * 32)
        codec, trace = codec_of(self.numbers.codec), Trace()
        limits = hosting.HostLimits(bytes_max=1 << 28, rows_max=self._rows_max)
        parts = exchange.ExchangeParts(
            host=hosting.ExpertHost(codec=codec, numbers=self.numbers.width, limits=limits, trace=trace),
            directory=Directory(self._stored, peer),
            sink=DiskStateSink(folder / f"sink{number}"),
            members=PastMembers(),
        )
        random = Random(f"{self.seed} {number}")
        self._exchanges[peer] = exchange.ExpertExchange(peer, self.mixture, parts=parts, random=random, trace=trace)
        self.traces[peer] = trace
        return peer

    def _host_all(self) -> None:
        """Let hosts take all places, always the same ones, and wait until all can be asked."""
        grid, layers = self.mixture.grid, range(self.numbers.layers)
        every = [(layer, grid.place(number)) for layer in layers for number in range(grid.live)]
        for number, peer in enumerate(self.hosts):
            own = tuple(every[number :: len(self.hosts)])
            self.deliver(peer, exchange.HostExperts(len(own), own))
        self._run(lambda: sum(len(self._exchanges[peer].host.hosted) for peer in self.hosts) == len(every))

    # --- what is measured --------------------------------------------------------------------------------------------

    def train(self, steps: int) -> None:
        """Train until the trunk has taken so many steps, at a rate that falls to none."""
        self.trains, self._steps = True, steps
        for trainer in self.trainers:
            trainer.wake()
        self._run(lambda: self.epoch >= steps)
        self.trains = False

    def loss(self) -> float:
        """The loss on what nobody learns from, as the first trainer measures it."""
        first = self.trainers[0]
        first.flights.drop()
        first.flights.measure()
        first.wake()
        self._run(lambda: first.flights.measured is not None)
        measured = first.flights.measured
        assert measured is not None
        return measured.score.loss

    def land(self, loss: float, *, counts: bool) -> bool:
        """Take the gradient of a batch; returns whether it is finite."""
        gradients_N = self._parameters.gradients_N
        finite = bool(gradients_N.isfinite().all())
        if counts and finite and self.trains:
            self._sum += gradients_N
            self._landed += 1
            self.losses.append(loss)
        if self._landed == STEP_BATCHES:
            gradients_N.copy_(self._sum / self._landed)
            torch.nn.utils.clip_grad_norm_(self.trunk.parameters(), 1.0)
            self._optimizer.param_groups[0]["lr"] = RATE * (1 - self.epoch / self._steps)
            self._optimizer.step()
            self._sum.zero_()
            self._landed, self.epoch = 0, self.epoch + 1
        gradients_N.zero_()
        return finite

    # --- time and messages -------------------------------------------------------------------------------------------

    def later(self, seconds: float, do: Callable[[], None]) -> None:
        """Have something done after a while."""
        heapq.heappush(self._heap, (self.now + seconds, next(self._order), do))

    def deliver(self, peer: PeerId, event: Any) -> None:
        """Give a peer an event, and do what follows."""
        machine = self._exchanges.get(peer)
        if machine is None:
            return  # who floods does not listen
        if isinstance(event, Received) and isinstance(event.message, ExpertCall):
            self._came[event.sender, peer, event.message.call] = self.now
        outputs = machine.handle(event, self.now)
        for output in outputs:
            self._do(peer, output)
        self._tick_later(peer)

    def _tick_later(self, peer: PeerId) -> None:
        due = self._exchanges[peer].deadline
        if due is not None and due < self._ticks.get(peer, float("inf")):
            self._ticks[peer] = due
            self.later(max(0.0, due - self.now), lambda: self._tick(peer, due))

    def _tick(self, peer: PeerId, due: float) -> None:
        if self._ticks.get(peer) == due:
            del self._ticks[peer]
            self.deliver(peer, Tick())

    def _do(self, peer: PeerId, output: Any) -> None:
        match output:
            case Send(to=to, message=message) if peer not in self._silent:
                if isinstance(message, ExpertReply) and to in self._of_peer:
                    self.waits[peer].append(self.now - self._came.pop((to, peer, message.call)))
                self.later(TRIP_S, lambda: self.deliver(to, Received(peer, message)))
            case Found():
                for following in self._exchanges[peer].found(output, self.now) or ():
                    self._do(peer, following)
            case places.PlaceTaken(layer=layer, place=place):
                self.workers[peer].take(layer, place)
                self.deliver(peer, hosting.ExpertHosted(layer, place))
            case hosting.ComputeBatch():
                worker = self.workers[peer]
                rows = sum(call.rows for call in output.calls)
                worker.free_at = max(worker.free_at, self.now) + BATCH_S + ROW_S * rows
                self.later(worker.free_at - self.now, lambda: self.deliver(peer, worker.compute(output)))
            case ExpertsSought() | CallAnswered() | CallLapsed():
                self._tell_trainer(peer, output)

    def _tell_trainer(self, peer: PeerId, told: ExpertsSought | CallAnswered | CallLapsed) -> None:
        match told:
            case ExpertsSought(ticket=ticket, places=sought):
                self._of_peer[peer].take(flight_frames.FlightSought(flight=ticket, places=sought.tobytes()))
            case CallAnswered(ticket=ticket, version=version, payload=payload):
                frame = flight_frames.FlightAnswered(call=ticket, version=version, payload=bytes(payload))
                self._of_peer[peer].take(frame)
            case CallLapsed(ticket=ticket):
                self._of_peer[peer].take(flight_frames.FlightLapsed(call=ticket))

    def _run(self, until: Callable[[], bool]) -> None:
        while not until():
            self.now, _, do = heapq.heappop(self._heap)
            if self.now > SECONDS_MAX:
                raise TimeoutError("the town stands still")
            do()
