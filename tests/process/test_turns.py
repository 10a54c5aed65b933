"""Several collaborations, one at a time by priority: real backbones, a real engine with its worker, short patience."""

import asyncio
import contextlib
import shutil
from pathlib import Path

import msgspec
import pytest

from core.api.snapshot import Activity, Snapshot
from core.api.turns import WhyNot
from core.api.verdict import VerdictCode, sentence
from core.backbone import charter as charters
from core.backbone.charter import Charter
from core.backbone.link import parse_link
from core.base.manifest import PAPER_LAMB
from core.control.client import ControlClient
from core.engine.remembered.collaborations import Collaborations
from core.storage.paths import Home
from tests.process.swarm import LOOPBACK, Collaboration, Volunteer, collaboration, end, found, start
from tests.process.test_collaborations import potluck
from tests.process.test_revocation import revoke

pytestmark = pytest.mark.process

AFTER_S = 3.0
ANYWHERE = ("--bind", "0.0.0.0")
"""Where an engine listens that has to find out whether others hear it."""
SHORT = {**PAPER_LAMB, "learning_rate": 0.01, "warmup_epochs": 1, "total_epochs": 2, "schedule": "cosine"}


def beside(first: Charter, folder: Path) -> Charter:
    """Another collaboration with the same task and text."""
    shutil.copytree(first.folder / "blobs", folder / "charter" / "blobs")
    authority = charters.new_authority()
    manifest = msgspec.structs.replace(first.manifest, name="Second", authority=authority.peer_id.hex())
    return charters.found(folder / "charter", manifest, authority)


def an_engine(folder: Path, allowed: tuple[str, ...], *collaborations: Collaboration) -> Volunteer:
    """An engine that has joined the collaborations, the first of which comes first."""
    home = Home(folder / "ada")
    home.create()
    for each in reversed(collaborations):
        Collaborations(home).keep(parse_link(each.link), (each.charter.folder / "manifest.json").read_bytes())
    words = ["engine", "--home", str(home.directory), "--patience", "3", *LOOPBACK, "--port", "0", *allowed]
    return Volunteer(home, start([*words, "--with-parent"], folder / "ada.log"))


def trains_in(name: str, news: Snapshot) -> bool:
    return news.collaboration is not None and news.collaboration.name == name and news.activity is Activity.TRAINING


async def notices(ada: Volunteer) -> list[tuple[str, str]]:
    async with ControlClient.connect(ada.home) as client:
        return [(each.code, each.text) for each in await client.notices() if each.code.startswith("turns.")]


@pytest.mark.long
def test_next_collaboration_is_served_while_first_is_away(tmp_path: Path) -> None:
    first = found(tmp_path / "a", target_samples=64, name="First")
    second = beside(first, tmp_path / "b")

    async def run() -> None:
        async with collaboration(second, tmp_path / "b") as other, collaboration(first, tmp_path / "a") as one:
            assert one.backbone is not None
            one.backbone.kill()
            await asyncio.to_thread(end, one.backbone)
            ada = an_engine(tmp_path, one.allowed, one, other)
            other.volunteers.append(ada)
            news = await ada.until(lambda news: trains_in("Second", news))
            assert [(each.name, each.why) for each in news.passed_over] == [("First", WhyNot.UNREACHABLE)]
            _, rows, _ = await asyncio.to_thread(potluck, "collaborations", "--json", "--home", ada.home.directory)
            assert [(row["name"], row["served"], row["why_not"]) for row in rows] == [
                ("First", False, "unreachable"),
                ("Second", True, None),
            ]
            one.start_backbone()
            back = await ada.until(lambda news: trains_in("First", news))
            assert (back.pid, back.passed_over) == (news.pid, ())
            assert await notices(ada) == [
                ("turns.unreachable", "First cannot be reached; Potluck goes on with Second."),
                ("turns.back", "First can be reached again; Potluck goes back to it from Second."),
            ]
            code, told, _ = await asyncio.to_thread(potluck, "choose", "Second", "--json", "--home", ada.home.directory)
            assert (code, told[-1]["event"], told[-1]["running"]) == (0, "chosen", True)
            await ada.until(lambda news: trains_in("Second", news) and not news.passed_over)

    asyncio.run(run())


