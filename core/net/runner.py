"""Runs a machine: gives it events and the time, performs its outputs, and wakes it at its deadline."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Any

from core.base.content import digest
from core.base.ids import Observed, PeerId, short
from core.base.machine import Lost, Machine, Received, Send, Tick
from core.nat.events import LinkUp
from core.net.clock import Clock
from core.net.failed_peers import FailedPeers
from core.net.planes import Planes

TIMER_SLACK_S = 0.001
TOO_EARLY_S = 0.1
"""Lead of a timer from which on it is set anew, seconds: each ring wakes the computer."""

_LOG = logging.getLogger(__name__)


class Runner:
    """Drives one machine on the running loop.

    Outputs of the machine are performed: a `Send` goes out on its message's plane, anything else to `report`.  An
    exception of the machine or of `report` is a mistake of this program.  While they handle what a peer did, it costs
    that peer its links, and its messages are dropped for a while (`core.net.failed_peers`).  At any other time, and
    where that happens with most peers, `failed` is told, and nothing is run any more.

    Args:
        machine: Handles the events that are given to `handle`, and Tick.
        clock: Unix seconds.
        planes: Takes the messages to send.
        report: Takes the machine's events, with the time.
        failed: Takes a mistake of this program.
        failed_peers: Remembers the peers whose messages the machine failed at.
    """

    def __init__(
        self,
        machine: Machine[Any, Any],
        *,
        clock: Clock,
        planes: Planes,
        report: Callable[[Any, float], None],
        failed: Callable[[Exception], None],
        failed_peers: FailedPeers,
    ) -> None:
        self._machine = machine
        self._clock = clock
        self._planes = planes
        self._report = report
        self._failed = failed
        self._failed_peers = failed_peers
        self._begun = self._over = False
        self._handling = False
        """Whether an event is being handled: what the owner gives meanwhile is part of it."""
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
        """Give the machine an event, and perform its outputs.

        Raises:
            Exception: the machine failed while it handled another event, of which this one is part.
        """
        if not self._begun or self._over:
            return
        now, peer = self._clock.now(), _peer_of(event)
        if peer is None and self._handling:
            self.perform(self._machine.handle(event, now))
            return
        if peer is not None and not isinstance(event, Lost) and self._failed_peers.excludes(peer, now):
            self._planes.hang_up(peer, "is excluded")
            return
        handling, self._handling = self._handling, True
        try:
            self.perform(self._machine.handle(event, now))
            if peer is not None:
                self._failed_peers.heard(peer, now)
        except Exception as error:  # noqa: BLE001 - any mistake of this program must not be lost in a callback
            if peer is None or not self._goes_on(event, peer, error):
                asyncio.get_running_loop().call_exception_handler({"message": "a machine failed", "exception": error})
                self.close()
                self._failed(error)
        finally:
            self._handling = handling

    def perform(self, outputs: Iterable[Any]) -> None:
        """Send messages, report events, and look at the machine's deadline again.

        All outputs are performed, even if one of them fails: the machine takes them as done.

        Raises:
            RuntimeError: nothing has begun.
            Exception: the first with which an output failed.
        """
        if not self._begun:
            raise RuntimeError("a host performs nothing before it is started")
        if self._over:
            return
        now = self._clock.now()
        failed: Exception | None = None
        for output in outputs:
            try:
                if isinstance(output, Send):
                    self._planes.send(output)
                else:
                    self._report(output, now)
            except Exception as error:  # noqa: BLE001 - raised again below
                failed = failed or error
        self._planes.sent_all()
        self.arm()
        if failed is not None:
            raise failed

    def arm(self) -> None:
        """Ensure that the machine's deadline is met; a timer that would ring a little too early is left alone."""
        deadline = self._machine.deadline
        if deadline is None or self._over:
            return
        loop = asyncio.get_running_loop()
        at = loop.time() + max(0.0, deadline - self._clock.now())
        if self._timer is not None:
            if at - TOO_EARLY_S <= self._timer_at <= at + TIMER_SLACK_S:
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

    def _goes_on(self, event: Any, peer: PeerId, error: Exception) -> bool:
        """End the conversation with a peer at whose doing the machine failed; returns whether the host goes on."""
        kind, named = type(event).__name__, ""
        if isinstance(event, Received):
            kind, named = type(event.message).__name__, digest(self._planes.codec.encode(event.message)).hex()
        _LOG.error("failed at a %s of %s, digest %s", kind, short(peer), named or "none", exc_info=error)
        self._planes.hang_up(peer, "this program failed at its message")
        if self._failed_peers.failed(peer, self._clock.now()):
            return False
        try:
            self.arm()
        except Exception:  # noqa: BLE001 - the deadline is of no peer's doing
            _LOG.exception("the machine has no deadline any more")
            return False
        return True


def _peer_of(event: Any) -> PeerId | None:
    """The peer that did what an event tells; None: no peer caused it."""
    match event:
        case Received(sender=peer) | Observed(peer=peer) | LinkUp(peer=peer) | Lost(peer=peer):
            return PeerId(peer)
    return None
