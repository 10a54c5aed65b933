"""Nobody's machine is needed: members' computers stand in for a backbone that is gone, as their moderators say.

With POTLUCK_LONG=1 four volunteers train under three moderators, two desks are lost, each is started again, and the
founder's key is stolen; else the founder alone signs for a stand-in, and a helper renews there.
"""

import asyncio
import json
import shutil
import subprocess
import time
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import msgspec
import pytest

from core.api.snapshot import Snapshot
from core.authority.records import AuthorityRecords
from core.backbone.charter import Charter
from core.backbone.kept_pass import FILE, RECORDS, KeptGrant
from core.base.ids import PeerId
from core.net.identity.issuers import issuers_of
from core.net.identity.passes import signed_pass
from tests.process.swarm import CORE, Collaboration, Volunteer, collaboration, end, found, start
from tests.process.test_moderators import PEOPLE, agree, founder, handed_over, moderate
from tests.process.test_revocation import names

pytestmark = pytest.mark.process
ROLE = ("--stay",)
SOON_S = 240.0
"""The promise is a minute, which `seconds.txt` shows; other programs share the cores."""


class StandIn:
    """A backbone on a member's computer."""

    def __init__(self, swarm: Collaboration, on: Volunteer, name: str, *, program: Sequence[str] = CORE) -> None:
        self.charter = swarm.folder / f"stand-in {name}"
        words = ["backbone", "--stand-in", "--charter", str(self.charter), "--home", str(on.home.directory)]
        where = ["--bind", "127.0.0.1", "--host", "127.0.0.1", "--with-parent", "--json"]
        log = swarm.folder / f"{name}.stand-in.log"
        self.process = start([*words, *where], log, stdout=subprocess.PIPE, program=program)
        told = self._line()
        assert told["event"] == "stand_in"
        self.command = str(told["command"]).split()[2:-1]
        self.key = PeerId(bytes.fromhex(told["key"]))

    def _line(self) -> dict[str, str]:
        assert self.process.stdout is not None
        line: dict[str, str] = json.loads(self.process.stdout.readline())
        return line

    async def serves(self) -> str:
        """The link, once it lets people in."""
        return (await asyncio.to_thread(self._line))["link"]

    def lose(self) -> None:
        """Its machine burns."""
        self.process.kill()
        self.process.wait()
        end(self.process)
        shutil.rmtree(self.charter)


async def stand_in(
    swarm: Collaboration, on: Volunteer, name: str, *signers: Volunteer, program: Sequence[str] = CORE
) -> StandIn:
    """Bring up a backbone on a member's computer, and have moderators sign it: its owner first."""
    made = await asyncio.to_thread(partial(StandIn, swarm, on, name, program=program))
    await agree(await moderate(on, *made.command, f"{name}'s"), *signers)
    await made.serves()
    return made


def issuer_of(one: Volunteer, charter: Charter) -> PeerId | None:
    """Who has issued the pass that a volunteer keeps."""
    folder = one.home.state(charter.manifest.id.hex())
    records = AuthorityRecords(charter.manifest.authority_id, charter.manifest.id)
    records.learn((folder / RECORDS).read_bytes(), None)
    kept = msgspec.json.decode((folder / FILE).read_bytes(), type=KeptGrant)
    return signed_pass(kept.grant.certificate, issuers_of(records)).issuer


async def until_issued(people: dict[str, Volunteer], charter: Charter, by: set[PeerId]) -> None:
    async with asyncio.timeout(SOON_S):
        while not {issuer_of(one, charter) for one in people.values()} <= by:  # noqa: ASYNC110 - a file tells it
            await asyncio.sleep(0.2)


def _goes_on(news: Snapshot, epoch: int) -> bool:
    return news.epoch >= epoch and news.me.samples_pending > 0 and {*PEOPLE} <= names(news)


