"""Findings about the network, from the output of the systems' programs."""

import asyncio
import sys
from collections.abc import Mapping, Sequence

import pytest

from core.schedule.senses import linux, macos, windows
from core.schedule.senses.changes import SLEPT_S, Change, Changes, Sight, addresses, sight
from core.schedule.senses.findings import Ask, NetworkSense
from core.schedule.senses.network import ask_program, sense_network

ROUTES = (
    "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\n"
    "wlan0\t0000A8C0\t00000000\t0001\t0\t0\t600\t00FFFFFF\n"
    "wlan0\t00000000\t0100A8C0\t0003\t0\t0\t600\t00000000\n"
)
MAC_ROUTE = "   route to: default\n    gateway: 192.168.0.1\n  interface: en0\n      flags: <UP,GATEWAY>\n"
MAC_PORTS = "\nHardware Port: Wi-Fi\nDevice: en0\nEthernet Address: a\n\nHardware Port: iPhone USB\nDevice: en5\n"


def asking(answers: Mapping[Sequence[str], str]) -> Ask:
    async def ask(words: Sequence[str]) -> str:
        return answers.get(tuple(words), "")

    return ask


@pytest.mark.parametrize(
    ("answer", "metered", "medium"),
    [
        ('u 4\ns "802-11-wireless"\n', False, "wifi"),
        ('u 1\ns "gsm"\n', True, "mobile"),
        ('u 3\ns "802-3-ethernet"\n', True, "cable"),
        ('u 0\ns ""\n', None, "unknown"),
        ("", None, "unknown"),
        ("what is this", None, "unknown"),
    ],
)
def test_linux(tmp_path, answer, metered, medium):
    routes = tmp_path / "route"
    routes.write_text(ROUTES)
    told = asyncio.run(linux.network(asking({linux.QUESTION: answer}), routes=routes))
    assert told == NetworkSense(metered=metered, medium=medium, gateway="192.168.0.1")


def test_linux_without_a_router(tmp_path):
    assert linux.gateway(tmp_path / "none") is None
    (tmp_path / "odd").write_text("a\nb c\n")
    assert linux.gateway(tmp_path / "odd") is None


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (
            "cost=Fixed\r\nkind=71\r\ngateway=10.0.0.1\r\n",
            NetworkSense(metered=True, medium="wifi", gateway="10.0.0.1"),
        ),
        ("cost=Unrestricted\r\nkind=6\r\n", NetworkSense(metered=False, medium="cable")),
        ("cost=Unknown\r\nkind=244\r\ngateway=0.0.0.0", NetworkSense(medium="mobile")),
        ("gateway=nonsense", NetworkSense()),
    ],
)
def test_windows(answer, told):
    assert asyncio.run(sense_network(asking({windows.QUESTION: answer}), platform="win32")) == told


@pytest.mark.parametrize(
    ("flags", "metered"),
    [
        ("\teflags=412008c0<ACCEPT_RTADV,TXSTART>\n\txflags=4<NOAUTONX>\n", False),
        ("\txflags=204<NOAUTONX,CONSTRAINED>\n", True),
        ("\teflags=41<ACCEPT_RTADV,EXPENSIVE>\n", True),
        ("", None),
    ],
)
def test_macos(flags, metered):
    answers = {macos.ROUTE: MAC_ROUTE, macos.PORTS: MAC_PORTS, macos.flags_question("en0"): flags}
    told = asyncio.run(sense_network(asking(answers), platform="darwin"))
    assert told == NetworkSense(metered=metered, medium="wifi", gateway="192.168.0.1")
    assert asyncio.run(sense_network(asking({}), platform="darwin")) == NetworkSense()


def test_other_systems_tell_nothing():
    assert asyncio.run(sense_network(asking({}), platform="plan9")) == NetworkSense()


def test_a_program_that_is_not_there_or_fails_says_nothing():
    assert asyncio.run(ask_program(["no-such-program"])) == ""
    assert asyncio.run(ask_program([sys.executable, "-c", "print(1); raise SystemExit(1)"])) == ""
    assert asyncio.run(ask_program([sys.executable, "-c", "print('yes')"])).strip() == "yes"


HOME, CAFE = "10.0.0.2", "192.168.7.9"
NOW6, TOMORROW6, ELSEWHERE6 = "2a00:1:2:3::aaaa", "2a00:1:2:3::bbbb", "2a00:1:2:4::aaaa"


def seen(*beside, v4=HOME, v6=None):
    outward = [host for host in (v4, v6) if host is not None]
    return Sight(addresses=frozenset([*outward, *beside]), outward4=v4, outward6=v6)


def change(before, after):
    changes = Changes()
    assert changes.look(before, 0) is Change.NONE
    found = changes.look(after, 5)
    assert changes.look(after, 10) is Change.NONE, "a change is seen once"
    return found


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (seen(), seen(v4=CAFE)),
        (seen(), seen(HOME, v4=CAFE)),  # the old address is still there, but the way out is another one: a full VPN
        (seen(), seen(v4=None)),
        (seen(v4=None), seen()),
        (seen(v6=NOW6), seen(v6=ELSEWHERE6)),
        (seen(v6=NOW6), seen()),
        (seen(v4=None, v6=NOW6), seen(NOW6, v4=None)),
        (seen("10.1.1.1", v4=None), seen(v4=None)),  # a network without a way out
    ],
)
def test_another_way_out_is_another_network(before, after):
    assert change(before, after) is Change.MOVED


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (seen(), seen("172.17.0.1")),  # a bridge, or a VPN for some destinations
        (seen("172.17.0.1"), seen()),
        (seen(), seen(v6=NOW6)),  # IPv6 comes some seconds after IPv4
        (seen(v6=NOW6), seen(NOW6, v6=TOMORROW6)),
        (seen(NOW6, v6=TOMORROW6), seen(v6=TOMORROW6)),
        (seen(v6=NOW6), seen(v6=TOMORROW6)),
        (seen(v4=None), seen("10.1.1.1", v4=None)),
    ],
)
def test_addresses_beside_are_no_other_network(before, after):
    assert change(before, after) is Change.ADDRESSES


def test_a_computer_that_slept_may_be_anywhere():
    changes = Changes()
    changes.look(seen(), 0)
    assert changes.look(seen(), SLEPT_S + 1) is Change.MOVED
    assert changes.look(seen(), SLEPT_S + 6) is Change.NONE


def test_a_look_at_this_computer():
    assert "127.0.0.1" not in addresses()
    found = sight()
    assert found.addresses == addresses()
    assert {host for host in (found.outward4, found.outward6) if host is not None} <= found.addresses
