"""`potluck people` and `potluck leaderboard --charter` show what a backbone has kept, and its log says it."""

import asyncio
import base64
import json
import logging
import stat
import sys
from pathlib import Path

import pytest

from core.__main__ import main
from core.averaging.distances import DistanceBook, PartsSeen
from core.backbone.admission_log import AdmissionLog, Newcomer
from core.backbone.charter import Charter, read_charter_records, revoke
from core.backbone.moderators.seen_parts import DISTANCES, SeenParts
from core.backbone.people import PEOPLE, PEOPLE_MAX, People, read_people
from core.backbone.remembered import LOCK
from core.base.ids import PeerId, account_of
from core.base.names import BACKBONE_NAME
from core.base.problems import Busy
from core.base.signing import KeyPair
from core.kept.state_files import DiskStateFile
from core.ledger.ledger import Ledger, LedgerRow
from core.net.clock import Clock
from core.net.identity.passes import Pass
from core.swarm.words.facts import StateKept
from core.swarm.words.states import StateName
from core.system.file_lock import held
from tests.process.swarm import found

ADA, BOB, EVE, STRANGER = (PeerId(bytes([number]) * 32) for number in range(1, 5))
NOW = 1_700_000_000.0


@pytest.fixture
def charter(tmp_path: Path) -> Charter:
    made = found(tmp_path, target_samples=64)
    log = AdmissionLog(made.folder)
    for key, name in ((PeerId(bytes([9]) * 32), BACKBONE_NAME), (ADA, "Ada"), (BOB, "Bob"), (EVE, "Eve")):
        log.enter(Newcomer(key, name), invitation="", now=NOW)
    return made


def seen(charter: Charter) -> People:
    return People(charter, AdmissionLog(charter.folder))


def copy(charter: Charter, **samples: int) -> StateKept:
    """A copy of the model in whose ledger these have given so much."""
    keys = {"ada": ADA, "bob": BOB, "stranger": STRANGER}
    ledger = Ledger({keys[name]: LedgerRow(number, 1, 1) for name, number in samples.items()}).to_bytes()
    called = {"epoch": 3, "lineage": "ab" * 32, "manifest": "", "ledger": base64.b64encode(ledger).decode()}
    head = json.dumps({"__metadata__": {"potluck": json.dumps(called)}}).encode()
    path = charter.folder / "copy"
    path.write_bytes(len(head).to_bytes(8, "little") + head + bytes(600_000))
    return StateKept(StateName(3, b"\xab" * 32), DiskStateFile(path, None))


def test_log_names_who_comes_goes_gives_and_is_shut_out(charter, caplog):
    caplog.set_level(logging.INFO)
    people = seen(charter)
    people.look({ADA, BOB, STRANGER}, NOW)
    people.look({ADA, BOB}, NOW + 3)
    people.read(copy(charter, ada=30, stranger=9))
    people.read(copy(charter, ada=40, bob=10))
    people.look({BOB}, NOW + 60)
    revoke(charter, [EVE], now=NOW)
    people.decided(frozenset(map(PeerId, read_charter_records(charter).decisions.revoked)))
    people.decided(frozenset(map(PeerId, read_charter_records(charter).decisions.revoked)))
    said = [(line.split(" (")[0], line.split(") ")[1]) for line in caplog.messages]
    assert said == [
        ("Ada", "is here"),
        ("Bob", "is here"),
        ("Ada", "has contributed for the first time"),
        ("Bob", "has contributed for the first time"),
        ("Ada", "has gone"),
        ("Eve", "is shut out by the moderators"),
    ]
    caplog.clear()
    again = seen(charter)
    again.read(copy(charter, ada=50, bob=20))
    again.decided(frozenset(map(PeerId, read_charter_records(charter).decisions.revoked)))
    assert caplog.messages == [], "what was told is no news after a restart"


def test_stays_are_kept_for_their_owner_alone_and_bounded(charter, monkeypatch):
    monkeypatch.setattr("core.backbone.people.PEOPLE_MAX", 2)
    people = seen(charter)
    people.look({ADA}, NOW)
    path = charter.folder / PEOPLE
    if sys.platform != "win32":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    people.look({BOB}, NOW + 10)
    people.look({EVE}, NOW + 20)
    stays = read_people(path)
    assert len(stays) == 2 < PEOPLE_MAX
    assert stays[EVE].left is None
    people.close(NOW + 30)
    assert (read_people(path)[EVE].came, read_people(path)[EVE].left) == (NOW + 20, NOW + 30)
    path.write_bytes(b'{"ab": 1')
    assert read_people(path) == {}
    assert not path.exists()
    assert list(charter.folder.glob(f"{PEOPLE}*")), "a damaged file is kept aside"


