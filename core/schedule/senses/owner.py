"""What a person's rules name: the number of their meter, and use from afar that no desktop tells of."""

import os
import re
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Final

import psutil

from core.schedule.sensed import RuleNames, Sensed
from core.schedule.senses.findings import Absent, Tell

METER_S: Final = 30.0
STEP_S: Final = 2.0
"""Time within which another meter that was named is looked at."""
TIMEOUT_S: Final = 10.0
METER_BYTES_MAX: Final = 64 * 1024
REMOTE_S: Final = 20.0
DESKTOP_PORTS: Final = frozenset({3389, *range(5900, 5910)})
"""Ports at which programs of a remote desktop are called: RDP (xrdp, GNOME, Windows) and VNC."""
STREAM_PORTS: Final = frozenset({47998})
"""Ports that Sunshine and GameStream open for the time for which they send the pictures of a game."""
_NUMBER: Final = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_WINDOWS_PROGRAMS: Final = frozenset({".exe", ".bat", ".cmd"})


class HeldNames:
    """What is to be looked at now; another thread puts it there."""

    def __init__(self) -> None:
        self.now = RuleNames()


class MeterSense:
    """Asks the person's meter for its number every `METER_S`.

    Args:
        names: Names the meter.
    """

    name: Final = "meter"
    is_coarse: Final = False

    def __init__(self, names: HeldNames) -> None:
        self._names = names

    def run(self, tell: Tell) -> None:
        """Tell the number after each look, and soon when another meter is named; a silent meter tells nothing."""
        while True:
            named, began = self._names.now.meter, time.monotonic()
            try:
                tell(Sensed(meter=number_of(named) if named else None))
            except Absent:
                tell(Sensed())
            while named == self._names.now.meter and (not named or time.monotonic() < began + METER_S):
                time.sleep(STEP_S)


def number_of(meter: str) -> float:
    """The first number in what a meter says.

    Args:
        meter: See `core.api.rules.UseRules.meter`.

    Raises:
        Absent: it says none, or not within `TIMEOUT_S`.
    """
    try:
        found = _NUMBER.search(_said(meter))
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise Absent(f"the meter does not answer: {error}") from error
    if found is None:
        raise Absent("the meter says no number")
    return float(found[0])


def _said(meter: str) -> str:
    if meter.startswith(("http://", "https://")):
        with urllib.request.urlopen(meter, timeout=TIMEOUT_S) as answer:  # noqa: S310 - http, as was seen
            return str(answer.read(METER_BYTES_MAX), "utf-8", "replace")
    path = Path(meter).expanduser()
    if path.suffix.lower() in _WINDOWS_PROGRAMS if os.name == "nt" else os.access(path, os.X_OK):
        said = subprocess.run([path], stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_S, check=True)
        return str(said.stdout[:METER_BYTES_MAX], "utf-8", "replace")
    with path.open("rb") as file:
        return str(file.read(METER_BYTES_MAX), "utf-8", "replace")


def remote() -> Sensed:
    """Whether somebody sees this computer's screen elsewhere, by the ports of programs that show it there.

    The engine, which this process is a child of, takes ports by chance: those are left out.

    Raises:
        Absent: the system shows nobody's connections to this person.
    """
    try:
        called = [each.laddr.port for each in psutil.net_connections("tcp") if each.status == psutil.CONN_ESTABLISHED]
        others_udp = [each.laddr.port for each in psutil.net_connections("udp") if each.pid != os.getppid()]
    except psutil.AccessDenied as error:
        raise Absent("connections that are not shown to this person") from error
    return Sensed(remote=not (DESKTOP_PORTS.isdisjoint(called) and STREAM_PORTS.isdisjoint(others_udp)))
