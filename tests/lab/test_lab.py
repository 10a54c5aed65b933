"""The lab as tests.  They need root and minutes, so they run only when asked for:

POTLUCK_LAB=1 python -m pytest tests/lab -q
"""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from core.nat.dial_back import SOON_S
from tests.lab import faults, matrix, speed, train
from tests.lab import ground as ground_module
from tests.lab.crew import public_hosts, two_homes
from tests.lab.ground import HOMES, ROOT, Ground, Kind, missing
from tests.lab.ipv6 import Guard, absence, ipv6

REASON = missing() if os.environ.get("POTLUCK_LAB") else "The lab runs when asked for: POTLUCK_LAB=1, as root."
pytestmark = [pytest.mark.process, pytest.mark.skipif(REASON is not None, reason=str(REASON))]


@pytest.fixture(scope="module")
def ground() -> Iterator[Ground]:
    with Ground() as made:
        yield made


@pytest.mark.parametrize("rtt_s", [0.0, 0.04])
def test_every_pair_finds_its_way(ground, rtt_s):
    """The ways are required; the times stand beside their targets in `python -m tests.lab matrix`."""
    ground.set_delay(rtt_s)

    async def measured() -> list[matrix.Cell]:
        async with public_hosts(ground) as hosts:
            return [await matrix.measure_cell(ground, hosts, a=a, b=b, load_s=0.0) for a in Kind for b in Kind]

    cells = asyncio.run(measured())
    sys.stdout.write(matrix.table(cells) + "\n")
    assert not matrix.shortfalls(cells)


@pytest.fixture
def symmetric_homes(ground) -> None:
    """Over IPv4 only a relay joins them."""
    lacking = absence(ground)
    if lacking is not None:
        pytest.skip(f"Namespaces have no IPv6 here: {lacking}")
    ground.set_delay(0.04)
    for home in HOMES:
        ground.set_home(home, Kind.SYMMETRIC)


@pytest.mark.usefixtures("symmetric_homes")
@pytest.mark.parametrize(("guard", "way"), [(Guard.OPEN, "tcp"), (Guard.ASKED, "tcp"), (Guard.UDP, "quic")])
def test_two_symmetric_homes_meet_over_ipv6(ground, guard, way):
    async def measured() -> matrix.Cell:
        async with public_hosts(ground) as hosts:
            return await matrix.measure_cell(ground, hosts, a=Kind.SYMMETRIC, b=Kind.SYMMETRIC, load_s=0.0)

    with ipv6(ground, guard):
        theirs = ground.ipv6["b"]
        cell = asyncio.run(measured())
    sys.stdout.write(f"{guard}: {cell}\n")
    assert (cell.way, cell.place) == (way, theirs)


@pytest.mark.usefixtures("symmetric_homes")
@pytest.mark.parametrize(("guard", "opened"), [(Guard.OPEN, True), (Guard.ASKED, False)])
def test_a_home_learns_what_its_router_lets_in_over_ipv6(ground, guard, opened):
    async def learned() -> dict[str, Any]:
        async with public_hosts(ground) as hosts, two_homes(ground, hosts, settle_s=matrix.SETTLE_S) as (home, _):
            await asyncio.sleep(SOON_S + 3)  # it asks again after this time, once it knows peers to ask
            home.order("know", timeout_s=1)
            return await home.hear(timeout_s=5)

    with ipv6(ground, guard):
        known = asyncio.run(learned())
    assert (known["standing"], known["ipv6"]) == ("relayed", opened)


def test_routers_are_what_they_are_called(ground):
    """By what a public host sees of two calls from one port to two addresses."""
    ground.set_delay(0.0)
    seen = {}
    for kind in Kind:
        ground.set_home("a", kind)
        seen[kind] = {_port_seen(ground, "p1"), _port_seen(ground, "p2")}
    assert seen[Kind.PUBLIC] == seen[Kind.KEPT] == seen[Kind.RESETTING] == {_PORT}
    assert len(seen[Kind.MOVED]) == 1
    assert seen[Kind.MOVED] != {_PORT}
    assert len(seen[Kind.SYMMETRIC]) == 2


def test_a_killed_lab_leaves_nothing():
    script = "import time\nfrom tests.lab.ground import Ground\n"
    script += "with Ground():\n    print('up', flush=True)\n    time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        name = f"{ground_module.PREFIX}{process.pid}-"
        process.kill()
    patience_ends = time.monotonic() + 20
    while name in subprocess.run(["ip", "netns", "list"], check=True, capture_output=True, text=True).stdout:
        assert time.monotonic() < patience_ends
        time.sleep(0.1)  # another process does it, and tells nobody


def test_throughput_against_iperf3():
    lines = speed.run_speed(seconds=5)
    sys.stdout.write(speed.table(lines) + "\n")
    assert not speed.shortfalls(lines)


def test_faults():
    outcomes = faults.run()
    sys.stdout.write(faults.table(outcomes) + "\n")
    assert [outcome.what for outcome in outcomes if not outcome.kept] == []


@pytest.mark.parametrize(("a", "b"), train.PAIRS)
def test_two_volunteers_behind_routers_train_together(ground, a, b):
    ground.set_delay(0.04)
    trained = asyncio.run(train.train(ground, a, b))
    sys.stdout.write(trained.text())
    assert trained.kept


@pytest.mark.usefixtures("symmetric_homes")
def test_two_volunteers_whose_routers_pass_ipv6_train_without_a_relay(ground):
    with ipv6(ground, Guard.ASKED):
        trained = asyncio.run(train.train(ground, Kind.SYMMETRIC, Kind.SYMMETRIC))
    sys.stdout.write(trained.text())
    assert trained.kept
    assert {"ipv6", "tcp_punch"} & set(" ".join(trained.ways).replace(",", "").split())


_PORT = 23_000
_LISTEN = (
    "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.bind(('', 9))\ns.settimeout(10)\n"
    "print('up', flush=True)\nprint(s.recvfrom(9)[1][1])"
)
_SAY = (
    "import socket, sys\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
    f"s.bind(('', {_PORT}))\ns.sendto(b'x', (sys.argv[1], 9))"
)


def _port_seen(ground: Ground, place: str) -> int:
    with subprocess.Popen(
        ground.inside(place, [sys.executable, "-c", _LISTEN]), stdout=subprocess.PIPE, text=True
    ) as listener:
        assert listener.stdout is not None
        listener.stdout.readline()
        ground.run("a", sys.executable, "-c", _SAY, ground.address(place))
        return int(listener.stdout.readline())
