"""The engine's own look for a newer version, with small programs in the place of the process that looks."""

import asyncio
import sys
from types import SimpleNamespace

import pytest

from core.engine import update_watch
from core.engine.update_watch import UpdateWatch

PROGRESS = 'print(\'{"event": "progress", "done_bytes": %d, "total_bytes": 9000}\', flush=True)'
FAILS = """print('{"event": "problem", "message": "Nothing answers.", "said": []}'); import sys; sys.exit(2)"""


class World:
    def __init__(self) -> None:
        self.received, self.network, self.told = 0, None, []
        policy = SimpleNamespace(pace=SimpleNamespace(passed=self._pass), decision=self)
        options = SimpleNamespace(home=SimpleNamespace(directory="home"))
        notices = SimpleNamespace(tell=lambda *words, **args: self.told.append((words, args)))
        installation = SimpleNamespace(usage_policy=policy, options=options, notices=notices)
        self.watch = UpdateWatch(installation, snapshot=None, renew=None, changed=None)

    def _pass(self, *, received: int) -> None:
        self.received += received
        if self.received >= 3000:
            self.network = "metered"


def look(world: World, monkeypatch: pytest.MonkeyPatch, *lines: str) -> bool:
    monkeypatch.setattr(update_watch, "own_command", lambda: [sys.executable, "-c", "\n".join(lines)])

    async def bounded() -> bool:
        return await asyncio.wait_for(world.watch.look(), 20)

    return asyncio.run(bounded())


def test_download_counts_as_traffic_of_the_month(monkeypatch):
    world = World()
    assert look(world, monkeypatch, *(PROGRESS % done for done in (500, 100, 1000, 2500)))
    assert world.received == 2400
    assert not world.told


def test_download_ends_where_the_network_rests(monkeypatch):
    world = World()
    later = "import time; time.sleep(60)"
    assert not look(world, monkeypatch, PROGRESS % 100, PROGRESS % 4000, PROGRESS % 4100, later)
    assert world.received == 3900
    assert not world.told


def test_failed_look_is_told(monkeypatch):
    world = World()
    assert not look(world, monkeypatch, PROGRESS % 100, FAILS)
    ((words, args),) = world.told
    assert words == ("warning", "update.failed")
    assert str(args["reason"]) == "Nothing answers."
