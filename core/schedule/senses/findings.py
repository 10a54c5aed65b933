"""A sense, and how the findings of all senses become one `Sensed`."""

import math
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, Protocol

from core.schedule.sensed import Sensed, SensedGpu

Tell = Callable[[Sensed], None]
"""Takes what a sense knows now, in place of what it told before.  An `idle_s` of 0 holds until the sense tells again:
somebody is at the computer.  A greater one grows by itself."""
KEPT_S: Final = 60.0
"""Time for which the last word of a sense that has ended holds, or of all of a process, unless a new one comes."""
FAN_RPM: Final = 50
"""A smaller difference between turns a minute nobody hears."""

Medium = Literal["cable", "wifi", "mobile", "unknown"]
Ask = Callable[[Sequence[str]], Awaitable[str]]
"""Runs a program of the system; what it printed, empty when it is not there or fails."""


class Periodic:
    """Looks, tells what is new, and waits.

    Args:
        name: For the log.
        look: Finds out what is known now; it may raise `Absent`.
        every_s: How long to wait between two looks.
    """

    is_coarse: Final = False

    def __init__(self, name: str, look: Callable[[], Sensed], every_s: float) -> None:
        self.name: Final = name
        self._look = look
        self._every_s = every_s

    def run(self, tell: Tell) -> None:
        """Look at once, and again after each rest."""
        told, told_at = None, 0.0
        while True:
            sensed, now = self._look(), time.monotonic()
            if told is None or not sensed.is_like(told.after(now - told_at)):
                tell(sensed)
                told, told_at = sensed, now
            time.sleep(self._every_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSense:
    """Findings of this look at the present network."""

    metered: bool | None = None
    """Whether the system treats the connection as one that costs; None: it does not tell."""
    medium: Medium = "unknown"
    gateway: str | None = None
    """The default router's IPv4 address."""


class Absent(Exception):  # noqa: N818 - no error: most systems lack most of what is asked
    """This system does not have now what a sense asks."""


class Sense(Protocol):
    """One question to the system, asked in a thread of its own."""

    @property
    def name(self) -> str:
        """What the log calls it; each sense has another one."""

    @property
    def is_coarse(self) -> bool:
        """Whether its idle time counts only where no other sense knows one: a desktop's hint comes minutes late."""

    def run(self, tell: Tell) -> None:
        """Tell what is found, and each change of it, until the process ends.

        When it returns, and when it raises, what it told holds for `KEPT_S`, and it is run again after a rest.

        Raises:
            Absent: this system does not answer the question now.
        """


@dataclass(frozen=True, slots=True)
class _Told:
    sensed: Sensed
    at: float
    is_coarse: bool
    ended_at: float = math.inf
    """When the sense ended: idle time grows no further then, as nothing would tell of a touch."""

    @property
    def until(self) -> float:
        return self.ended_at + KEPT_S

    def idle_s(self, now: float) -> float | None:
        return self.sensed.after(min(now, self.ended_at) - self.at).idle_s


class Findings:
    """What all senses have told, put together.

    Where two of them know the same, the one that finds more use of the computer is believed.
    """

    def __init__(self) -> None:
        self._told: dict[str, _Told] = {}
        self._passed_on: tuple[Sensed, float] | None = None
        """What `news` returned last, and when."""

    def put(self, sense: Sense, sensed: Sensed, now: float) -> None:
        """Take what a sense tells in place of what it told before.

        Args:
            sense: The sense.
            sensed: What it knows.
            now: Seconds.
        """
        self._told[sense.name] = _Told(sensed, now, sense.is_coarse)

    def end(self, sense: Sense, now: float) -> None:
        """Keep what a sense that has ended told last for `KEPT_S`; one that ends again without a word adds nothing.

        Args:
            sense: The sense.
            now: Seconds.
        """
        told = self._told.get(sense.name)
        if told is not None and told.ended_at == math.inf:
            self._told[sense.name] = replace(told, ended_at=now)

    def whole(self, now: float) -> Sensed:
        """Put everything together; what nobody would notice is rounded away."""
        parts = [told.sensed for told in self._valid(now)]
        busy = max((part.busy for part in parts if part.busy is not None), default=None)
        battery = min((part.battery for part in parts if part.battery is not None), default=None)
        return Sensed(
            idle_s=self._idle_s(now),
            remote=_any(part.remote for part in parts),
            on_battery=_any(part.on_battery for part in parts),
            battery=None if battery is None else round(battery, 2),
            full_screen=_any(part.full_screen for part in parts),
            busy=None if busy is None else round(busy, 2),
            programs=frozenset().union(*(part.programs for part in parts)),
            celsius=_rounded(part.celsius for part in parts),
            watts=_rounded(part.watts for part in parts),
            metered=_any(part.metered for part in parts),
            fan_rpm=_rounded((part.fan_rpm for part in parts), to=FAN_RPM),
            meter=next((part.meter for part in parts if part.meter is not None), None),
            own_bytes=next((part.own_bytes for part in parts if part.own_bytes is not None), None),
            gpus=tuple(_tidy(gpu) for part in parts for gpu in part.gpus),
        )

    def news(self, now: float) -> Sensed | None:
        """Return everything put together; None: it is what the last news lets expect, by which idle time grows."""
        whole = self.whole(now)
        if self._passed_on is not None:
            before, at = self._passed_on
            if whole.is_like(before.after(now - at)):
                return None
        self._passed_on = whole, now
        return whole

    def next_at(self, now: float) -> float:
        """Return when a kept word ends; infinity when none will."""
        return min((told.until for told in self._valid(now)), default=math.inf)

    def _idle_s(self, now: float) -> float | None:
        for is_coarse in (False, True):
            known = [told.idle_s(now) for told in self._valid(now) if told.is_coarse is is_coarse]
            idle = min((each for each in known if each is not None), default=None)
            if idle is not None:
                return idle
        return None

    def _valid(self, now: float) -> list[_Told]:
        return [told for told in self._told.values() if now < told.until]


def _any(answers: Iterable[bool | None]) -> bool | None:
    known = [answer for answer in answers if answer is not None]
    return any(known) if known else None


def _rounded(values: Iterable[float | None], *, to: int = 1) -> float | None:
    highest = max((value for value in values if value is not None), default=None)
    return None if highest is None else float(round(highest / to) * to)


def _tidy(gpu: SensedGpu) -> SensedGpu:
    busy = None if gpu.busy is None else round(gpu.busy, 2)
    return replace(gpu, busy=busy, watts=_rounded([gpu.watts]), celsius=_rounded([gpu.celsius]))
