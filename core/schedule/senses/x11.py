"""The X server: idle time by alarms of its counter IDLETIME, and whether a program fills the screen."""

import contextlib
import struct
from collections.abc import Iterator
from types import ModuleType
from typing import Any, Final

import xcffib
import xcffib.sync
import xcffib.xproto

from core.schedule.sensed import Sensed
from core.schedule.senses.findings import Tell

_LONGS_MAX: Final = 1024
"""Upper bound on a property that is read, in units of four bytes."""


IDLE_MS: Final = 1000
"""Time without a touch after which a person counts as idle."""
TOUCHED_MS: Final = 100
"""The counter falls to 0 at each touch; it passes this value then."""
_HEAD: Final = struct.Struct("=8xI20x")
_ITEM: Final = struct.Struct("=IiIH")


class Display:
    """A connection to the X server that DISPLAY names, for one sense.

    Raises:
        xcffib.ConnectionException: there is none, or it does not let this program in.
    """

    def __init__(self) -> None:
        self._connection = xcffib.connect()
        setup = self._connection.get_setup()
        self.root: int = setup.roots[self._connection.pref_screen].root
        self.core = self._connection.core
        """Requests of the core protocol."""

    def extension(self, module: ModuleType) -> Any:
        """Return the requests of an extension.

        Raises:
            xcffib.ExtensionNotPresentError: the server does not have it.
        """
        return self._connection(module.key)

    def new_id(self) -> int:
        """Return a number for something that is about to be made."""
        return int(self._connection.generate_id())

    def atom(self, name: str) -> int:
        """Return the number of a name."""
        return int(self.core.InternAtom(False, len(name), name).reply().atom)

    def numbers(self, window: int, atom: int) -> list[int]:
        """Return the values of a property of a window; empty when there are none."""
        anything = xcffib.xproto.GetPropertyType.Any
        value = self.core.GetProperty(False, window, atom, anything, 0, _LONGS_MAX).reply().value
        return [int(number) for number in value.to_atoms()]

    def watch(self, window: int) -> None:
        """Have changes of a window's properties, and its end, among the events."""
        mask = xcffib.xproto.EventMask.PropertyChange | xcffib.xproto.EventMask.StructureNotify
        self.core.ChangeWindowAttributesChecked(window, xcffib.xproto.CW.EventMask, [mask]).check()

    def raw_reply(self, cookie: Any) -> bytes:
        """Wait for the reply to a request, and return it as it came."""
        reply = self._connection.wait_for_reply(cookie.sequence)
        return bytes(reply.unpack(f"={reply.known_max}s")[0])

    def events(self) -> Iterator[Any]:
        """Wait for events, for ever.

        Raises:
            xcffib.ConnectionException: the server has gone.
        """
        self._connection.flush()
        while True:
            yield self._connection.wait_for_event()

    def close(self) -> None:
        """End the connection to the server."""
        self._connection.disconnect()


class XFullScreen:
    """Watches the active window, and its state, for as long as there is a server."""

    name: Final = "full screen (X)"
    is_coarse: Final = False

    def run(self, tell: Tell) -> None:
        """Watch the active window; returns when no window manager names one."""
        with contextlib.closing(Display()) as display:
            active, state, full = map(display.atom, ("_NET_ACTIVE_WINDOW", "_NET_WM_STATE", "_NET_WM_STATE_FULLSCREEN"))
            if not display.numbers(display.root, display.atom("_NET_SUPPORTING_WM_CHECK")):
                return
            display.watch(display.root)
            watched = _look(display, 0, active)
            tell(_found(display, watched, state, full))
            for event in display.events():
                match event:
                    case xcffib.xproto.PropertyNotifyEvent() if event.atom in {active, state}:
                        watched = _look(display, watched, active)
                    case xcffib.xproto.DestroyNotifyEvent() if event.window == watched:
                        pass  # a window manager need not say that no window is active any more
                    case _:
                        continue
                tell(_found(display, watched, state, full))


def _look(display: Display, watched: int, active: int) -> int:
    """Return the window that is active now, which is watched from now on; 0: none is."""
    window = next(iter(display.numbers(display.root, active)), 0)
    if window not in {0, watched}:
        with contextlib.suppress(xcffib.xproto.WindowError):  # it has gone meanwhile, and another one comes
            display.watch(window)
    return window


def _found(display: Display, window: int, state: int, full: int) -> Sensed:
    try:
        return Sensed(full_screen=window != 0 and full in display.numbers(window, state))
    except xcffib.xproto.WindowError:
        return Sensed(full_screen=False)


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
