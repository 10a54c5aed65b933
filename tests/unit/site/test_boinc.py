"""The statistics export has the elements, order and encoding of BOINC's, and names only those who said yes.

The reader here is `xml.etree`, and knows of BOINC only what its wiki page XmlStats and its program `db_dump` say.
"""

import gzip
import re
from xml.etree import ElementTree as ET

import pytest

from core.api.site_view import SitePerson, SiteView
from core.site.boinc import FILES, Stats
from core.site.teams import Choices
from tests.unit.site.views import ADA, AT, CHOICES, EVE, ZOE, view

USER = ["id", "name", "create_time", "total_credit", "expavg_credit", "expavg_time", "cpid", "teamid"]
TEAM = ["id", "type", "name", "userid", "total_credit", "expavg_credit", "expavg_time", "founder_name", "create_time"]
HOST = ["id", "userid", "total_credit", "expavg_credit", "expavg_time", "p_vendor", "p_model", "os_name", "os_version"]


def files(shown: SiteView | None = None, choices: Choices = CHOICES) -> dict[str, ET.Element]:
    made = Stats(shown or view(), choices, {ADA: 2.5, ZOE: 1.0}, AT).files()
    assert tuple(made) == FILES
    return {
        name.partition(".")[0]: ET.fromstring(gzip.decompress(data) if name.endswith(".gz") else data)
        for name, data in made.items()
    }


def text(element: ET.Element, name: str) -> str:
    """A text whose bytes stand as references, as BOINC's readers undo them."""
    return (element.findtext(name) or "").encode("latin-1").decode()


def test_users_said_yes_and_are_not_shut_out() -> None:
    users = files()["user"]
    assert users.tag == "users"
    assert [[part.tag for part in one] for one in users] == [USER]
    (ada,) = users
    assert (text(ada, "name"), ada.findtext("cpid"), ada.findtext("teamid")) == ("Ada", ADA.hex(), "3")
    numbers = [ada.findtext(name) for name in ("total_credit", "expavg_credit", "expavg_time")]
    assert numbers == ["900.000000", "2.500000", f"{AT:f}"]


def test_teams_come_to_their_counted_members() -> None:
    (team,) = files()["team"]
    assert [part.tag for part in team] == [*TEAM, "country"]
    assert (text(team, "name"), text(team, "founder_name")) == ("Bücherwürmer", "Ada")
    assert [team.findtext(name) for name in ("id", "userid", "total_credit")] == ["3", "1", "900.000000"]
    silent = Choices(CHOICES.teams, CHOICES.team_of, {})
    (team,) = files(choices=silent)["team"]
    assert (team.find("founder_name"), team.findtext("userid")) == (None, "0")
    assert not len(files(choices=Choices(CHOICES.teams, {EVE: 3, bytes(16): 3}, {}))["team"])


def test_hosts_have_numbers_and_no_names() -> None:
    hosts = files()["host"]
    assert [[part.tag for part in one] for one in hosts] == [[*HOST, "host_cpid"]] * 2
    assert [one.findtext("total_credit") for one in hosts] == ["600.000000", "300.000000"]
    assert [(one.findtext("id"), one.findtext("userid")) for one in hosts] == [("10", "1"), ("12", "1")]
    assert all(re.fullmatch("[0-9a-f]{32}", one.findtext("host_cpid") or "") for one in hosts)
    assert len({one.findtext("host_cpid") for one in hosts}) == 2


def test_tables_count_everybody() -> None:
    tables = files()["tables"]
    counts = [tables.findtext(name) for name in ("update_time", "nusers_total", "nteams_total", "nhosts_total")]
    assert counts == [f"{AT:.0f}", "2", "1", "3"]
    assert tables.findtext("total_credit") == "1000.000000"
    assert text(tables, "applications/application/name") == "Three languages"


@pytest.mark.parametrize("name", ["DistributedComputing@Płock", "</name><x>", "&lt;", "\x01a\x1b", "ক", "🥘", "'\"]]x"])
def test_names_are_escaped_as_boinc_has_them(name: str) -> None:
    people = (SitePerson(1, name, 9, 1, 0, ADA, (9,)),)
    raw = gzip.decompress(Stats(view(people=people), CHOICES, {}, AT).files()["user.gz"])
    assert raw.isascii()
    assert raw.startswith(b'<?xml version="1.0" encoding="iso-8859-1"?>\n<users>\n')
    (user,) = ET.fromstring(raw)
    assert text(user, "name") == re.sub(r"[\x00-\x1f]", "", name)
    if "ł" in name:  # the example of BOINC's wiki
        assert b"@P&#197;&#130;ock" in raw


def test_export_of_nobody_is_empty_but_whole() -> None:
    made = files(view(people=(), samples=0), Choices())
    assert [len(made[name]) for name in ("user", "team", "host")] == [0, 0, 0]
