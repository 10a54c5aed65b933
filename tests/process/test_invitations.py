"""Invitations are made, listed and withdrawn while the backbone runs."""

import asyncio
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.backbone.admission_log import AdmissionLog
from core.backbone.charter import Charter
from core.backbone.link import parse_link
from core.base.manifest import Manifest
from core.base.problems import NotTrusted, RemoteProblem
from core.base.signing import KeyPair
from core.joining import join as joining
from core.joining.join import Joining
from core.joining.look import check_source
from core.net.clock import Clock
from tests.process.swarm import CORE, ENVIRONMENT, collaboration, found

pytestmark = pytest.mark.process


def invite(charter: Charter, *words: str) -> list[dict[str, object]]:
    command = [*CORE, "invite", "--charter", str(charter.folder), "--json", *words]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=ENVIRONMENT, timeout=60)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_invitation_for_one_lets_in_one_until_withdrawn(tmp_path: Path) -> None:
    charter = found(tmp_path, target_samples=64)

    async def join(link: object, name: str, willing: Callable[[Manifest], None] = lambda _: None) -> str:
        key = KeyPair.generate()
        newcomer = Joining(link=parse_link(str(link)), key=key, folder=tmp_path, blobs=tmp_path, willing=willing)
        return (await newcomer.try_once(username=name, device="", now=Clock().now)).name

    async def run() -> None:
        async with collaboration(charter, tmp_path) as swarm:
            (one,) = await asyncio.to_thread(invite, charter, "--uses", "1", "--days", "7")
            assert one["uses_max"] == 1
            with pytest.raises(NotTrusted, match="wants to read the folder"):  # the newcomer's own program refuses
                await join(one["link"], "Eve", lambda manifest: check_source(manifest, None))
            assert not AdmissionLog(charter.folder).keys_of("Eve")
            assert await join(one["link"], "Ada") == "Ada"
            assert (await join(swarm.link, "Backbone")).startswith("Backbone ")
            with pytest.raises(NotTrusted, match="as often as it may"):
                await join(one["link"], "Bob")
            standing, listed = await asyncio.to_thread(invite, charter, "--list")
            assert standing["link"] == swarm.link
            assert (listed["id"], listed["used"]) == (one["id"], 1)
            await asyncio.to_thread(invite, charter, "--withdraw", str(standing["id"]))
            with pytest.raises(NotTrusted, match="not valid"):
                await join(swarm.link, "Bob")

    asyncio.run(run())


def test_place_is_held_while_a_newcomer_fetches_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    charter = found(tmp_path, target_samples=64)
    fetching, may_go_on = asyncio.Event(), asyncio.Event()
    fetch = joining.fetch_blobs

    async def slowly(*words: Any, **named: Any) -> None:
        fetching.set()
        await may_go_on.wait()
        await fetch(*words, **named)

    async def join(link: str, name: str) -> str:
        newcomer = Joining(link=parse_link(link), key=KeyPair.generate(), folder=tmp_path, blobs=tmp_path)
        return (await newcomer.try_once(username=name, device="", now=Clock().now)).name

    async def run() -> None:
        async with collaboration(charter, tmp_path):
            (one,) = await asyncio.to_thread(invite, charter, "--uses", "1")
            monkeypatch.setattr(joining, "fetch_blobs", slowly)
            first = asyncio.create_task(join(str(one["link"]), "Ada"))
            await fetching.wait()
            monkeypatch.setattr(joining, "fetch_blobs", fetch)
            with pytest.raises(RemoteProblem, match="are held for computers that are about to come in"):
                await join(str(one["link"]), "Bob")
            may_go_on.set()
            assert await first == "Ada"

    asyncio.run(run())
