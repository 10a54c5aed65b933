"""Signing in as processes: a charter with ways in, its backbone and page, `potluck login`, browsers and engines.

It runs with POTLUCK_LONG=1: founding takes a part of a minute, and so do first rounds.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from core.backbone.link import parse_link
from core.base.site.ways import WAYS
from core.net.clock import Clock
from core.system.atomic_files import write_atomic
from tests.process.issuer import CLIENT, SECRET, TestIssuer
from tests.process.site_sign_in import Browser
from tests.process.swarm import CORE, ENVIRONMENT, end, start
from tests.process.test_first_day import contribution
from tests.process.test_site import free_port, read, until

pytestmark = [pytest.mark.process, pytest.mark.long]
WAIT_S = 300.0
"""Bounds a failure."""


async def said(login: asyncio.subprocess.Process, event: str) -> Mapping[str, Any]:
    """The first line of this event."""
    assert login.stdout is not None
    async for line in login.stdout:
        told: dict[str, Any] = json.loads(line)
        if told.get("event") == event:
            return told
    raise AssertionError(event)


async def log_in(link: str, home: Path, way: Callable[[Browser, Mapping[str, Any]], Awaitable[None]]) -> None:
    """Type `potluck login -`, and sign in by a browser at the address that it shows.

    Args:
        link: Without an invitation.
        home: Of the computer.
        way: Signs in with a browser, for the computer that shows these codes.
    """
    pipe = asyncio.subprocess.PIPE
    words = (*CORE, "login", "-", "--home", str(home), "--yes", "--json")
    login = await asyncio.create_subprocess_exec(*words, stdin=pipe, stdout=pipe, env=ENVIRONMENT)
    assert login.stdin is not None
    assert login.stdout is not None
    try:
        login.stdin.write(f"{link}\n".encode())
        login.stdin.close()
        shown = await said(login, "sign_in")
        at = urlsplit(shown["complete"])
        browser = Browser(f"{at.scheme}://{at.netloc}")
        try:
            await way(browser, shown)
            assert shown["user_code"] in browser.text
            assert "Done" in await browser.post("/in/device", code=shown["user_code"], answer="yes")
        finally:
            await browser.client.close()
        *_, last = (await login.stdout.read()).splitlines()
        assert await login.wait() == 0
        assert json.loads(last)["event"] == "joined"
    finally:
        if login.returncode is None:
            login.kill()


async def by_passphrase(browser: Browser, shown: Mapping[str, Any]) -> None:
    await browser.new("Ada")
    await browser.get(shown["complete"])


async def by_issuer(browser: Browser, shown: Mapping[str, Any]) -> None:
    await browser.get(shown["complete"])
    await browser.post("/in/oidc/test")
    await browser.follow()
    await browser.follow()


async def all_in(bare: str, folder: Path, issuer: TestIssuer) -> None:
    """Both people have signed in, and their computers are in."""
    await asyncio.wait_for(log_in(bare, folder / "Ada", by_passphrase), WAIT_S)
    issuer.now = [Clock().now()]
    await asyncio.wait_for(log_in(bare, folder / "Cleo", by_issuer), WAIT_S)


def test_two_who_signed_in_are_on_the_board(tmp_path: Path) -> None:
    async def run() -> None:
        charter, port = tmp_path / "ours", free_port()
        found = [*CORE, "found", "first-words", "--charter", str(charter), "--host", "127.0.0.1", "--json"]
        done = partial(subprocess.run, env=ENVIRONMENT, stdin=subprocess.DEVNULL, check=True, timeout=WAIT_S)
        await asyncio.to_thread(done, found)
        async with TestIssuer(login="Cleo") as issuer:
            client = f'issuer = "{issuer.url}"\nclient_id = "{CLIENT}"\nclient_secret = "{SECRET}"\nadmit = "anybody"\n'
            ways = f'address = "http://127.0.0.1:{port}"\n[passphrase]\nadmit = "anybody"\n[oidc.test]\n{client}'
            write_atomic(charter / WAYS, ways.encode())
            words = ["backbone", "--charter", str(charter), "--site", str(port), "--with-parent", "--json"]
            with ExitStack() as ends:
                backbone = start(words, tmp_path / "backbone.log", stdout=subprocess.PIPE)
                ends.callback(end, backbone)
                assert backbone.stdout is not None
                link = parse_link(json.loads(await asyncio.to_thread(backbone.stdout.readline))["link"])
                await until(lambda: read(port, "/in"))
                await all_in(str(replace(link, invite="")), tmp_path, issuer)
                for name in ("Ada", "Cleo"):
                    engine = ["engine", "--home", str(tmp_path / name), "--with-parent"]
                    ends.callback(end, start(engine, tmp_path / f"{name}.log"))
                for name in ("Ada", "Cleo"):
                    ends_at = time.monotonic() + WAIT_S
                    await asyncio.to_thread(contribution, tmp_path / name, (), until=ends_at)
                    gave = time.monotonic()
                    await until(lambda shown=f">{name}<": shown in read(port, "/board"), within_s=WAIT_S)
                    sys.stdout.write(f"{name} is on the board after {time.monotonic() - gave:.1f} s\n")

    asyncio.run(run())
