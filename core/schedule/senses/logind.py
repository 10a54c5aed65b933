"""Sessions of this computer, as systemd's logind tells over D-Bus: others' that are in use, and from afar.

A desktop tells logind that nobody touches its session minutes after the fact, and when it is locked: for the session of
Potluck's own person this counts only where nothing else is known.
"""

import contextlib
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from jeepney import DBusErrorResponse

from core.schedule.sensed import Sensed
from core.schedule.senses.dbus import Service
from core.schedule.senses.findings import Tell

SESSIONS_MAX: Final = 64
_NAME: Final = "org.freedesktop.login1"
_PATH: Final = "/org/freedesktop/login1"
_GRAPHICAL: Final = frozenset({"x11", "wayland", "mir"})
_REMOTE_DESKTOP: Final = "xrdp"
"""Begin of the name of a service that opens sessions which logind does not call graphical."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DesktopSession:
    """A person's graphical session, as logind describes it."""

    uid: int
    is_active: bool
    """It is in the foreground."""
    is_remote: bool
    is_locked: bool
    idle_since: float | None
    """Seconds of the monotonic clock; None: the desktop has not said that it is idle."""


class _Sessions:
    """Watches all sessions.

    Args:
        found: What follows from those that there are.
    """

    def __init__(self, name: str, found: Callable[[Sequence[DesktopSession]], Sensed], *, is_coarse: bool) -> None:
        self.name: Final = name
        self.is_coarse: Final = is_coarse
        self._found = found

    def run(self, tell: Tell) -> None:
        """Watch them until logind leaves the bus.

        Raises:
            Absent: there is no logind.
        """
        with contextlib.closing(Service("system", _NAME)) as service:
            told = self._found(_sessions(service))
            tell(told)
            for _ in service.signals():
                sensed = self._found(_sessions(service))
                if sensed != told:
                    tell(sensed)
                    told = sensed


def other_sessions() -> _Sessions:
    """Return the sense for sessions of other people in the foreground, and for all that are used from afar."""
    own = os.getuid()
    return _Sessions("other sessions", lambda sessions: others(sessions, own, time.monotonic()), is_coarse=False)


def own_sessions() -> _Sessions:
    """Return the sense for sessions of the person that Potluck runs for."""
    return _Sessions("own session", OwnSession(os.getuid()), is_coarse=True)


def others(sessions: Sequence[DesktopSession], uid: int, now: float) -> Sensed:
    """Return what sessions of other people, and remote ones, tell.

    Args:
        sessions: All of this computer.
        uid: The person that Potluck runs for.
        now: Seconds of the monotonic clock.
    """
    idle = [
        0.0 if each.idle_since is None else max(0.1, now - each.idle_since)
        for each in sessions
        if each.uid != uid and each.is_active and not each.is_locked
    ]
    remote = any(each.is_remote and not each.is_locked for each in sessions)
    return Sensed(idle_s=min(idle, default=None), remote=remote)


class OwnSession:
    """What the desktop tells logind of one person's sessions; nothing until it has told that one is idle or locked."""

    def __init__(self, uid: int) -> None:
        self._uid = uid
        self._away_since: float | None = None
        self._tells = False

    def __call__(self, sessions: Sequence[DesktopSession]) -> Sensed:
        """Return what the sessions tell: somebody is there as long as one of them is neither idle nor locked."""
        own = [each for each in sessions if each.uid == self._uid]
        now = time.monotonic()
        if not own or any(each.idle_since is None and not each.is_locked for each in own):
            self._away_since = None
            return Sensed(idle_s=0.0 if own and self._tells else None)
        if self._away_since is None:
            self._away_since = max((each.idle_since for each in own if each.idle_since is not None), default=now - 1.0)
        self._tells = True
        return Sensed(idle_s=max(0.1, now - self._away_since))


def _sessions(service: Service) -> list[DesktopSession]:
    found = []
    (listed,) = service.call(_PATH, f"{_NAME}.Manager.ListSessions")
    for *_, path in listed[:SESSIONS_MAX]:
        with contextlib.suppress(DBusErrorResponse):  # it has ended meanwhile
            session = _session(service.properties(path, f"{_NAME}.Session"))
            if session is not None:
                found.append(session)
    return found


def _session(told: dict[str, Any]) -> DesktopSession | None:
    """Return a session, if it is one of a person with a desktop."""
    remote_desktop = str(told.get("Service", "")).startswith(_REMOTE_DESKTOP)
    if told.get("Class", "user") != "user" or told.get("State") == "closing":
        return None
    if told.get("Type") not in _GRAPHICAL and not remote_desktop:
        return None
    return DesktopSession(
        uid=int(told["User"][0]),
        is_active=bool(told["Active"]),
        is_remote=bool(told["Remote"]) or remote_desktop,
        is_locked=bool(told.get("LockedHint", False)),
        idle_since=told["IdleSinceHintMonotonic"] / 1e6 if told["IdleHint"] else None,
    )
