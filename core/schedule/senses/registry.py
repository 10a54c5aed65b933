"""The senses of each operating system, chosen by its session."""

from collections.abc import Mapping

from core.schedule.senses.findings import Sense
from core.schedule.senses.processes import Processes


def senses_of(platform: str, environ: Mapping[str, str], pid: int) -> list[Sense]:
    """Return the senses that may find something here; their libraries are imported for these alone.

    Args:
        platform: As `sys.platform` names it.
        environ: The environment of the session.
        pid: The engine's process.
    """
    processes = Processes(pid)
    senses: list[Sense] = [processes]
    if platform == "linux":
        senses += _linux(environ)
    return senses


def _linux(environ: Mapping[str, str]) -> list[Sense]:
    senses: list[Sense] = []
    if environ.get("DISPLAY") and not environ.get("WAYLAND_DISPLAY"):
        # Under Wayland the X server sees only what is typed into programs that still need it.
        from core.schedule.senses.x11_full_screen import XFullScreen  # noqa: PLC0415 - 5 MiB, only where there is X
        from core.schedule.senses.x11_idle import XIdle  # noqa: PLC0415

        senses += [XIdle(), XFullScreen()]
    return senses