def test_people_and_board_are_shown_with_and_without_a_backbone(charter, capsys):
    folder = str(charter.folder)
    people = seen(charter)
    people.look({ADA, EVE}, NOW)
    people.look({ADA}, NOW + 60)
    people.read(copy(charter, ada=30, bob=10))
    revoke(charter, [EVE], now=NOW)

    async def with_backbone() -> None:
        async with held(charter.folder / LOCK, patience_s=0, otherwise=Busy("held")):
            await asyncio.to_thread(main, ["people", "--charter", folder])
            await asyncio.to_thread(main, ["people", "--charter", folder, "--json"])

    asyncio.run(with_backbone())
    *lines, told = capsys.readouterr().out.splitlines()
    assert lines[0] == "1 of 3 are here."
    assert lines[1].startswith("Ada: here since 2023-11-1")
    assert lines[1].endswith("30 samples, 75.0% of all")
    assert lines[2] == "Bob: never seen; 10 samples, 25.0% of all"
    assert lines[3].startswith("Eve (shut out): last here 2023-11-1")
    assert json.loads(told)["backbone_runs"]
    assert json.loads(told)["people"][0]["came"] == NOW

    assert main(["people", "--charter", folder]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "No backbone runs" in lines[0]
    assert "was here when the backbone looked last" in lines[1]
    assert main(["leaderboard", "--charter", folder]) == 0
    out, err = capsys.readouterr()
    assert "No backbone runs" in err
    assert [line.split()[1] for line in out.splitlines()[1:]] == ["Ada", "Bob"]
    assert main(["leaderboard", "--charter", folder, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["leaderboard"][0]["samples"] == 30
    assert main(["people", "--charter", folder + "-nowhere"]) == 2


def test_person_with_several_computers_is_one_line(charter, capsys):
    log = AdmissionLog(charter.folder)
    log.enter(Newcomer(STRANGER, "", device="laptop"), invitation="", now=NOW, account=account_of(ADA))
    people = seen(charter)
    people.look({STRANGER}, NOW)
    people.look(set(), NOW + 60)
    people.read(copy(charter, ada=30, stranger=10))
    assert main(["people", "--charter", str(charter.folder)]) == 0
    ada = capsys.readouterr().out.splitlines()[1]
    assert ada.startswith("Ada, 2 computers: last here")
    assert ada.endswith("40 samples, 100.0% of all")
    assert main(["leaderboard", "--charter", str(charter.folder), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["leaderboard"]
    assert (row["name"], row["samples"]) == ("Ada", 40)
    revoke(charter, log.keys_of("ada"), now=NOW)
    main(["people", "--charter", str(charter.folder)])
    assert "Ada, 2 computers (shut out)" in capsys.readouterr().out


def test_distances_of_all_computers_of_a_person_are_one_row(charter, capsys):
    log = AdmissionLog(charter.folder)
    log.enter(Newcomer(STRANGER, "", device="laptop"), invitation="", now=NOW, account=account_of(ADA))
    folder = str(charter.folder)
    assert main(["people", "--charter", folder]) == 0
    assert "has averaged nobody's parts" in capsys.readouterr().out, "a backbone that did not reduce says so"
    book = DistanceBook(b"secret")
    seen_parts = SeenParts(charter.folder, book)
    for key, rounds, cosine in ((ADA, 2, 0.5), (STRANGER, 2, -0.5), (BOB, 1, -0.9)):
        for number in range(rounds):
            book.note(key, bytes([number]), PartsSeen(looks=1, numbers=0.03, ratios=1.5, cosines=cosine, clipped=1))
    book.note(BOB, b"0", PartsSeen(dropped=7))
    seen_parts.save()
    assert main(["people", "--charter", folder]) == 0
    table = [line.split() for line in capsys.readouterr().out.splitlines() if line.split()[1:2] == ["1.50"]]
    assert [row[:5] for row in table] == [["Bob", "1.50", "-0.90", "100%", "7"], ["Ada", "1.50", "0.00", "100%", "0"]]
    assert " ".join(table[1][5:]) == "3 % of the numbers, 4 rounds"
    again = DistanceBook(b"another")
    SeenParts(charter.folder, again)
    assert again.rows == book.rows, "a backbone goes on from what it had seen"
    (charter.folder / DISTANCES).write_bytes(b"[")
    SeenParts(charter.folder, again)
    assert again.rows == {}
    assert list(charter.folder.glob(f"{DISTANCES}.*")), "a damaged file is kept aside"


def test_lines_of_a_stolen_key_are_told_by_no_command(charter, capsys):
    folder, other, now = str(charter.folder), KeyPair.generate().peer_id, Clock().now()
    shown = Pass(STRANGER, "Sybil", "", now - 9, now + 99, other)
    AdmissionLog(charter.folder).admit(Newcomer(STRANGER, "x", shown=shown), invitations=[], secret="", now=now)
    moderate = ["moderate", "--charter", folder]
    assert main([*moderate, "backbone", other.hex(), "--at", "127.0.0.1:40711", "--words", "Two"]) == 0
    assert main(["people", "--charter", folder]) == 0
    assert "Sybil" in capsys.readouterr().out
    assert main([*moderate, "stolen", other.hex(), "--since", "2026-01-01"]) == 0
    assert main(["people", "--charter", folder]) == 0
    assert "Sybil" not in capsys.readouterr().out
    assert main(["revoke", "--charter", folder, "Sybil"]) == 2
    assert "Nobody here is called" in capsys.readouterr().err
