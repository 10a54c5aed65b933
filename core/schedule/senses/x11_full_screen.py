"""Whether the window that has the keyboard fills the screen, as the window manager tells under X (EWMH)."""

import contextlib
from typing import Final

import xcffib.xproto

from core.schedule.sensed import Sensed
from core.schedule.senses.findings import Tell
from core.schedule.senses.x11 import Display


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
