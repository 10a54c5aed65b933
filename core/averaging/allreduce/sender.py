"""The parts of one member go out: which leaves next, and how many may be unanswered.

A part is at the same time the request for its chunk's mean, so answers drive the flow: at most a window of parts is
ahead of the first mean that is missing, and a member that pauses stops its own traffic.  All shares progress in
proportion, so that all reducers are busy to the end.
"""

import math
from collections.abc import Iterator
from typing import Final

from core.averaging.allreduce.lane import Lanes
from core.averaging.allreduce.vectors import RoundContext
from core.averaging.allreduce.windows import TURNS_PART, Windows
from core.averaging.messages import Part

NOTHING: Final = memoryview(b"")
"""The payload of a part of a member that contributes nothing to its chunk."""


class Sender:
    """Of the parts that may leave, the one whose share is least advanced goes first.

    Members begin at different shares, so that no reducer gets everybody's first part at once.

    Args:
        context: What the round works on.
        lanes: One for each share.
        windows: How many parts may be unanswered, and over how many seconds they leave evenly.
    """

    def __init__(self, context: RoundContext, lanes: Lanes, windows: Windows) -> None:
        self._context = context
        self._lanes = lanes
        self._windows = windows
        self._opened: dict[tuple[int, int], int] = {}
        self._began_at = math.inf
        self.again_at: float | None = None
        """When a part's time comes, unix seconds."""

    def open(self, share: int, member: int, version: int) -> None:
        """A member says that it waits for the parts of a version of a share."""
        self._opened[share, member] = max(version, self._opened.get((share, member), -1))
        self.consider(share)

    def consider(self, share: int) -> None:
        """Parts of a share may leave once its reducer waits for them."""
        lane, me = self._lanes[share], self._context.me
        opened = self._opened.get((share, lane.reducer)) == lane.version
        lane.ready = opened and lane.reducer != me and not lane.gone and me in self._context.shares.receivers

    def warm_up(self) -> None:
        """All reducers are ready: allow the whole windows at once."""
        for lane in self._lanes:
            lane.open_window = lane.window

    def send(self, now: float) -> list[tuple[int, Part]]:
        """The next parts that window and pacing allow, addressed to their reducers; they count as sent."""
        outputs = []
        shares, plan = self._context.shares, self._context.shares.plan
        for share, chunk in self._leaving(now):
            lane = self._lanes[share]
            gives = shares.gives(self._context.me, shares.number(share, chunk))
            payload = self._context.vectors.part(share, chunk) if gives else NOTHING
            part = Part(plan.round, share, lane.version, chunk, payload)
            outputs.append((lane.reducer, part))
        return outputs

    def _leaving(self, now: float) -> Iterator[tuple[int, int]]:
        """Share and chunk of each part that leaves now."""
        self.again_at = None
        unanswered = sum(lane.unanswered for lane in self._lanes)
        seconds = self._windows.seconds
        while unanswered < self._windows.parts:
            due = [share for share, lane in enumerate(self._lanes) if lane.due]
            if not due:
                return
            self._began_at = min(self._began_at, now)
            share = min(due, key=self._turn)
            lane = self._lanes[share]
            at = self._began_at + seconds * (lane.progress - 1 / lane.count - self._early(share))
            if seconds and at > now:
                self.again_at = at
                return
            unanswered += 1
            yield share, lane.send()

    def _turn(self, share: int) -> tuple[float, int]:
        return self._lanes[share].progress - self._early(share), (share - self._context.me) % len(self._lanes)

    def _early(self, share: int) -> float:
        """Members take turns within a part's length, so that not all fill one reducer's line at once."""
        if not self._windows.seconds:
            return 0.0
        turn = (share - self._context.me) % len(self._lanes)
        return turn / len(self._lanes) * min(TURNS_PART, 1 / self._lanes[share].count)
