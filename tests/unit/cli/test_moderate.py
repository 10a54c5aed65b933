"""`potluck moderate` at a charter."""

import asyncio
import json
from pathlib import Path

import pytest

from core.__main__ import main
from core.authority.changes import new_holds
from core.authority.holds import HeldPerson
from core.backbone.admission_log import AdmissionLog, Newcomer
from core.backbone.charter import Charter, merged_records, read_charter_records, revoked_keys
from core.backbone.revocations import Revocations
from core.net.clock import Clock
from tests.process.swarm import found
from tests.unit.net.people import NOW, id_of, keys

EVE = id_of("eve")


@pytest.fixture
def charter(tmp_path: Path) -> Charter:
    return found(tmp_path, target_samples=64)


@pytest.fixture
def folder(charter: Charter) -> Path:
    log = AdmissionLog(charter.folder)
    for name in ("eve", "ada", "bob"):
        log.enter(Newcomer(id_of(name), name), invitation="", now=NOW)
    return charter.folder


def moderate(folder: Path, *words: str) -> int:
    return main(["moderate", *words, "--charter", str(folder)])


def test_founder_decides_and_sees_it(charter, folder, capsys):
    assert moderate(folder, "ban", "eve", "--words", "noise") == 0
    assert "It holds" in capsys.readouterr().out
    assert read_charter_records(charter).decisions.words == "noise"
    assert EVE in revoked_keys(charter)
    assert moderate(folder) == 0
    assert capsys.readouterr().out.splitlines()[0] == "1 moderator.  Each of them decides alone."
    assert moderate(folder, "pardon", "eve") == 0
    assert EVE not in revoked_keys(charter)


def test_log_outlives_the_list(charter, folder):
    moderate(folder, "ban", "eve")
    assert EVE in Revocations(folder).keys
    moderate(folder, "pardon", "eve")
    assert EVE not in Revocations(folder).keys


def test_proposal_names_the_command_that_agrees(folder, capsys):
    moderate(folder, "add", "ada")
    capsys.readouterr()
    assert moderate(folder, "add", "bob") == 0
    said = capsys.readouterr().out
    assert "waits for 1 signature" in said
    assert moderate(folder, "--json") == 0
    (proposal,) = json.loads(capsys.readouterr().out)["proposals"]
    assert f"potluck moderate sign {proposal['id']}" in said
    assert [(one["act"], one["name"], one["count"]) for one in proposal["changes"]] == [
        ("add", "bob", 0),
        ("agree", "", 2),
    ]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("ban", "nobody"), "Nobody here is called 'nobody'"),
        (("ban",), "Nobody here is called ''"),
        (("sign", "abc"), "No proposal is called 'abc'"),
        (("remove", "ada"), "'ada' is not a moderator"),
        (("remove", "the founder"), "Nobody would be left who can decide"),
        (("agree", "9"), "More moderators would have to agree than there are"),
        (("notice",), "The notice says nothing"),
        (("notice", "--words", "a" * 301), "These are 301 letters"),
        (("hold", "eve", "--days", "8"), "A hold lasts for 7 days at most"),
    ],
)
def test_what_cannot_be_done_is_said(folder, capsys, words, sentence):
    assert moderate(folder, *words) == 2
    assert sentence in capsys.readouterr().err


def test_charter_that_replaced_a_hold_still_reaches_its_backbone(charter, folder):
    """The founder removes a moderator whose hold the backbone still knows."""
    moderate(folder, "add", "ada")
    learned = read_charter_records(charter)
    hold = [HeldPerson(EVE, int(Clock().now()) + 60, "")]
    learned.take(new_holds(learned, keys("ada"), Clock().now(), hold=hold, release=[EVE]), Clock().now())
    moderate(folder, "remove", "ada")
    assert learned.learn(asyncio.run(merged_records(charter, learned)), Clock().now())
    assert learned.roles.number == 2