async def all_go_on(people: dict[str, Volunteer], epoch: int) -> int:
    """Wait until all see each other, and train; returns the epoch."""
    seen = await asyncio.gather(
        *(one.until(lambda news: _goes_on(news, epoch), timeout_s=SOON_S) for one in people.values())
    )
    return max(news.epoch for news in seen)


def test_member_renews_at_a_stand_in(tmp_path: Path) -> None:
    charter = found(tmp_path, target_samples=1_000_000)

    async def run() -> None:
        async with collaboration(charter, tmp_path) as swarm:
            people = {name: swarm.join(name, "--helper", "--stay") for name in ("anna", "ben")}
            for one in people.values():
                await one.until(lambda news: {*people} <= names(news))
            made = await asyncio.to_thread(StandIn, swarm, people["anna"], "anna")
            assert (await founder(charter, *made.command, "Anna's"))["done"]
            assert str(charter.manifest.id.hex()) in await made.serves()
            assert swarm.backbone is not None
            swarm.backbone.kill()
            swarm.backbone.wait()
            shutil.rmtree(charter.folder)
            swarm.volunteers.remove(people["ben"])
            people["ben"].kill()
            people["ben"] = swarm.join("ben", "--helper", "--stay")
            await until_issued({"ben": people["ben"]}, charter, {made.key})
            await people["ben"].until(lambda news: {*people} <= names(news))
            end(made.process)

    asyncio.run(run())


@pytest.mark.long
def test_members_replace_the_founders_machine_and_its_key(tmp_path: Path) -> None:
    charter = found(tmp_path, target_samples=512)
    took: dict[str, float] = {}

    async def run() -> None:
        async with collaboration(charter, tmp_path) as swarm:
            people = await handed_over(charter, swarm, *ROLE)
            anna, ben, cleo, eve = people.values()
            epoch = await all_go_on(people, 1)
            with ExitStack() as stack:

                def again(name: str) -> None:
                    swarm.volunteers.remove(people[name])
                    people[name].kill()
                    people[name] = swarm.join(name, *ROLE)

                async def timed(what: str, epoch: int) -> int:
                    began = time.monotonic()
                    epoch = await all_go_on(people, epoch)
                    took[what] = time.monotonic() - began
                    return epoch

                first = await stand_in(swarm, anna, "anna", ben)
                stack.callback(end, first.process)
                second = await stand_in(swarm, ben, "ben", cleo)
                # the founder's machine is gone
                assert swarm.backbone is not None
                swarm.backbone.kill()
                swarm.backbone.wait()
                shutil.rmtree(charter.folder)
                for name in PEOPLE:
                    again(name)
                    epoch = await timed(f"{name} again", epoch)
                await until_issued({"cleo": people["cleo"]}, charter, {first.key, second.key})
                # a second one goes, and two moderators bring a third from their own computers
                second.lose()
                third = await stand_in(swarm, people["cleo"], "cleo", people["anna"])
                stack.callback(end, third.process)
                issuers = {first.key, third.key}
                epoch = await timed("a new issuer", epoch)
                # the founder's key is in wrong hands
                eve = people.pop("eve")
                eve.kill()
                stolen = await moderate(people["anna"], "stolen", charter.manifest.authority)
                began = time.monotonic()
                await agree(stolen, people["ben"])
                await agree(await moderate(people["ben"], "stolen", "ben's"), people["cleo"])  # ben knows of the first
                await until_issued(people, charter, issuers)
                took["another pass for all"] = time.monotonic() - began
                for one in people.values():
                    await one.until(lambda news: {*people} <= names(news))
                (tmp_path / "seconds.txt").write_text(json.dumps(took))
                people["eve"] = swarm.join("eve", *ROLE)  # a member whose pass was the thief's, a day later
                await timed("who was away", epoch)
                await until_issued(people, charter, issuers)

    asyncio.run(run())
    (tmp_path / "seconds.txt").write_text(json.dumps(took))
