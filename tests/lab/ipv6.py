"""IPv6 in the lab: every place gets a public address, and nothing is translated.

    p1 p2 p3   2a01::1 2a02::1 2a03::1      ra - a   2a04::1 - 2a04:8::2      rb - b   2a05::1 - 2a05:8::2

The homes' routers pass what their `Guard` says.
"""

import contextlib
import subprocess
from collections.abc import Iterator
from enum import StrEnum

from tests.lab.ground import HOMES, OUTSIDE, Ground

OUTSIDE6 = {"p1": "2a01::1", "p2": "2a02::1", "p3": "2a03::1", "ra": "2a04::1", "rb": "2a05::1"}
INTERNET_BITS = 13
"""The five lie in one link's 2a00::/13."""
HOME_NET = {"a": "2a04:8::", "b": "2a05:8::"}


class Guard(StrEnum):
    """Filtering of a home's router over IPv6."""

    OPEN = "open"
    ASKED = "asked"
    """Only what was asked for from inside."""
    UDP = "udp"
    """As `ASKED`, and no TCP at all in either direction."""


_KNOWN = "-A FORWARD -i lan -j ACCEPT\n-A FORWARD -i wan -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT\n"
_RULES = {
    Guard.OPEN: ":FORWARD ACCEPT\n",
    Guard.ASKED: f":FORWARD DROP\n{_KNOWN}",
    Guard.UDP: f":FORWARD DROP\n-A FORWARD -p tcp -j DROP\n{_KNOWN}",
}


def absence(ground: Ground) -> str | None:
    """Why this system gives namespaces no IPv6; None: it does."""
    try:
        ground.run("ra", "sysctl", "-q", "net.ipv6.conf.all.disable_ipv6")
        for guard in (Guard.ASKED, Guard.OPEN):
            ground.run("ra", "ip6tables-restore", stdin=_rules(guard))
    except (RuntimeError, FileNotFoundError) as error:
        return str(error)
    return None


@contextlib.contextmanager
def ipv6(ground: Ground, guard: Guard) -> Iterator[None]:
    """Until it is left; homes must keep their kind of router meanwhile."""
    for place in (*OUTSIDE, *HOMES):
        ground.run(place, "sysctl", "-qw", "net.ipv6.conf.all.accept_ra=0", "net.ipv6.conf.all.disable_ipv6=0")
    try:
        for place, address in OUTSIDE6.items():
            _do(ground, place, f"addr add {address}/{INTERNET_BITS} dev wan nodad")
        for home in HOMES:
            _connect(ground, home, guard)
        ground.ipv6 = OUTSIDE6 | {home: f"{net}2" for home, net in HOME_NET.items()}
        yield
    finally:
        ground.ipv6 = {}
        for place in (*OUTSIDE, *HOMES):
            ground.run(place, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1", check=False)


def _connect(ground: Ground, home: str, guard: Guard) -> None:
    router, net = f"r{home}", HOME_NET[home]
    ground.run(router, "sysctl", "-qw", "net.ipv6.conf.all.forwarding=1")
    ground.run(router, "ip6tables-restore", stdin=_rules(guard))
    ground.run(router, "conntrack", "-F", "-f", "ipv6", check=False)
    _do(ground, router, f"addr add {net}1/64 dev lan nodad")
    _do(ground, home, f"addr add {net}2/64 dev eth0 nodad", f"route add default via {net}1")
    for place in OUTSIDE6:
        if place != router:
            _do(ground, place, f"route add {net}/64 via {OUTSIDE6[router]}")


def _rules(guard: Guard) -> str:
    return f"*filter\n:INPUT ACCEPT\n{_RULES[guard]}COMMIT\n"


def _do(ground: Ground, place: str, *lines: str) -> None:
    words = ground.inside(place, ["ip", "-6", "-batch", "-"])
    subprocess.run(words, input="\n".join(lines), text=True, check=True, capture_output=True)
