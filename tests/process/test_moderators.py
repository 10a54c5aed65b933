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
    """These sign a proposal one after the other, as soon as each has heard of it; then it holds."""
    for number, one in enumerate(signers):
        await sees(partial(moderate, one), lambda view: proposed["id"] in {each["id"] for each in view["proposals"]})
        signed = await moderate(one, "sign", proposed["id"])
        assert (signed["done"], signed["missing"]) == (number == len(signers) - 1, len(signers) - number - 1)


async def handed_over(charter: Charter, swarm: Collaboration) -> dict[str, Volunteer]:
    """Anna, Ben and Cleo moderate, two of them have to agree, and the founder's key has no voice any more."""
    people = {name: swarm.join(name, "--helper", "--stay") for name in PEOPLE}
    for one in people.values():
        await one.until(lambda news: {*PEOPLE} <= names(news))
    anna, ben, cleo, _ = people.values()
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
            await sees(partial(founder, charter), lambda view: len(view["moderators"]) == 3)
            assert (await founder(charter, "ban", "anna"))["code"] == "not_trusted"
            await agree(await moderate(ben, "close"), anna)
            await sees(partial(founder, charter), lambda view: view["newcomers"] == "closed")
            late = swarm.join("late", "--helper", "--stay")
            refused = await late.until(lambda news: news.verdict.code is VerdictCode.PROBLEM, timeout_s=60)
            assert "nobody new" in str(refused.verdict.args["message"])
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

    asyncio.run(run())
    assert read_charter_records(charter).roles.number == 4
