"""Addresses of this computer."""

import json
import shutil
import socket
import subprocess
import sys
from types import SimpleNamespace

import psutil
import pytest

from core.net.addresses import interfaces as interfaces_module
from core.net.addresses.interfaces import is_loopback, own_hosts


@pytest.mark.parametrize(
    ("bind", "expected"), [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False)]
)
def test_loopback(bind, expected):
    assert is_loopback(bind) is expected


def test_own_hosts():
    assert own_hosts("10.1.2.3") == ["10.1.2.3"]
    assert own_hosts("a.name") == own_hosts("fe80::1%eth0") == []
    everywhere = own_hosts("0.0.0.0")
    assert not [host for host in everywhere if host == "::1" or host.startswith(("127.", "fe80:"))]
    assert everywhere == sorted(everywhere, key=lambda host: ":" in host)
    assert own_hosts("::") == [host for host in everywhere if ":" in host]


CABLE = """
import json, psutil, subprocess, time
from core.net.addresses.interfaces import has_way
def seen():
    return [has_way(host) for host in ("10.9.0.2", "192.0.2.80", "2001:db8::7", "a.name")]
def ip(words):
    subprocess.run(["ip", *words.split()], check=True)
told = [seen()]
ip("link add near type veth peer name far")
ip("address add 10.9.0.1/24 dev near")
ip("link set far up")
ip("link set near up")
late = time.monotonic() + 10
while not psutil.net_if_stats()["near"].isup and time.monotonic() < late:
    time.sleep(0.01)  # the kernel says so a while after
told.append(seen())
ip("route add default via 10.9.0.2")
told.append(seen())
ip("link set near down")
told.append(seen())
print(json.dumps(told))
"""


def test_a_way_is_there_as_long_as_the_line():
    """Without a network, in one without a router, in one with a router, and after the cable was pulled."""
    apart = ["unshare", "--net", "--map-root-user"]
    tools = all(shutil.which(tool) for tool in ("unshare", "ip"))
    if not tools or subprocess.run([*apart, "true"], check=False).returncode:
        pytest.skip("needs the right to make a network namespace")
    done = subprocess.run([*apart, sys.executable, "-c", CABLE], stdout=subprocess.PIPE, check=True)
    assert json.loads(done.stdout) == [[False] * 4, [True, False, False, True], [True, True, False, True], [False] * 4]


def interfaces_of(monkeypatch, *hosts):
    """A computer with these addresses, whose calls over IPv6 leave from the last public one."""
    listed = [
        SimpleNamespace(family=socket.AF_INET6 if ":" in host else socket.AF_INET, address=host) for host in hosts
    ]
    monkeypatch.setattr(psutil, "net_if_addrs", lambda: {"eth0": listed})
    last = [host for host in hosts if host.startswith("2a00:")]
    monkeypatch.setattr(interfaces_module, "leaving_from", lambda: last[-1] if last else None)


def test_own_hosts_list_three_ipv6_addresses_used_other_and_local(monkeypatch):
    hosts = ("::1", "fe80::1%eth0", "fd00::7", "fd00::8", *(f"2a00::{n}" for n in range(1, 5)), "10.0.0.7")
    interfaces_of(monkeypatch, *hosts)
    assert own_hosts("0.0.0.0") == ["10.0.0.7", "2a00::4", "2a00::1", "fd00::7"]
    assert own_hosts("::") == ["2a00::4", "2a00::1", "fd00::7"]
