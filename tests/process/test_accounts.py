"""One person with several computers, with real processes: one row on the board, and one ban for all of them."""

import asyncio
import contextlib
import io
import json
from pathlib import Path
from typing import Any

import pytest

from core.__main__ import main
from core.api.snapshot import Snapshot
from core.api.verdict import SHUT_OUT
from core.authority.changes import banned, new_decisions
from core.backbone.admission_log import AdmissionLog
from core.backbone.charter import keep_document, read_charter_records
from core.net.clock import Clock
from core.storage.identity import load_identity
from tests.process.swarm import Collaboration, Volunteer, collaboration, found
from tests.process.test_revocation import names

pytestmark = pytest.mark.process


def said(*words: str) -> dict[str, Any]:
    """What a command answers, as a script reads it."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        main([*words, "--json"])
    answer: dict[str, Any] = json.loads(out.getvalue().splitlines()[-1])
    return answer


async def account(who: Volunteer, *words: str) -> dict[str, Any]:
    return await asyncio.to_thread(said, "account", *words, "--home", str(who.home.directory))


async def joined_by(swarm: Collaboration, who: Volunteer, home: str, *extra: str) -> Volunteer:
    """A further computer comes in by a link that `who` asks for."""
    swarm.link, link = (await account(who, "add"))["link"], swarm.link
    try:
        return swarm.join(home, "--stay", *extra)
    finally:
        swarm.link = link


def gave(news: Snapshot, name: str) -> int:
    return sum(row.samples for row in news.leaderboard if row.name == name)


def test_person_with_two_computers_has_one_row_and_one_ban(tmp_path: Path) -> None:
    charter = found(tmp_path, target_samples=64)

    async def run() -> None:
        async with collaboration(charter, tmp_path) as swarm:
            ben, eve = swarm.join("ben", "--stay"), swarm.join("eve", "--stay")
            for one in (ben, eve):
                await one.until(lambda news: names(news) >= {"ben", "eve"})
            laptop = await joined_by(swarm, eve, "laptop")
            await laptop.until(lambda news: news.me.name == "eve")
            keys = {load_identity(one.home.identity_file, None).keys.peer_id.hex() for one in (eve, laptop)}
            log = AdmissionLog(charter.folder)
            assert {key.hex() for key in log.keys_of("eve")} == keys
            await ben.until(lambda news: {row.name for row in news.leaderboard if row.samples} >= {"ben", "eve"})
            await laptop.until(lambda news: news.me.samples > 0 and gave(news, "eve") > news.me.samples)
            news = await ben.snapshot()
            assert [row.name for row in news.leaderboard].count("eve") == 1
            listing = await asyncio.to_thread(said, "leaderboard", "--home", str(ben.home.directory))
            assert [row["name"] for row in listing["leaderboard"]].count("eve") == 1
            ban = await asyncio.to_thread(said, "moderate", "ban", "eve", "--charter", str(charter.folder))
            assert ban["done"]
            async with asyncio.timeout(60):
                for one in (eve, laptop):
                    await one.until(lambda news: news.verdict.reason == SHUT_OUT)
                await ben.until(lambda news: "eve" not in names(news))
            assert {key.hex() for key in read_charter_records(charter).decisions.revoked} == keys

    asyncio.run(run())


def test_third_computer_of_a_banned_person_is_refused(tmp_path: Path) -> None:
    charter = found(tmp_path, target_samples=1_000_000)

    async def run() -> None:
        async with collaboration(charter, tmp_path) as swarm:
            helper = ("--helper", "--averaging-memory", "16")
            ben, eve = swarm.join("ben", "--stay", *helper), swarm.join("eve", "--stay", *helper)
            for one in (ben, eve):
                await one.until(lambda news: names(news) >= {"ben", "eve"})
            laptop = await joined_by(swarm, eve, "laptop", *helper)
            await ben.until(lambda news: [peer.name for peer in news.peers].count("eve") == 2)
            link = (await account(laptop, "add"))["link"]
            records, key = read_charter_records(charter), load_identity(eve.home.identity_file, None).keys.peer_id
            first = banned(
                records.decisions, [key], Clock().now()
            )  # as somebody says it who knows no other key of hers
            keep_document(charter, records, new_decisions(records, charter.authority, Clock().now(), **first))
            for one in (eve, laptop):
                await one.until(lambda news: news.verdict.reason == SHUT_OUT, timeout_s=60)
            await ben.until(lambda news: "eve" not in names(news), timeout_s=60)
            swarm.link = link
            third = swarm.join("third", "--stay", *helper)
            await third.until(lambda news: news.verdict.reason == SHUT_OUT, timeout_s=60)
            assert len(AdmissionLog(charter.folder).admitted) == 4, "the backbone, Ben, and two of Eve's"

    asyncio.run(run())


def test_ended_computer_stops_and_the_others_go_on(tmp_path: Path) -> None:
    charter = found(tmp_path, target_samples=1_000_000)

    async def run() -> None:
        async with collaboration(charter, tmp_path) as swarm:
            helper = ("--helper", "--averaging-memory", "16")
            ada = swarm.join("ada", "--stay", *helper)
            await ada.until(lambda news: "Backbone" in names(news))
            laptop = await joined_by(swarm, ada, "laptop", *helper)
            await laptop.until(lambda news: "Backbone" in names(news))
            listed = await account(laptop)
            assert [(one["is_me"], one["ended"]) for one in listed["devices"]] == [(False, False), (True, False)]
            assert (await account(laptop, "end", "nothing"))["code"] == "bad_input"
            ended = await account(ada, "end", listed["devices"][1]["key"][:16])
            assert (ended["told"], [one["ended"] for one in ended["devices"]]) == (True, [False, True])
            await laptop.until(lambda news: news.verdict.reason == SHUT_OUT, timeout_s=60)
            assert (await ada.snapshot()).verdict.reason != SHUT_OUT
            assert len((await account(ada))["devices"]) == 2

    asyncio.run(run())
