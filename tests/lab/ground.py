"""A small internet in network namespaces: two homes behind routers, three public hosts, and a switch that delays.

    p1 p2 p3 --- inet --- ra --- a     11.1.0.1 12.1.0.1 13.1.0.1   14.1.0.1   10.1.0.2 (public: 14.2.0.2)
                      \\-- rb --- b                                  15.1.0.1   10.2.0.2 (public: 15.2.0.2)

Nothing leaves the namespaces, so the addresses are free; they must look public, which the ranges for documentation do
not, and as if they were in different networks.
A guard process takes everything down when ours ends, however it ends.
"""

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Self

from tests.lab import switch

ROOT = Path(__file__).parents[2]
TOOLS = {
    "ip": "iproute2",
    "tc": "iproute2",
    "iptables-restore": "iptables",
    "conntrack": "conntrack",
    "sysctl": "procps",
}
PUBLIC = ("p1", "p2", "p3")
HOMES = ("a", "b")
OUTSIDE = {"p1": "11.1.0.1", "p2": "12.1.0.1", "p3": "13.1.0.1", "ra": "14.1.0.1", "rb": "15.1.0.1"}
INTERNET_BITS = 5
"""The five lie in one link's 8.0.0.0/5."""
PUBLIC_NET = {"a": "14.2.0", "b": "15.2.0"}
PRIVATE_NET = {"a": "10.1.0", "b": "10.2.0"}
PREFIX = "pl"


class Kind(StrEnum):
    """Kind of router between a home and the Internet.  All but the first admit only answers."""

    PUBLIC = "public"
    KEPT = "kept"
    """Endpoint-independent mapping, the port is kept."""
    MOVED = "moved"
    """Endpoint-independent mapping to another port."""
    SYMMETRIC = "symmetric"
    """Another random port for each destination."""
    RESETTING = "resetting"
    """As `KEPT`, but answers what it does not let in with RST."""


def missing(*, delay: bool = True) -> str | None:
    """Why there can be no lab here, as a sentence; None when there can."""
    if sys.platform != "linux":
        return "The lab is made of Linux network namespaces."
    if os.geteuid() != 0:
        return "The lab needs root: it makes network namespaces."
    tools = TOOLS | (switch.TOOLS if delay else {})
    lacking = sorted({package for tool, package in tools.items() if shutil.which(tool) is None})
    if lacking:
        return f"The lab needs these Debian packages: {' '.join(lacking)}."
    probe = f"{PREFIX}{os.getpid()}-probe"
    made = subprocess.run(["ip", "netns", "add", probe], check=False, capture_output=True, text=True)
    if made.returncode:
        return f"This system makes no network namespaces: {made.stderr.strip()}"
    subprocess.run(["ip", "netns", "del", probe], check=False, capture_output=True)
    return None


def sweep(prefix: str) -> None:
    """Kill what runs in the namespaces that begin so, and remove them."""
    listed = subprocess.run(["ip", "netns", "list"], check=False, capture_output=True, text=True).stdout
    for name in [line.split()[0] for line in listed.splitlines() if line.startswith(prefix)]:
        inside = subprocess.run(["ip", "netns", "pids", name], check=False, capture_output=True, text=True).stdout
        for pid in inside.split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), 9)
        subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def sweep_orphans() -> None:
    """Remove labs whose process is gone."""
    listed = subprocess.run(["ip", "netns", "list"], check=False, capture_output=True, text=True).stdout
    owners = {line.split("-")[0] for line in listed.splitlines() if line.startswith(PREFIX)}
    for owner in owners:
        pid = owner.removeprefix(PREFIX)
        if pid.isdigit() and not Path(f"/proc/{pid}").exists():
            sweep(f"{owner}-")


