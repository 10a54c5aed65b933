"""Network namespaces with limited lines, one for each computer of a fleet.  Linux, as root.

Each computer's own side limits its upload, the hub's side its download; the hub is a bridge and limits nothing.
Leftovers of a killed measurement are removed by the next one.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from typing import Self

from core.base.problems import UserProblem
from tests.bench.network.fleets import Computer
from tests.lab.switch import missing_switch, start_switch

BURST_KIB = 64
QUEUE_MS = 100


class Lines:
    """A context manager: the namespaces stand while it is open.

    Args:
        fleet: The computers.
        rtt_s: How long a packet from one to another takes there and back, beside the lines; the hub hears none then.

    Raises:
        UserProblem: they are impossible here; says why.
    """

    def __init__(self, fleet: Sequence[Computer], *, rtt_s: float = 0.0) -> None:
        self._fleet = fleet
        self._rtt_s = rtt_s
        self._switch: subprocess.Popen[bytes] | None = None
        self._prefix = f"plb{os.getpid()}-"

    def __enter__(self) -> Self:
        reason = missing() or (missing_switch() if self._rtt_s else None)
        if reason is not None:
            raise UserProblem(reason, hint="Leave the fleet out to measure on this computer's loopback.")
        self._hub = f"{self._prefix}hub"
        _sweep_orphans()
        try:
            self._build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._switch is not None:
            self._switch.kill()
            self._switch.communicate()
        for index in range(len(self._fleet)):
            _ip("netns", "del", self._name(index), check=False)
        _ip("netns", "del", self._hub, check=False)

    def address(self, index: int) -> str:
        """The IP address of computer number `index`; the number after the last one's is the hub's."""
        return f"11.77.{index // 200}.{index % 200 + 10}"

    def inside(self, index: int, order: Sequence[str]) -> list[str]:
        """The command line that runs `order` on computer number `index`, or at the hub."""
        return ["ip", "netns", "exec", self._hub if index == len(self._fleet) else self._name(index), *order]

    def _name(self, index: int) -> str:
        return f"{self._prefix}{index}"

    def _build(self) -> None:
        hub = self._hub
        _ip("netns", "add", hub)
        _ip("-n", hub, "link", "add", "br0", "type", "bridge")
        _ip("-n", hub, "addr", "add", f"{self.address(len(self._fleet))}/16", "dev", "br0")
        _ip("-n", hub, "link", "set", "br0", "up")
        for index, computer in enumerate(self._fleet):
            name, port = self._name(index), f"v{index}"
            _ip("netns", "add", name)
            _ip("-n", name, "link", "set", "lo", "up")
            _ip("link", "add", "e0", "netns", name, "type", "veth", "peer", "name", port, "netns", hub)
            _ip("-n", name, "addr", "add", f"{self.address(index)}/16", "dev", "e0")
            _ip("-n", name, "link", "set", "e0", "up")
            _ip("-n", hub, "link", "set", port, *([] if self._rtt_s else ["master", "br0"]), "up")
            _limit(name, "e0", computer.up_mbit_per_s)
            _limit(hub, port, computer.down_mbit_per_s)
            if self._rtt_s:
                _ip("netns", "exec", name, "ethtool", "-K", "e0", "tx", "off", "gso", "off", "tso", "off")
        if self._rtt_s:
            ports = [f"v{index}" for index in range(len(self._fleet))]
            self._switch = start_switch(ports, self._rtt_s, inside=lambda words: self.inside(len(self._fleet), words))


def missing() -> str | None:
    """Why no lines can be simulated here, as a sentence; None where they can."""
    if sys.platform != "linux":
        return "Fleets run in Linux network namespaces."
    if os.geteuid() != 0:
        return "Fleets need root: they run in network namespaces."
    if shutil.which("ip") is None or shutil.which("tc") is None:
        return "Fleets need the programs ip and tc (Debian package iproute2)."
    probe = f"plb{os.getpid()}-probe"
    if _ip("netns", "add", probe, check=False):
        return "This system makes no network namespaces."
    _ip("netns", "del", probe, check=False)
    return None


def _limit(namespace: str, device: str, mbit_per_s: float) -> None:
    rate = ["rate", f"{mbit_per_s}mbit", "burst", f"{BURST_KIB}kb", "latency", f"{QUEUE_MS}ms"]
    _ip("netns", "exec", namespace, "tc", "qdisc", "add", "dev", device, "root", "tbf", *rate)


def _ip(*words: str, check: bool = True) -> int:
    done = subprocess.run(  # in a session of its own: Ctrl-C is not for it
        ["ip", *words],
        check=False,
        capture_output=True,
        text=True,
        start_new_session=True,
    )
    if check and done.returncode:
        raise UserProblem(f"ip {' '.join(words)} failed: {done.stderr.strip()}")
    return done.returncode


def _sweep_orphans() -> None:
    """Remove namespaces of measurements whose process is gone."""
    listed = subprocess.run(["ip", "netns", "list"], check=False, capture_output=True, text=True)
    for name in [line.split()[0] for line in listed.stdout.splitlines() if line.startswith("plb")]:
        pid = name.removeprefix("plb").split("-")[0]
        if pid.isdigit() and not _alive(int(pid)):
            _ip("netns", "del", name, check=False)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
