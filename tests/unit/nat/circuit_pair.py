"""Two ends of a circuit, and a relay in between that may misbehave."""

from collections import Counter, deque
from random import Random
from typing import Any

from core.base.ids import PeerId
from core.base.machine import Send, Trace
from core.nat.circuit_endpoint import CircuitEndpoint, RouteLost
from core.nat.events import CircuitBytes, CircuitEnded, CircuitRoom
from core.nat.messages import CircuitData

CIRCUIT = bytes(range(16))
WINDOW_BYTES = 1 << 20
RELAYS = [PeerId(bytes([number]) * 32) for number in range(1, 4)]
STEP_S = 0.02


class Pair:
    """Two ends and a relay in between that may misbehave."""

    def __init__(self, seed: int, *, drop: float = 0.0, repeat: float = 0.0, reorder: float = 0.0) -> None:
        self.random = Random(seed)
        self.now = 1000.0
        self.trace = Trace()
        self.carried: list[Counter[PeerId]] = [Counter(), Counter()]
        self.ends = [
            CircuitEndpoint(CIRCUIT, now=self.now, trace=self.trace, window_bytes=WINDOW_BYTES, carried=carried)
            for carried in self.carried
        ]
        self.queues: list[deque[tuple[PeerId, Any, float]]] = [deque(), deque()]
        """To each end: by which relay, what, and not before when."""
        self.got = [bytearray(), bytearray()]
        self.ended: list[CircuitEnded | None] = [None, None]
        self.lost: list[RouteLost] = []
        self.rooms = 0
        self.dead: set[PeerId] = set()
        self.reading = [True, True]
        self.drop, self.repeat, self.reorder = drop, repeat, reorder
        self.bytes_per_s = 1e9
        self.delay_s = 0.0
        self.backlog = 0.0
        self.attach(RELAYS[0])

    def attach(self, relay: PeerId) -> None:
        arrived = [end.receiving.arrived for end in self.ends]
        self.perform(0, self.ends[0].attach(relay, arrived[1], self.now))
        self.perform(1, self.ends[1].attach(relay, arrived[0], self.now))

    def kill(self, relay: PeerId, *, loudly: bool) -> None:
        self.dead.add(relay)
        for queue in self.queues:
            queue.clear()
        if loudly:
            for number, end in enumerate(self.ends):
                self.perform(number, end.detach(relay, "gone", self.now))

    def perform(self, number: int, outputs: list[Any]) -> None:
        for output in outputs:
            match output:
                case Send(to=relay, message=message):
                    if relay not in self.dead:
                        self.queues[1 - number].append((relay, message, self.now + self.delay_s))
                case CircuitBytes(data=data):
                    self.got[number] += data
                    if self.reading[number]:
                        self.perform(number, self.ends[number].consumed(len(data), self.now))
                case CircuitEnded():
                    self.ended[number] = output
                case RouteLost():
                    self.lost.append(output)
                case CircuitRoom():
                    self.rooms += 1

    def line_busy(self, message: Any) -> bool:
        """Whether a slow line still has to carry this message on its way to the called side."""
        if not isinstance(message, CircuitData):
            return False
        if self.backlog < len(message.payload):
            return True
        self.backlog -= len(message.payload)
        return False

    def step(self) -> None:
        self.now += STEP_S
        self.backlog = min(self.backlog + self.bytes_per_s * STEP_S, 1e9 if self.bytes_per_s >= 1e9 else 40_000)
        for number, queue in enumerate(self.queues):
            stays: deque[tuple[PeerId, Any, float]] = deque()
            busy = False
            for _ in range(len(queue)):
                if not queue:
                    break
                if len(queue) > 1 and self.random.random() < self.reorder:
                    queue.rotate(-1)
                relay, message, due_at = queue.popleft()
                # Control overtakes bulk that stands before a slow line, as it does on a link.
                busy = busy or (due_at <= self.now and number == 1 and self.line_busy(message))
                if due_at > self.now or (busy and isinstance(message, CircuitData)):
                    stays.append((relay, message, due_at))
                    continue
                if self.random.random() < self.drop:
                    continue
                for _ in range(1 + (self.random.random() < self.repeat)):
                    self.perform(number, self.ends[number].handle(relay, message, self.now))
            queue.extendleft(reversed(stays))
        for number, end in enumerate(self.ends):
            if end.deadline is not None and end.deadline <= self.now:
                self.perform(number, end.tick(self.now))

    def run(self, seconds: float) -> None:
        for _ in range(int(seconds / STEP_S)):
            self.step()

    def write(self, number: int, data: bytes) -> None:
        self.perform(number, self.ends[number].write(data, self.now))
