"""macOS: the last input, by a function of Core Graphics that needs no permission.

Not yet run there.  The system does not tell programs whether another one fills the screen.
"""

import ctypes
from collections.abc import Callable
from typing import Final

from core.schedule.sensed import Sensed

INPUT_S: Final = 0.2
"""How often the last input is looked at: to get events a program needs a permission."""
IDLE_S: Final = 1.0
"""Somebody who has not touched the computer for so long is idle."""
_LIBRARY: Final = "/System/Library/Frameworks/ApplicationServices.framework/ApplicationServices"
_COMBINED_SESSION: Final = 0
_ANY_INPUT: Final = 0xFFFFFFFF


def seconds_since_input() -> Callable[[], float]:
    """Return the system's function.

    Raises:
        OSError: the library is not there.
    """
    function = ctypes.CDLL(_LIBRARY).CGEventSourceSecondsSinceLastEventType
    function.restype, function.argtypes = ctypes.c_double, (ctypes.c_int32, ctypes.c_uint32)
    return lambda: float(function(_COMBINED_SESSION, _ANY_INPUT))


def last_input(seconds: Callable[[], float]) -> Sensed:
    """Look at the last input of this session.

    Args:
        seconds: Gives the seconds since then.
    """
    idle_s = seconds()
    if not 0 <= idle_s < 1e9:  # what is said where no input has been yet
        return Sensed()
    return Sensed(idle_s=idle_s if idle_s >= IDLE_S else 0.0)