@pytest.mark.long
def test_next_collaboration_is_served_after_the_first_ends(tmp_path: Path) -> None:
    first = found(tmp_path / "a", target_samples=64, name="First", optimizer=SHORT)
    second = beside(first, tmp_path / "b")

    async def run() -> None:
        async with collaboration(second, tmp_path / "b") as other, collaboration(first, tmp_path / "a") as one:
            ada = an_engine(tmp_path, one.allowed, one, other)
            other.volunteers.append(ada)
            news = await ada.until(lambda news: trains_in("Second", news))
            assert [(each.name, each.why) for each in news.passed_over] == [("First", WhyNot.ENDED)]
            last = await ada.until(lambda news: news.activity is Activity.FINISHED)
            assert last.collaboration is not None
            assert last.collaboration.name == "Second"

    asyncio.run(run())


@pytest.mark.long
def test_next_collaboration_is_served_where_the_first_refuses(tmp_path: Path) -> None:
    first = found(tmp_path / "a", target_samples=64, name="First")
    second = beside(first, tmp_path / "b")

    async def run() -> None:
        async with collaboration(second, tmp_path / "b") as other, collaboration(first, tmp_path / "a") as one:
            link = parse_link(one.link)
            one.link = str(type(link)(link.host, link.port, link.manifest_id, "0" * len(link.invite)))
            ada = an_engine(tmp_path, one.allowed, one, other)
            other.volunteers.append(ada)
            news = await ada.until(lambda news: trains_in("Second", news))
            assert [(each.name, each.why) for each in news.passed_over] == [("First", WhyNot.REFUSED)]
            ((code, said),) = await notices(ada)
            assert code == "turns.refused"
            assert "This invitation is not valid" in said

    asyncio.run(run())


async def verdicts_of(ada: Volunteer, said: list[tuple[str, str]]) -> None:
    """Note each verdict of an engine with its sentence; samples and epochs that run on are no news."""
    async with ControlClient.connect(ada.home) as client:
        async for news in client.notifications():
            if isinstance(news, Snapshot) and (not said or said[-1][0] != news.verdict.code):
                said.append((news.verdict.code, sentence(news.verdict)))


@pytest.mark.long
def test_a_revoked_member_goes_on_to_the_next_collaboration(tmp_path: Path) -> None:
    first = found(tmp_path / "a", target_samples=64, name="First")
    second = beside(first, tmp_path / "b")

    async def run() -> None:
        async with contextlib.AsyncExitStack() as stack:
            other, one = [
                await stack.enter_async_context(collaboration(each, each.folder.parent, *ANYWHERE))
                for each in (second, first)
            ]
            ada = an_engine(tmp_path, ("--stay", *one.allowed, *ANYWHERE), one, other)
            other.volunteers.append(ada)
            news = await ada.until(lambda news: trains_in("First", news) and len(news.peers) > 1)
            assert "is shut out" in await asyncio.to_thread(revoke, first, news.me.name)
            news = await ada.until(lambda news: trains_in("Second", news) and len(news.peers) > 1)
            assert [(each.name, each.why) for each in news.passed_over] == [("First", WhyNot.REFUSED)]
            said: list[tuple[str, str]] = []
            following = asyncio.ensure_future(verdicts_of(ada, said))
            assert "is shut out" in await asyncio.to_thread(revoke, second, news.me.name)
            await ada.until(lambda news: news.problem is not None)
            await ada.until(lambda news: news.me.worker_pid is None)
            await asyncio.sleep(AFTER_S)
            following.cancel()
            assert said[1:] == [(VerdictCode.PROBLEM, "The organiser has shut this computer out of the collaboration.")]
            assert said[0][0] is VerdictCode.CONTRIBUTING
            code, (status,), _ = await asyncio.to_thread(potluck, "status", "--json", "--home", ada.home.directory)
            assert (code, status["code"], status["sentence"]) == (4, *said[1])
            async with ControlClient.connect(ada.home) as client:
                (told,) = [each.text for each in await client.notices() if each.code == "engine.failed"]
            assert told.startswith(said[1][1])
            refusals = [each.refusal for each in Collaborations(ada.home).all()]
            assert all(each is not None and "shut this computer out" in each.message for each in refusals)
            for name in ("Second", "First"):
                code, _, _ = await asyncio.to_thread(potluck, "leave", name, "--json", "--home", ada.home.directory)
                assert code == 0
                if name == "Second":  # the engine began anew with the other one
                    news = await ada.until(lambda news: not news.collaboration and news.problem is not None)
                    assert (news.verdict.code, sentence(news.verdict)) == said[1]
            assert await asyncio.to_thread(ada.process.wait, 30) == 0

    asyncio.run(run())
