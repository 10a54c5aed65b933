"""Whether a window can be opened here at all.  Qt ends the process where it cannot, so this asks first, without Qt."""

import ctypes
import importlib.util
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from core.api.joined import TRY_ALONE

PACKAGES = ("PySide6",)
INSTALL = "python -m pip install 'potluck[app]'"
DEBIAN = (
    "libegl1 libgl1 libfontconfig1 libdbus-1-3 libglib2.0-0 libx11-xcb1 libxkbcommon-x11-0 libxcb-cursor0 "
    "libxcb-icccm4 libxcb-keysyms1 libxcb-shape0 libgssapi-krb5-2 libbrotli1 libwayland-cursor0 fonts-dejavu-core"
)
"""Packages that a bare Debian 12 lacks; others come along with these."""


def obstacle(environment: Mapping[str, str], otherwise: str = TRY_ALONE) -> str | None:
    """A sentence about why there can be no window, or None.

    Args:
        environment: As `os.environ`.
        otherwise: The command that leads on without one.
    """
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        return f"The window needs {' and '.join(missing)}. Install it with: {INSTALL}"
    if not sys.platform.startswith("linux"):
        return None
    return _no_library() or _no_screen(environment, otherwise)


def _no_library() -> str | None:
    for library in ("libEGL.so.1", "libGL.so.1", "libxkbcommon.so.0", "libfontconfig.so.1", "libglib-2.0.so.0"):
        if why := _load(library):
            return _missing(why)
    return None


def _no_screen(environment: Mapping[str, str], otherwise: str) -> str | None:
    platform = environment.get("QT_QPA_PLATFORM", "").split(":")[0].split(";")[0]
    if platform not in {"", "xcb", "wayland"}:
        return None
    if environment.get("WAYLAND_DISPLAY") and platform != "xcb" and not _load(_plugin("libqwayland.so")):
        return None
    if not environment.get("DISPLAY"):
        return f"There is no screen here. Without one: {otherwise}"
    if why := _load(_plugin("libqxcb.so")):
        return _missing(why)
    if not _x_answers():
        return f"The screen {environment['DISPLAY']} does not answer. Check DISPLAY, or without one: {otherwise}"
    return None


def _plugin(name: str) -> str:
    spec = importlib.util.find_spec("PySide6")
    folder = Path(spec.origin).parent if spec is not None and spec.origin else Path()
    return os.fspath(folder / "Qt" / "plugins" / "platforms" / name)


def _load(library: str) -> str:
    """The error of loading a library; empty if it loads."""
    try:
        ctypes.CDLL(library)
    except OSError as error:
        return str(error.__cause__ or error)  # a frozen program says only that something could not be loaded
    return ""


def _x_answers() -> bool:
    xcb = ctypes.CDLL("libxcb.so.1")
    xcb.xcb_connect.restype = ctypes.c_void_p
    xcb.xcb_connection_has_error.argtypes = [ctypes.c_void_p]
    xcb.xcb_disconnect.argtypes = [ctypes.c_void_p]
    connection = xcb.xcb_connect(None, None)
    failed = bool(xcb.xcb_connection_has_error(connection))
    xcb.xcb_disconnect(connection)
    return not failed


def _missing(why: str) -> str:
    library = why.partition(":")[0]
    return f"The window needs the system library {library}. On Debian and Ubuntu: sudo apt-get install {DEBIAN}"
