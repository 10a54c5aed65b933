"""Runs a machine: gives it events and the time, performs its outputs, and wakes it at its deadline."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from core.base.machine import Machine, Send, Tick
from core.net.clock import Clock
from core.net.planes import Planes

TIMER_SLACK_S = 0.001


class Runner:
    """Drives one machine on the running loop.

    Outputs of the machine are performed: a `Send` goes out on its message's plane, anything else to `report`.  An
    exception of the machine or of `report` is a mistake of this program: `failed` is told, and nothing is run any more.

    Args:
        machine: Handles the events that are given to `handle`, and Tick.
        clock: Unix seconds.
        planes: Takes the messages to send.
        report: Takes the machine's events, with the time.
        failed: Takes a mistake of this program.
    """

    def __init__(
        self,
        machine: Machine[Any, Any],
        *,
        clock: Clock,
        planes: Planes,
        report: Callable[[Any, float], None],
        failed: Callable[[Exception], None],
    ) -> None:
        self._machine = machine
        self._clock = clock
        self._planes = planes
        self._report = report
        self._failed = failed
        self._begun = self._over = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0

    def begin(self) -> None:
        """Take events from now on; the machine is woken once `arm` is called or the first has come."""
        self._begun = True

    def close(self) -> None:
        """Stop for good and cancel the timer."""
        self._over = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def handle(self, event: Any) -> None:
        """Give the machine an event, and perform its outputs."""
        if not self._begun or self._over:
            return
        try:
            self.perform(self._machine.handle(event, self._clock.now()))
        except Exception as error:  # noqa: BLE001 - any mistake of this program must not be lost in a callback
            asyncio.get_running_loop().call_exception_handler({"message": "a machine failed", "exception": error})
            self.close()
            self._failed(error)

    def perform(self, outputs: Iterable[Any]) -> None:
        """Send messages, report events, and look at the machine's deadline again.

        Raises:
            RuntimeError: nothing has begun.
        """
        if not self._begun:
            raise RuntimeError("a host performs nothing before it is started")
        if self._over:
            return
        now = self._clock.now()
        for output in outputs:
            if isinstance(output, Send):
                self._planes.send(output)
            else:
                self._report(output, now)
        self._planes.sent_all()
        self.arm()

    def arm(self) -> None:
        """Ensure that the machine's deadline is met; a timer that would fire too early is left alone."""
        deadline = self._machine.deadline
        if deadline is None or self._over:
            return
        loop = asyncio.get_running_loop()
        at = loop.time() + max(0.0, deadline - self._clock.now())
        if self._timer is not None:
            if self._timer_at <= at + TIMER_SLACK_S:
                return
            self._timer.cancel()
        self._timer_at = at
        self._timer = loop.call_at(at, self._ring)

    def _ring(self) -> None:
        self._timer = None
        deadline = self._machine.deadline
        if deadline is not None and deadline <= self._clock.now():
            self.handle(Tick())
        else:
            self.arm()
