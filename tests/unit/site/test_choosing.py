"""What people choose who have signed in, and the page on which they do."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from core.site import team_pages, teams
from core.site.database import Database, database_url
from core.site.pages import PageMatter, Pages
from core.site.team_pages import BURST, Choosing, choice_page
from core.site.teams import TeamError, Teams
from tests.unit.site.test_database import using
from tests.unit.site.test_pages import Outline
from tests.unit.site.views import ADA, EVE, ZOE, view

HOSTILE = "</option><script>"


def walk(folder: Path, test: Callable[[Choosing, Teams], Awaitable[None]]) -> None:
    async def run(here: Database) -> None:
        kept = Teams(here)
        await test(Choosing(kept), kept)

    using(database_url("", folder), run)


def page(chosen: Choosing, kept: Teams, account: bytes, problem: str = "", name: str = "Ada") -> str:
    people = (msgspec.structs.replace(view().people[0], name=name), *view().people[1:])
    shown = PageMatter(view(people=people), {}, {}, choices=kept.now)
    return choice_page(Pages(), shown, chosen.seen(account, shown.view), "to-ken", problem).body.decode()


def test_each_form_does_what_it_says(tmp_path: Path) -> None:
    async def test(chosen: Choosing, kept: Teams) -> None:
        await chosen.act("found", {"name": " Readers "}, ADA, view())
        await chosen.act("join", {"number": "1"}, ZOE, view())
        await chosen.act("hand-over", {"to": ZOE.hex()}, ADA, view())
        assert kept.now.teams[1].founder == ZOE
        await chosen.act("leave", {}, ADA, view())
        await chosen.act("export", {"wanted": "yes"}, ADA, view())
        assert (kept.now.team_of, list(kept.now.exported)) == ({ZOE: 1}, [ADA])
        await chosen.act("export", {}, ADA, view())
        assert not kept.now.exported

    walk(tmp_path, test)


def test_nobody_founds_a_team_before_the_first_sample(tmp_path: Path) -> None:
    async def test(chosen: Choosing, kept: Teams) -> None:
        for account in (bytes(16), EVE):  # EVE is shut out
            with pytest.raises(TeamError, match=teams.NOT_YET):
                await chosen.act("found", {"name": "Spam"}, account, view())
        assert "once samples of yours" in page(chosen, kept, EVE)

    walk(tmp_path, test)


@pytest.mark.parametrize(
    ("act", "fields"),
    [
        ("join", {"number": "-1"}),
        ("join", {"number": "9" * 5000}),
        ("join", {"number": "٣"}),
        ("join", {}),
        ("hand-over", {"to": "zz"}),
        ("hand-over", {"to": "00" * 5000}),
        ("hand-over", {}),
        ("found", {}),
        ("found", {"name": HOSTILE}),
        ("leave", {}),
    ],
)
def test_odd_form_changes_nothing(tmp_path: Path, act: str, fields: dict[str, str]) -> None:
    async def test(chosen: Choosing, kept: Teams) -> None:
        with pytest.raises(TeamError):
            await chosen.act(act, fields, ADA, view())
        assert not (await kept.read()).team_of

    walk(tmp_path, test)


def test_changes_of_one_person_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(team_pages.time, "monotonic", lambda: 1.0)

    async def test(chosen: Choosing, kept: Teams) -> None:
        for _ in range(BURST):
            await chosen.act("export", {"wanted": "yes"}, ADA, view())
        with pytest.raises(TeamError, match="many changes"):
            await chosen.act("export", {}, ADA, view())
        await chosen.act("export", {"wanted": "yes"}, ZOE, view())
        assert ADA in kept.now.exported

    walk(tmp_path, test)


def test_page_offers_what_can_be_done(tmp_path: Path) -> None:
    async def test(chosen: Choosing, kept: Teams) -> None:
        def forms(text: str) -> list[str | None]:
            outline = Outline(text)
            assert {one["value"] for one in outline.all("input") if one.get("name") == "token"} == {"to-ken"}
            return [form["action"] for form in outline.all("form")]

        assert forms(page(chosen, kept, ADA)) == ["/me/found", "/me/export"]
        await chosen.act("found", {"name": "Readers"}, ADA, view())
        assert forms(page(chosen, kept, ADA)) == ["/me/leave", "/me/export"]
        assert forms(page(chosen, kept, ZOE)) == ["/me/join", "/me/found", "/me/export"]
        await chosen.act("join", {"number": "1"}, ZOE, view())
        assert forms(page(chosen, kept, ADA)) == ["/me/hand-over", "/me/leave", "/me/export"]
        text = page(chosen, kept, ZOE, problem=HOSTILE, name=HOSTILE)
        assert HOSTILE not in text
        assert "Your samples leave with you" in text
        nobody = choice_page(Pages(), PageMatter(view(), {}, {}), None, "to-ken")
        assert b"once a computer of yours" in nobody.body

    walk(tmp_path, test)
