"""The list of charters whose backbones an engine runs, and the addresses under which those are found."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from core.api.hosting import BackboneState, Router
from core.engine import hosting
from core.engine.hosting import Hosting, present_hosts, reach_of
from core.engine.remembered.hosted import CHARTERS_MAX, HOSTED, Hosted, host, hosted_charters
from core.net.router.portmap import Mapped
from core.storage.paths import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def charter(number: int, *, runs: bool = True) -> Hosted:
    return Hosted(folder=f"/charters/{number}", collaboration=f"{number:064x}", runs=runs)


def test_list_keeps_the_newest_of_each(home: Home) -> None:
    for number in range(CHARTERS_MAX + 3):
        host(home, charter(number))
    host(home, charter(5, runs=False))
    known = hosted_charters(home)
    assert len(known) == CHARTERS_MAX
    assert list(known)[-1] == charter(5).collaboration
    assert known[charter(5).collaboration].state is BackboneState.OFF
    assert known[charter(9).collaboration].state is BackboneState.WAITS


def test_damaged_list_is_set_aside(home: Home) -> None:
    (home.directory / HOSTED).write_bytes(b"[torn")
    assert hosted_charters(home) == {}
    assert [path.name for path in home.directory.glob(f"{HOSTED}*")] != [HOSTED]
    host(home, charter(1))
    assert len(hosted_charters(home)) == 1


SAYS_MUCH = """
import sys
print("x" * 3_000_000)
print('{"event": "problem"}', flush=True)
sys.stdin.read()
"""


def test_unreadable_list_or_long_line_ends_no_hosting(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(hosting, "LOOK_S", 0.05)
    monkeypatch.setattr(hosting, "own_command", lambda: [sys.executable, "-c", SAYS_MUCH])
    folder = tmp_path / "charter"
    folder.mkdir()
    (home.directory / HOSTED).mkdir()
    home.logs.mkdir()

    async def until(reached: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not reached():  # noqa: ASYNC110 - it is another process's
                await asyncio.sleep(0.05)

    async def run() -> None:
        running = Hosting(home, Random(1))
        running.begin()
        try:
            await until(lambda: "cannot be read" in caplog.text)
            (home.directory / HOSTED).rmdir()
            host(home, Hosted(folder=str(folder), collaboration=f"{1:064x}"))
            await until((folder / "hosting.json").exists)
        finally:
            await running.close()

    asyncio.run(run())
    assert "said a line of more than" in caplog.text


@pytest.mark.parametrize(
    ("kept", "here", "named"),
    [
        (("192.168.1.7",), ["192.168.1.7"], ("192.168.1.7",)),
        (("192.168.1.7",), ["192.168.1.9"], ("192.168.1.9",)),  # it has moved
        (("pot.example.org", "192.168.1.7"), ["10.0.0.3"], ("pot.example.org", "10.0.0.3")),
        (("1.2.3.4",), ["192.168.1.7"], ("1.2.3.4",)),  # the router's, about which it knows nothing
        (("127.0.0.1",), ["192.168.1.7"], ("127.0.0.1",)),
        (("kitchen.local",), ["192.168.1.7"], ("kitchen.local",)),
        ((), ["192.168.1.7"], ("192.168.1.7",)),
        ((), [], ("127.0.0.1",)),
        (("192.168.1.7",), [], ("192.168.1.7",)),  # no network now: it is not forgotten
    ],
)
def test_address_at_home_is_the_present_one(
    monkeypatch: pytest.MonkeyPatch, kept: tuple[str, ...], here: list[str], named: tuple[str, ...]
) -> None:
    monkeypatch.setattr(hosting, "own_hosts", lambda _: here)
    assert present_hosts(kept) == named


@pytest.mark.parametrize(
    ("mapped", "router", "outside"),
    [
        (None, Router.CLOSED, ""),
        (Mapped(method="upnp", host="1.2.3.4", port=4000, lifetime_s=60), Router.OPENS, "1.2.3.4"),
        (Mapped(method="upnp", host="1.2.3.4", port=4001, lifetime_s=60), Router.SHARED, ""),
        (Mapped(method="upnp", host="100.64.0.9", port=4000, lifetime_s=60), Router.SHARED, ""),
    ],
)
def test_router_decides_who_can_come_in(
    monkeypatch: pytest.MonkeyPatch, mapped: Mapped | None, router: Router, outside: str
) -> None:
    class Network:
        gateway = "192.168.1.1"

        def __init__(self, _: object) -> None:
            pass

        async def look(self) -> None:
            pass

        def inside(self) -> str:
            return "192.168.1.7"

    class Ports:
        def __init__(self, _: int, *, tell: Callable[[Mapped | None], None], **__: object) -> None:
            self._tell = tell

        async def run(self) -> None:
            self._tell(mapped)

    monkeypatch.setattr(hosting, "own_hosts", lambda _: ["192.168.1.7"])
    monkeypatch.setattr(hosting, "SensedNetwork", Network)
    monkeypatch.setattr(hosting, "PortMap", Ports)
    view = asyncio.run(reach_of(4000))
    assert (view.home, view.router, view.outside) == ("192.168.1.7", router, outside)
