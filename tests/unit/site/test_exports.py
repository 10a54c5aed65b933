"""Numbers for programs are those of the view, and hurt no table program."""

import csv
import io
import re

import msgspec
import pytest

from core.api.site_view import SitePerson
from core.site import exports
from core.site.pages import PageMatter, Pages
from tests.unit.site.views import ADA, CHOICES, FILE, view

NAMED = {"account": ADA.hex(), "number": "3"}
"""What an address can name."""


def read(path: str, shown=None) -> str:
    made = Pages().made(path, PageMatter(shown or view(), {FILE: "ab" * 32}, {200: 3, 404: 1}, choices=CHOICES))
    assert made is not None
    return made.body.decode()


def test_json_says_the_numbers_of_the_view():
    api = {name: msgspec.json.decode(read(f"/api/v1/{name}")) for name in ("collaboration", "board", "curve", "days")}
    assert api["collaboration"]["moderators"] == ["Ada", "Ben", "Cleo"]
    assert [row["share"] for row in api["board"]] == [0.9, 0.099, 0.001]
    assert api["curve"][-1] == {"epoch": 240, "loss_training": 2.0, "loss_heldout": 2.5}
    assert sum(day["samples"] for day in api["days"]) == 1000
    (copy,) = msgspec.json.decode(read("/api/v1/copies"))
    assert (copy["sha256"], copy["path"], copy["loss"]) == ("ab" * 32, "/model/4", 2.5)
    (notice,) = msgspec.json.decode(read("/api/v1/notices"))
    assert notice["words"] == "Back on Monday"


def test_tables_have_a_row_for_each():
    board = list(csv.DictReader(io.StringIO(read("/api/v1/board.csv"))))
    assert [(row["name"], row["samples"]) for row in board] == [("Ada", "900"), ("", "99"), ("Zoë", "1")]
    days = list(csv.DictReader(io.StringIO(read("/api/v1/days.csv"))))
    assert [(row["day"], row["computer_hours"]) for row in days] == [("2026-11-24", "40.00"), ("2026-11-26", "60.00")]


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", 'a","b', "a\nb"])
def test_table_has_no_formula_of_a_stranger(name):
    ((_, cell, *_),) = list(
        csv.reader(io.StringIO(read("/api/v1/board.csv", view(people=(SitePerson(1, name, 1, 1, 0),)))))
    )[1:]
    assert cell.lstrip("'") == name
    assert not cell.startswith(("=", "+", "-", "@", "\t"))


def test_ten_thousand_people_are_exported():
    people = tuple(SitePerson(n + 1, f"Person {n}", 10_000 - n, 1, 0) for n in range(10_000))
    shown = view(people=people)
    assert len(msgspec.json.decode(read("/api/v1/board", shown))) == 10_000
    assert len(read("/api/v1/board.csv", shown).splitlines()) == 10_001


def test_description_names_every_answer():
    described = msgspec.json.decode(read("/openapi.json"))
    served = [path for path in Pages().paths if path.startswith(exports.API)]
    served += [f"{several}/{{}}" for several in Pages().several if several.startswith(exports.API)]
    assert sorted(re.sub("{.*}", "{}", path) for path in described["paths"]) == sorted(served)
    text = read("/openapi.json")
    for name in ("PublicCollaboration", "BoardPerson", "CopyOffer", "SiteDay", "SiteNotice", "CurvePoint"):
        assert name in described["components"]["schemas"]
        assert f'"#/components/schemas/{name}"' in text


def test_each_described_answer_is_served_as_described():
    described = msgspec.json.decode(read("/openapi.json"))
    for path, what in described["paths"].items():
        made = what["get"]
        names = {part["name"]: NAMED[part["name"]] for part in made["parameters"]}
        text = read(path.format(**names))
        (kind,) = made["responses"]["200"]["content"]
        assert (kind == "application/json") == text.startswith(("{", "[")), path
        assert ("404" in made["responses"]) == bool(names)


def test_metrics_are_prometheus_text():
    lines = read("/metrics").splitlines()
    values = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    assert values["potluck_computers"] == "11"
    assert values["potluck_heldout_loss"] == "2.5"
    assert values['potluck_site_answers_total{status="404"}'] == "1"
    named = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert {name.partition("{")[0] for name in values} == set(named)
    assert "heldout" not in read("/metrics", view(curve=()))
