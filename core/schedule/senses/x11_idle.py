"""Idle time of a session under X, by alarms of the server on its counter IDLETIME.

Nothing is asked meanwhile: the server tells when somebody touches the computer, and when that was a second ago.
"""

import contextlib
import struct
from typing import Final

import xcffib.sync

from core.schedule.sensed import Sensed
from core.schedule.senses.findings import Tell
from core.schedule.senses.x11 import Display

IDLE_MS: Final = 1000
"""Somebody who has not touched the computer for so long is idle."""
TOUCHED_MS: Final = 100
"""The counter falls to 0 at each touch; it passes this value then."""
_HEAD: Final = struct.Struct("=8xI20x")
_ITEM: Final = struct.Struct("=IiIH")


class XIdle:
    """Watches the counter for as long as there is a server."""

    name: Final = "input (X)"
    is_coarse: Final = False

    def run(self, tell: Tell) -> None:
        """Watch the counter; returns when the server has none."""
        with contextlib.closing(Display()) as display:
            sync = display.extension(xcffib.sync)
            sync.Initialize(3, 1).reply()
            counter = counters(display.raw_reply(sync.ListSystemCounters())).get("IDLETIME")
            if counter is None:
                return
            for test, value_ms in (("PositiveTransition", IDLE_MS), ("NegativeTransition", TOUCHED_MS)):
                _set_alarm(sync, display.new_id(), counter, test, value_ms)
            tell(_idle(_milliseconds(sync.QueryCounter(counter).reply().counter_value)))
            for event in display.events():
                if isinstance(event, xcffib.sync.AlarmNotifyEvent):
                    tell(_idle(_milliseconds(event.counter_value)))


def counters(reply: bytes) -> dict[str, int]:
    """Return the counters of a reply to ListSystemCounters, by name; xcffib 1.13 forgets the padding between them.

    Raises:
        struct.error: the reply is cut.
    """
    (count,), found, at = _HEAD.unpack_from(reply), {}, _HEAD.size
    for _ in range(count):
        number, _, _, length = _ITEM.unpack_from(reply, at)
        name = reply[at + _ITEM.size : at + _ITEM.size + length]
        found[name.decode("latin-1")] = number
        at += (_ITEM.size + length + 3) // 4 * 4
    return found


def _set_alarm(sync: xcffib.sync.syncExtension, alarm: int, counter: int, test: str, value_ms: int) -> None:
    """Have an event each time that the counter passes a value in one direction (X Synchronization Extension, 3.1)."""
    mask = xcffib.sync.CA
    sync.CreateAlarmChecked(
        alarm,
        mask.Counter | mask.ValueType | mask.Value | mask.TestType | mask.Delta | mask.Events,
        [counter, xcffib.sync.VALUETYPE.Absolute, (0, value_ms), getattr(xcffib.sync.TESTTYPE, test), (0, 0), 1],
    ).check()


def _milliseconds(value: xcffib.sync.INT64) -> int:
    return (int(value.hi) << 32) + int(value.lo)


def _idle(milliseconds: int) -> Sensed:
    return Sensed(idle_s=milliseconds / 1000 if milliseconds >= IDLE_MS else 0.0)