class Ground:
    """The namespaces; a context manager."""

    def __init__(self) -> None:
        self._prefix = f"{PREFIX}{os.getpid()}-"
        self._kinds: dict[str, Kind] = {}
        self._delay: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self.rtt_s = 0.0
        self.ipv6: dict[str, str] = {}
        """The IPv6 address of each place, while there are some (`tests.lab.ipv6`)."""

    def __enter__(self) -> Self:
        sweep_orphans()
        self._guard = subprocess.Popen(
            [sys.executable, "-m", "tests.lab.guard", self._prefix],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        self._build()
        return self

    def __exit__(self, *_: object) -> None:
        self.set_delay(0.0)
        assert self._guard is not None
        assert self._guard.stdin is not None
        self._guard.stdin.close()
        self._guard.wait(30)

    # --- what is where -----------------------------------------------------------------------------------------------

    def address(self, place: str) -> str:
        """The address that a place gives itself."""
        if place in HOMES:
            return f"{(PUBLIC_NET if self._kinds[place] is Kind.PUBLIC else PRIVATE_NET)[place]}.2"
        return OUTSIDE[place]

    def namespace(self, place: str) -> Path:
        """The file by which a thread enters the place."""
        return Path("/run/netns") / (self._prefix + place)

    def inside(self, place: str, words: Sequence[str]) -> list[str]:
        """The command line that runs `words` at a place."""
        return ["ip", "netns", "exec", self._prefix + place, *words]

    def run(self, place: str, *words: str, check: bool = True, stdin: str = "") -> str:
        """Run a command at a place to its end; what it printed."""
        done = subprocess.run(self.inside(place, words), check=False, capture_output=True, text=True, input=stdin)
        if check and done.returncode:
            raise RuntimeError(f"{' '.join(words)} at {place}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    # --- what can be changed -----------------------------------------------------------------------------------------

    def set_home(self, home: str, kind: Kind) -> None:
        """Put another router before a home; what the old one remembered is forgotten."""
        router, old = f"r{home}", self._kinds.get(home)
        self._kinds[home] = kind
        if old is None or (old is Kind.PUBLIC) != (kind is Kind.PUBLIC):
            net = self.address(home).removesuffix(".2")
            self._ip(router, "addr flush dev lan", f"addr add {net}.1/24 dev lan")
            self._ip(home, "addr flush dev eth0", f"addr add {net}.2/24 dev eth0", f"route replace default via {net}.1")
        self.run(router, "iptables-restore", stdin=_rules(kind, self.address(router)))
        self.run(router, "conntrack", "-F", check=False)

    def set_rate(self, rate: str | None) -> None:
        """Limit both homes' lines in both directions, as tc writes it ("100mbit"); None: no limit."""
        for router in ("ra", "rb"):
            for device in ("wan", "lan"):
                self.run(router, "tc", "qdisc", "del", "dev", device, "root", check=False)
                if rate is not None:
                    words = f"tc qdisc add dev {device} root tbf rate {rate} burst 64kb latency 60ms"
                    self.run(router, *words.split())

    def set_delay(self, rtt_s: float) -> None:
        """Let a packet through the internet take half of `rtt_s` seconds; 0: as fast as the machine can."""
        if rtt_s == self.rtt_s:
            return
        if self._delay is not None:
            self._delay.kill()
            self._delay.communicate()
            self._delay = None
        self.rtt_s = rtt_s
        for place in OUTSIDE:
            state = "off" if rtt_s else "on"
            if shutil.which("ethtool"):
                self.run(place, "ethtool", "-K", "wan", "tx", state, "gso", state, "tso", state)
            self._ip("inet", f"link set {place} {'nomaster' if rtt_s else 'master br0'}")
        if rtt_s:
            self._delay = switch.start_switch(list(OUTSIDE), rtt_s, inside=lambda words: self.inside("inet", words))

    def block_tcp(self) -> None:
        """From now on, until `set_home`, no TCP passes between the two homes."""
        for router, other in (("ra", "rb"), ("rb", "ra")):
            self.run(router, "iptables", "-I", "FORWARD", "-p", "tcp", "-d", OUTSIDE[other], "-j", "DROP")
            self.run(router, "iptables", "-I", "FORWARD", "-p", "tcp", "-s", OUTSIDE[other], "-j", "DROP")

    def cut(self, place: str, *, plugged: bool) -> None:
        """Pull the cable of a home or of a public host to its provider, or plug it in again."""
        cable = f"r{place}" if place in HOMES else place
        self._ip("inet", f"link set {cable} {'up' if plugged else 'down'}")

    # --- inside ------------------------------------------------------------------------------------------------------

    def _ip(self, place: str, *lines: str) -> None:
        subprocess.run(
            ["ip", "-n", self._prefix + place, "-batch", "-"],
            input="\n".join(lines),
            text=True,
            check=True,
            capture_output=True,
        )

    def _build(self) -> None:
        for place in ("inet", *OUTSIDE, *HOMES):
            subprocess.run(["ip", "netns", "add", self._prefix + place], check=True)
            self.run(place, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv4.ip_forward=1")
            self._ip(place, "link set lo up")
        self._ip("inet", "link add br0 type bridge", "link set br0 up")
        for place, address in OUTSIDE.items():
            self._ip(
                "inet",
                f"link add {place} type veth peer name wan netns {self._prefix}{place}",
                f"link set {place} master br0",
                f"link set {place} up",
            )
            self._ip(place, f"addr add {address}/{INTERNET_BITS} dev wan", "link set wan up")
        for place in OUTSIDE:
            others = [home for home in HOMES if f"r{home}" != place]
            self._ip(place, *(f"route add {PUBLIC_NET[home]}.0/24 via {OUTSIDE[f'r{home}']}" for home in others))
        for home in HOMES:
            self._ip(
                f"r{home}",
                f"link add lan type veth peer name eth0 netns {self._prefix}{home}",
                "link set lan up",
            )
            self._ip(home, "link set eth0 up")
            self.set_home(home, Kind.PUBLIC)


def _rules(kind: Kind, address: str) -> str:
    """A router's rules, for iptables-restore."""
    if kind is Kind.PUBLIC:
        return "*nat\nCOMMIT\n*filter\n:FORWARD ACCEPT\n:INPUT ACCEPT\nCOMMIT\n"
    nat = {
        Kind.MOVED: "".join(
            f"-A POSTROUTING -o wan -p {protocol} -j SNAT --to-source {address}:10000-19999\n"
            for protocol in ("tcp", "udp")
        ),
        Kind.SYMMETRIC: "-A POSTROUTING -o wan -j MASQUERADE --random-fully\n",
    }.get(kind, "-A POSTROUTING -o wan -j MASQUERADE\n")
    known = "-i wan -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT"
    reset = "-A INPUT -i wan -p tcp -j REJECT --reject-with tcp-reset\n" if kind is Kind.RESETTING else ""
    filters = (
        f":INPUT DROP\n:FORWARD DROP\n-A FORWARD -i lan -j ACCEPT\n-A FORWARD {known}\n"
        f"-A INPUT -i lan -j ACCEPT\n-A INPUT {known}\n{reset}"
    )
    return f"*nat\n{nat}COMMIT\n*filter\n{filters}COMMIT\n"
