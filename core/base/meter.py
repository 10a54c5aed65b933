"""How fast this peer's line moves bytes, seen in passing while real transfers run.

Rates are what the busiest half second of a stint moved, or the busiest two seconds of a long one: shorter windows would
take what lay in a buffer for the line, longer ones would count pauses.  A rate is what the line carries at least.
Where bytes waited for most of the peers nearly all along, the line was *pressed*: it carries no more.  A faster line's
bytes wait now and then as well, but before long the round has none for it to send.
"""

from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from core.base.ids import PeerId

LOOK_S: Final = 0.125
"""How often the owner is to look while bulk moves."""
WINDOW_S: Final = 0.5
LONG_WINDOW_S: Final = 2.0
LONG_STINT_S: Final = 4.0
"""From here on the long window counts: queues along the way, which fill and empty again, matter less in it."""
STINT_LEAST_S: Final = 0.05
"""A shorter stint tells nothing."""
BYTES_LEAST: Final = 16 * 1024
"""Nor does one that moved less."""
PRESSED: Final = 0.75
"""For this part of a round bytes waited for more than half of those that it sends to: the line was the limit."""
HELD_LEAST_S: Final = 0.5
FLOWS_MAX: Final = 4096
TRIPS_KEPT: Final = 256


class Glance(NamedTuple):
    """One flow, as it is now."""

    flow: int
    """Names the flow as long as it lives."""
    peer: PeerId
    left_bytes: int
    """Bytes that the line has carried since the flow began, without those in buffers of this program, of the kernel or
    before the line, where the system tells of them."""
    arrived_bytes: int
    waiting: bool
    """Whether bulk waits to leave."""
    trip_s: float = 0.0
    """A round trip on it while it is idle; 0: unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """Bandwidths observed in a stint of bulk.  Bytes a second; 0: too little moved to tell."""

    up: float = 0.0
    down: float = 0.0
    pressed: bool = False
    """Bytes had to wait for most of the peers nearly all along."""
    held: Mapping[PeerId, float] = field(default_factory=dict)
    """Peers for which bytes had to wait while the line had room, with the speed in the best window.  The mean over the
    waiting time would say less: flows that share lines are slow by turns."""


@dataclass(slots=True)
class _Flow:
    peer: PeerId
    left: int
    arrived: int
    waiting: bool
    track: deque[tuple[float, int]]
    """How much had left at the last looks, back to a window ago."""
    best: float = 0.0
    """The fastest window since the harvest, bytes a second."""

    def moved(self, now: float, left: int, *, since: float) -> None:
        self.track.append((now, left))
        while len(self.track) > 2 and self.track[1][0] <= now - WINDOW_S:
            self.track.popleft()
        at, before = self.track[0]
        if at >= since and now - at >= WINDOW_S:
            self.best = max(self.best, (left - before) / (now - at))


class _Mark(NamedTuple):
    at: float
    left: int
    arrived: int


class _Busiest:
    """The window of a stint in which most moved, each way.

    Args:
        window_s: How long a window is.
    """

    def __init__(self, window_s: float) -> None:
        self._window_s = window_s
        self._marks: deque[_Mark] = deque()
        self.up = self.down = 0.0
        """Bytes a second."""

    def look(self, mark: _Mark) -> None:
        """Compare with the mark a window ago."""
        self._marks.append(mark)
        while len(self._marks) > 2 and self._marks[1].at <= mark.at - self._window_s:
            self._marks.popleft()
        since = self._marks[0]
        if mark.at - since.at >= self._window_s:
            self.compare(since, mark)

    def compare(self, since: _Mark, mark: _Mark) -> None:
        """Keep the rates between two marks if they are the highest so far."""
        seconds = mark.at - since.at
        left, arrived = mark.left - since.left, mark.arrived - since.arrived
        if left >= BYTES_LEAST:
            self.up = max(self.up, left / seconds)
        if arrived >= BYTES_LEAST:
            self.down = max(self.down, arrived / seconds)


class Meter:
    """Estimates this computer's bandwidth from samples of its flows.  Times in seconds of any steady clock.

    The owner looks every `LOOK_S` while bulk moves, and harvests at the end of a round or of another transfer.
    """

    def __init__(self) -> None:
        self._flows: dict[int, _Flow] = {}
        self._began: _Mark | None = None
        self._last: _Mark | None = None
        self._short, self._long = _Busiest(WINDOW_S), _Busiest(LONG_WINDOW_S)
        self._left = self._arrived = 0
        self.receivers: frozenset[PeerId] = frozenset()
        """Peers to which the present round has this computer send."""
        self._pressed_s = 0.0
        self._held: dict[PeerId, tuple[int, float]] = {}
        self.trips: OrderedDict[PeerId, float] = OrderedDict()
        """Round trips in seconds to peers with recent flows, the newest last."""
        self.cap_up: float | None = None
        """The person's limit; None: no limit."""
        self.cap_down: float | None = None

    def look(self, now: float, flows: Iterable[Glance]) -> None:
        """Measure once.

        Args:
            now: A steady clock, seconds.
            flows: Bytes that each present flow has moved so far.
        """
        before = self._last
        waited, held = self._advance(now, flows)
        mark = _Mark(now, self._left, self._arrived)
        self._last = mark
        if self._began is None:
            self._began = mark
        self._short.look(mark)
        self._long.look(mark)
        if before is not None:
            if len(self.receivers.intersection(waited)) > len(self.receivers) / 2:
                self._pressed_s += now - before.at
            self._hold(before, mark, held, sum(waited.values()))

    def _advance(self, now: float, flows: Iterable[Glance]) -> tuple[dict[PeerId, int], dict[PeerId, int]]:
        """Add up the bytes that moved, and by peer those that left while more waited."""
        waited: dict[PeerId, int] = {}
        held: dict[PeerId, int] = {}
        seen: dict[int, _Flow] = {}
        for glance in flows:
            flow = self._flows.get(glance.flow)
            if flow is not None:
                left = max(0, glance.left_bytes - flow.left)
                self._left += left
                self._arrived += max(0, glance.arrived_bytes - flow.arrived)
                if glance.waiting:
                    waited[glance.peer] = waited.get(glance.peer, 0) + left
                    if flow.waiting:
                        held[glance.peer] = held.get(glance.peer, 0) + left
            if glance.trip_s > 0:
                self.trips[glance.peer] = glance.trip_s
                self.trips.move_to_end(glance.peer)
            if len(seen) < FLOWS_MAX:
                flow = flow or _Flow(glance.peer, 0, 0, waiting=False, track=deque())
                flow.left, flow.arrived, flow.waiting = glance.left_bytes, glance.arrived_bytes, glance.waiting
                flow.moved(now, glance.left_bytes, since=now if self._began is None else self._began.at)
                seen[glance.flow] = flow
        while len(self.trips) > TRIPS_KEPT:
            self.trips.popitem(last=False)
        self._flows = seen
        return waited, held

    def harvest(self) -> Sighting:
        """Bandwidths observed since the last harvest; begins anew."""
        seen = self._judged()
        up, down = self._capped(seen)
        best: dict[PeerId, float] = {}
        for flow in self._flows.values():
            best[flow.peer] = max(best.get(flow.peer, 0.0), flow.best)
            flow.best = 0.0
        held = {
            peer: max(count / seconds, best.get(peer, 0.0))
            for peer, (count, seconds) in self._held.items()
            if seconds >= HELD_LEAST_S and count >= BYTES_LEAST
        }
        capped = self.cap_up is not None and up >= self.cap_up
        looked_s = self._last.at - self._began.at if self._began and self._last else 0.0
        pressed = up > 0 and (capped or self._pressed_s >= PRESSED * looked_s)
        self._began = self._last = None
        self._short, self._long = _Busiest(WINDOW_S), _Busiest(LONG_WINDOW_S)
        self._held = {}
        self._left = self._arrived = 0
        self._pressed_s = 0.0
        return Sighting(up=up, down=down, pressed=pressed, held=held)

    def _capped(self, seen: _Busiest) -> tuple[float, float]:
        up = seen.up if self.cap_up is None else min(seen.up, self.cap_up)
        return up, seen.down if self.cap_down is None else min(seen.down, self.cap_down)

    def _judged(self) -> _Busiest:
        """The stint's busiest window; the whole of one that was over before, or that was too slow for one."""
        if self._began is None or self._last is None:
            return self._short
        seconds = self._last.at - self._began.at
        found = self._long if seconds >= LONG_STINT_S else self._short
        if seconds >= STINT_LEAST_S:
            found.compare(self._began, self._last)
        return found

    def _hold(self, before: _Mark, mark: _Mark, held: Mapping[PeerId, int], waited: int) -> None:
        """Find flows with waiting bytes while most of the bytes that left did not have to wait."""
        left = mark.left - before.left
        if not left or waited > left / 2:
            return
        for peer, count in held.items():
            total, seconds = self._held.get(peer, (0, 0.0))
            self._held[peer] = (total + count, seconds + mark.at - before.at)
