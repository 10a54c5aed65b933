"""Who is revoked is out: for every peer, within a minute, with the backbone or without it."""

import asyncio
import subprocess
from pathlib import Path
from random import SystemRandom

import pytest

from core.api.snapshot import Snapshot
from core.api.verdict import SHUT_OUT, VerdictCode
from core.backbone.charter import Charter, read_charter_records
from core.backbone.link import parse_link
from core.base.problems import NotTrusted
from core.control.client import ControlClient
from core.joining.join import Joining
from core.net.clock import Clock
from core.storage.identity import load_identity
from core.system.startup import EXIT_SHUT_OUT
from tests.process.net_people import Ask, Peer, Say, eventually, in_loop
from tests.process.swarm import CORE, ENVIRONMENT, collaboration, end, found

pytestmark = pytest.mark.process
HELPER = ("--helper", "--averaging-memory", "16")


def names(news: Snapshot) -> set[str]:
    return {peer.name for peer in news.peers}


def revoke(charter: Charter, *words: str) -> str:
    command = [*CORE, "revoke", *words, "--charter", str(charter.folder)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=ENVIRONMENT, timeout=60)
    return done.stdout + done.stderr


def test_revoked_member_is_refused_by_all_processes(tmp_path: Path) -> None:
    charter = found(tmp_path, target_samples=64)

    async def run() -> None:
        async with collaboration(charter, tmp_path) as swarm:
            ada, bob, eve = (swarm.join(name, *HELPER) for name in ("ada", "bob", "eve"))
            for one, others in ((ada, {"bob", "eve"}), (bob, {"ada", "eve"}), (eve, {"ada", "bob"})):
                await one.until(lambda news, others=others: names(news) >= others)
            assert "Nobody here is called" in await asyncio.to_thread(revoke, charter, "nobody")
            assert "cannot be shut out" in await asyncio.to_thread(revoke, charter, "Backbone")
            assert "eve is shut out" in await asyncio.to_thread(revoke, charter, "Eve")
            async with asyncio.timeout(60):
                for one, other in ((ada, "bob"), (bob, "ada")):
                    await one.until(lambda news, other=other: "eve" not in names(news) and other in names(news))
                assert await asyncio.to_thread(eve.process.wait) == EXIT_SHUT_OUT
            joining = Joining(
                link=parse_link(swarm.link),
                key=load_identity(eve.home.identity_file, None).keys,
                folder=tmp_path,
                blobs=tmp_path,
            )
            with pytest.raises(NotTrusted, match="shut this computer out"):
                await joining.join(username="eve", device="", now=Clock().now, random=SystemRandom())
            assert swarm.backbone is not None
            end(swarm.backbone)
            assert len(read_charter_records(charter).decisions.revoked) == 1
            assert "eve is let in again" in await asyncio.to_thread(revoke, charter, "eve", "--undo")
            swarm.start_backbone()
            swarm.join("eve", *HELPER)  # who was shut out starts Potluck again, and everybody hears her
            await ada.until(lambda news: names(news) >= {"bob", "eve"})

    asyncio.run(run())


def test_member_that_is_let_in_again_asks_without_a_restart(tmp_path: Path) -> None:
    charter = found(tmp_path, target_samples=1_000_000)

    async def run() -> None:
        async with collaboration(charter, tmp_path) as swarm:
            eve = swarm.join("eve", "--stay")
            await eve.until(lambda news: "Backbone" in names(news) and news.me.samples_pending > 0)
            seen: list[VerdictCode] = []

            def shut_out(news: Snapshot) -> bool:
                seen.append(news.verdict.code)
                return news.verdict.reason == SHUT_OUT

            revoking = asyncio.create_task(asyncio.to_thread(revoke, charter, "eve"))
            await eve.until(shut_out)
            await revoking
            assert set(seen) == {VerdictCode.CONTRIBUTING, VerdictCode.PROBLEM}, "one change, and no other before it"
            eve.kill()
            again = swarm.join("eve", *HELPER, "--stay")
            refused = await again.until(lambda news: news.verdict.reason == SHUT_OUT)
            assert refused.collaboration is not None
            assert refused.collaboration.name == charter.manifest.name
            await asyncio.to_thread(revoke, charter, "eve", "--undo")
            async with ControlClient.connect(again.home) as client:
                await client.call("try_now")
            await again.until(lambda news: "Backbone" in names(news))
            assert again.process.poll() is None

    asyncio.run(run())


@in_loop
async def test_revocation_ends_links_and_datagrams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.net.links.streams.HEARTBEAT_S", 0.2)
    async with Peer("anna") as anna, Peer("ben") as ben, Peer("eve") as eve:
        for other in (anna, eve):
            other.knows(ben)
            await other.ask(ben, "hello?")
            other.say(ben, Ask("here"))
        await eventually(lambda: len(ben.book.heard) == 2)
        ben.host.passes.revoked = frozenset({eve.id})
        await eve.book.until(lambda book: not eve.host.stats.links)
        eve.say(ben, Ask("a datagram"))
        eve.say(ben, Say("a stream"))
        await eventually(lambda: ben.trace["net.drop.proof"] and ben.trace["net.drop.handshake"])
        await anna.ask(ben, "still there?")
        assert len(ben.book.heard) == 2
