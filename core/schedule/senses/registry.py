"""The senses of each operating system, chosen by its session.

Their libraries are imported for those alone that may find something: the process is to stay small.
"""
# ruff: noqa: PLC0415

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from core.schedule.senses import cards, owner, sensors
from core.schedule.senses.findings import Periodic, Sense
from core.schedule.senses.owner import HeldNames
from core.schedule.senses.processes import Processes

NVIDIA: Final = ("/dev/nvidiactl", "/dev/dxg")
"""What the driver makes on Linux, and in Linux on Windows; without it NVML is 3 MiB for nothing."""


def senses_of(platform: str, environ: Mapping[str, str], pid: int, names: HeldNames) -> list[Sense]:
    """Return the senses that may find something here.

    Args:
        platform: As `sys.platform` names it.
        environ: The environment of the session.
        pid: The engine's process.
        names: What the person's rules name.
    """
    processes = Processes(pid, names)
    senses: list[Sense] = [
        processes,
        owner.MeterSense(names),
        Periodic("streamed desktop", owner.remote, owner.REMOTE_S),
    ]
    match platform:
        case "linux":
            has_nvidia = any(Path(each).exists() for each in NVIDIA)
            senses += [*_linux(processes, has_nvidia=has_nvidia), *_linux_desktop(environ)]
            if has_nvidia:
                senses.append(cards.Nvidia(lambda: processes.own))
        case "win32":
            senses += [*_windows(), cards.Nvidia(lambda: processes.own)]
        case "darwin":
            senses += _macos()
    return senses


def _linux(processes: Processes, *, has_nvidia: bool) -> list[Sense]:
    from core.schedule.senses import logind
    from core.schedule.senses.dbus_senses import NetworkManager, UPower

    drm = cards.DrmCards(lambda: processes.own, is_beside_nvidia=has_nvidia)
    return [
        UPower(),
        NetworkManager(),
        logind.other_sessions(),
        logind.own_sessions(),
        Periodic("heat", sensors.heat, sensors.SENSORS_S),
        Periodic("fans", sensors.fans, sensors.SENSORS_S),
        Periodic("power", sensors.Rapl().look, sensors.SENSORS_S),
        Periodic("graphics cards (DRM)", drm.look, cards.CARDS_S),
    ]


def _linux_desktop(environ: Mapping[str, str]) -> list[Sense]:
    from core.schedule.senses.dbus_senses import Mutter, ScreenSaver

    senses: list[Sense] = [Mutter(), ScreenSaver()]
    if environ.get("WAYLAND_DISPLAY"):
        from core.schedule.senses.wayland import WaylandIdle

        return [*senses, WaylandIdle(environ)]
    # Under Wayland an X server would see only what is typed into programs that still need it.
    if environ.get("DISPLAY"):
        from core.schedule.senses.x11 import XFullScreen, XIdle

        return [*senses, XIdle(), XFullScreen()]
    return senses


def _windows() -> list[Sense]:
    from core.schedule.senses import windows as desktop

    calls = cache(desktop.User32)
    return [
        Periodic("input", lambda: desktop.last_input(calls()), desktop.INPUT_S),
        Periodic("desktop", lambda: desktop.desktop(calls()), desktop.DESKTOP_S),
        Periodic("battery", sensors.battery, sensors.BATTERY_S),
    ]


def _macos() -> list[Sense]:
    from core.schedule.senses import macos as desktop

    seconds = cache(desktop.seconds_since_input)
    return [
        Periodic("input", lambda: desktop.last_input(seconds()), desktop.INPUT_S),
        Periodic("battery", sensors.battery, sensors.BATTERY_S),
    ]
