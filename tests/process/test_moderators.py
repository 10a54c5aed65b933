"""Moderators decide together with real processes, and no backbone collects their signatures."""

import asyncio
import contextlib
import io
import json
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

from core.__main__ import main
from core.api.moderation import MOVED
from core.api.verdict import SHUT_OUT, VerdictCode
from core.backbone.charter import Charter, read_charter_records
from tests.process.swarm import Collaboration, Volunteer, collaboration, found
from tests.process.test_revocation import names

PEOPLE = ("anna", "ben", "cleo", "eve")


def said(*words: str) -> dict[str, Any]:
    """What `potluck moderate` answers, as a script reads it."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        main(["moderate", *words, "--json"])
    answer: dict[str, Any] = json.loads(out.getvalue().splitlines()[-1])
    return answer


async def moderate(who: Volunteer, *words: str) -> dict[str, Any]:
    return await asyncio.to_thread(said, *words, "--home", str(who.home.directory))


async def founder(charter: Charter, *words: str) -> dict[str, Any]:
    return await asyncio.to_thread(said, *words, "--charter", str(charter.folder))


async def sees(look: Callable[[], Awaitable[Any]], reached: Callable[[Any], bool]) -> Any:
    view = None
    for _ in range(300):
        if reached(view := await look()):
            return view
        await asyncio.sleep(0.2)
    raise AssertionError(f"the last answer was {view}")


async def agree(proposed: dict[str, Any], *signers: Volunteer) -> None:
    """These sign a proposal one after the other, as soon as each has heard of those before; then it holds."""
    for number, one in enumerate(signers):

        def has_others(view: dict[str, Any], count: int = number + 1) -> bool:
            return any(each["id"] == proposed["id"] and len(each["signed"]) >= count for each in view["proposals"])

        await sees(partial(moderate, one), has_others)
        signed = await moderate(one, "sign", proposed["id"])
        assert (signed["done"], signed["missing"]) == (number == len(signers) - 1, len(signers) - number - 1)


async def handed_over(charter: Charter, swarm: Collaboration, *role: str) -> dict[str, Volunteer]:
    """They join, and Anna, Ben and Cleo come to moderate."""
    return await hand_over(charter, {name: swarm.join(name, *(role or ("--helper", "--stay"))) for name in PEOPLE})


async def hand_over(charter: Charter, people: dict[str, Volunteer]) -> dict[str, Volunteer]:
    """Anna, Ben and Cleo moderate, two of them have to agree, and the founder's key has no voice any more."""
    for one in people.values():
        await one.until(lambda news: {*people} <= names(news))
    anna, ben, cleo, *_ = people.values()
    assert (await moderate(anna, "ban", "eve"))["code"] == "not_trusted"
    assert (await founder(charter, "add", "anna"))["done"]
    await agree(await founder(charter, "add", "ben"), anna)
    await agree(await moderate(anna, "add", "cleo"), ben, cleo)
    await sees(partial(moderate, anna), lambda view: len(view["moderators"]) == 4)
    await agree(await moderate(anna, "remove", "the founder"), ben, cleo)
    for one in people.values():
        view = await sees(partial(moderate, one), lambda view: len(view["moderators"]) == 3)
        assert ([each["name"] for each in view["moderators"]], view["threshold"]) == (["anna", "ben", "cleo"], 2)
    return people


def test_two_of_three_decide_without_founder_and_backbone(tmp_path: Path) -> None:
    charter = found(tmp_path, target_samples=1_000_000)

    async def run() -> None:
        async with collaboration(charter, tmp_path) as swarm:
            people = await handed_over(charter, swarm)
            anna, ben, cleo, eve = people.values()
            seen = {one["name"]: one for one in (await moderate(anna, "people"))["people"]}
            assert seen.keys() == {*PEOPLE}
            assert all(one["here"] and one["parts"] is None for one in seen.values()), "nobody has given anything"
            await sees(partial(founder, charter), lambda view: len(view["moderators"]) == 3)
            assert (await founder(charter, "ban", "anna"))["code"] == "not_trusted"
            await agree(await moderate(ben, "close"), anna)
            await sees(partial(founder, charter), lambda view: view["newcomers"] == "closed")
            late = swarm.join("late", "--helper", "--stay")
            refused = await late.until(lambda news: news.verdict.code is VerdictCode.PROBLEM, timeout_s=60)
            assert "nobody new" in str(refused.verdict.args["message"])
            await sees(partial(moderate, anna, "audit"), lambda line: line.get("words") == "lets nobody new in")
            assert swarm.backbone is not None
            swarm.backbone.kill()
            assert (await moderate(anna, "hold", "ben"))["code"] == "bad_input"
            ban = await moderate(anna, "ban", "eve", "--words", "noise")
            assert (ban["done"], ban["missing"]) == (False, 1)
            await agree(ban, cleo)
            await eve.until(lambda news: news.verdict.reason == SHUT_OUT, timeout_s=60)
            for one in (anna, ben, cleo):
                view = await sees(partial(moderate, one), lambda view: view["banned"] == 1)
                assert not view["proposals"]
            link = f"potluck://127.0.0.1:9/{'ab' * 32}#later"
            await agree(await moderate(anna, "successor", link, "--words", "It was good."), ben)
            ended = await cleo.until(lambda news: news.verdict.reason == MOVED)
            assert ended.verdict.args["link"] == link
            assert "Thank you for what you gave. It was good." in ended.sentence
            await agree(await moderate(ben, "resume"), cleo)
            await cleo.until(lambda news: news.verdict.code is VerdictCode.CONTRIBUTING)
            await moderate(ben, "drill")
            drill = (await sees(partial(moderate, anna), lambda view: view["drill"] is not None))["drill"]
            assert (drill["by"], drill["missing"], drill["waits_here"]) == ("ben", ["anna", "cleo"], True)
            await moderate(anna, "drill")
            await sees(partial(moderate, ben), lambda view: view["drill"]["missing"] == ["cleo"])

    asyncio.run(run())
    assert read_charter_records(charter).roles.number == 4
