"""Starts `delay.c`, a switch that takes its time."""

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

SOURCE = Path(__file__).parent / "delay.c"
TOOLS = {"gcc": "gcc libc6-dev", "ethtool": "ethtool"}


def missing_switch() -> str | None:
    """Which Debian packages it lacks here, as a sentence; None where it can run."""
    lacking = [package for tool, package in TOOLS.items() if shutil.which(tool) is None]
    return f"Lines that take time need these Debian packages: {' '.join(lacking)}." if lacking else None


def start_switch(
    ports: Sequence[str], rtt_s: float, *, inside: Callable[[Sequence[str]], list[str]]
) -> subprocess.Popen[bytes]:
    """A process that carries frames between ports whose offloads are off; each takes half of `rtt_s` seconds.

    Args:
        ports: Network devices.
        rtt_s: There and back.
        inside: The command line that runs another one in the devices' namespace.

    Raises:
        RuntimeError: it did not start.
    """
    with tempfile.TemporaryDirectory(prefix="potluck-switch-") as folder:
        program = Path(folder) / "delay"
        subprocess.run(["gcc", "-O2", "-o", program, SOURCE], check=True)
        switch = subprocess.Popen(inside([str(program), str(rtt_s * 500), *ports]), stdout=subprocess.PIPE)
        assert switch.stdout is not None
        if switch.stdout.readline() != b"ready\n":
            switch.kill()
            raise RuntimeError("the delaying switch did not start")
    return switch
