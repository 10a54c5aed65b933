"""The embedded collaboration obeys the person's switch: its companions compute on the same computer."""

import asyncio
import contextlib
import sys
from pathlib import Path
from random import Random
from types import SimpleNamespace

import psutil
import pytest

from core.api.modes import OFF
from core.engine import embedded as embedded_module
from core.engine.embedded import Embedded, EmbeddedOptions
from core.engine.usage_policy import UsagePolicy
from core.storage.paths import Home
from core.storage.settings import Settings

pytestmark = pytest.mark.process
LINK = f"potluck://127.0.0.1:4000/{'ab' * 32}#invitation"
CHILD = f"""
import json, sys
if "backbone" in sys.argv:
    print(json.dumps({{"link": "{LINK}"}}), flush=True)
sys.stdin.read()
"""


def children() -> list[str]:
    """Which of them run: backbone, engine."""
    roles = []
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.NoSuchProcess):  # a zombie, too, has ended
            words = child.cmdline()
            roles += [role for role in ("backbone", "engine") if role in words]
    return sorted(roles)


async def until(expected: list[str]) -> None:
    async with asyncio.timeout(20):
        while await asyncio.to_thread(children) != expected:  # noqa: ASYNC110 - other processes, no event
            await asyncio.sleep(0.05)


def test_companions_run_only_while_the_person_lets_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded_module, "own_command", lambda *_: [sys.executable, "-c", CHILD])

    async def run() -> None:
        policy = UsagePolicy(Settings(computing=OFF), path=tmp_path / "usage.json", now=lambda: 0.0, alone=True)
        embedded = Embedded(
            home=Home(tmp_path), options=EmbeddedOptions(), while_allowed=policy.while_allowed, random=Random(1)
        )
        charter = SimpleNamespace(folder=tmp_path)
        linked: list[object] = []
        running = asyncio.create_task(embedded.run(charter, linked.append))
        await until(["backbone"])
        for settings, there in (
            (Settings(), ["backbone", "engine", "engine"]),
            (Settings(computing=OFF), ["backbone"]),
            (Settings(), ["backbone", "engine", "engine"]),
        ):
            policy.apply(settings)
            await until(there)
        assert len(linked) == 1
        running.cancel()
        await asyncio.wait([running])
        assert children() == []

    asyncio.run(run())
