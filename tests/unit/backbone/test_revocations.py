import logging
import time
from pathlib import Path

import pytest

from core.authority.decisions import REVOKED_MAX
from core.backbone.admission_log import AdmissionLog, Newcomer
from core.backbone.charter import Charter, read_charter_records, revoke, revoked_keys
from core.backbone.invitations import new_invitation
from core.backbone.revocations import REVOKED, Revocation, Revocations, household_mark
from core.base.ids import PeerId
from core.base.problems import ShutOut
from tests.unit.backbone.test_charter import make
from tests.unit.net.people import NOW, id_of

OPEN = new_invitation()
HOME, ELSEWHERE = (household_mark(b"\1" * 32, address) for address in ("203.0.113.5", "203.0.113.6"))


@pytest.fixture
def charter(tmp_path: Path) -> Charter:
    return make(tmp_path)


def admit(log: AdmissionLog, who: str, *, household: str = HOME) -> str:
    newcomer = Newcomer(id_of(who), who, household)
    return log.admit(newcomer, invitations=[OPEN], secret=OPEN.secret, now=NOW).name


def test_revocation_outlasts_a_thousand_others(charter: Charter) -> None:
    log = AdmissionLog(charter.folder)
    admit(log, "eve")
    revoke(charter, [id_of("eve")], now=NOW)
    revoke(charter, [PeerId(number.to_bytes(32, "big")) for number in range(REVOKED_MAX)], now=NOW + 1)
    assert id_of("eve") not in read_charter_records(charter).decisions.revoked
    for read in (log, AdmissionLog(charter.folder)):
        with pytest.raises(ShutOut):
            admit(read, "eve")
    assert len(revoked_keys(charter)) == REVOKED_MAX + 1


def test_who_left_the_list_has_no_pass_that_holds(charter: Charter) -> None:
    assert revoke(charter, [id_of("eve")], now=NOW + 0.5).decisions.passes_since == 0
    others = [PeerId(number.to_bytes(32, "big")) for number in range(REVOKED_MAX)]
    assert revoke(charter, others[1:], now=NOW + 10).decisions.passes_since == 0
    assert revoke(charter, others[:1], now=NOW + 86_400).decisions.passes_since == NOW + 10, "after eve's last pass"
    assert revoke(charter, [id_of("ida")], now=NOW + 86_400).decisions.passes_since == NOW + 20
    assert revoke(charter, [id_of("ida")], now=NOW + 86_400, undo=True).decisions.passes_since == NOW + 10


def test_ten_thousand_revocations_cost_an_admission_nothing(charter: Charter) -> None:
    revoke(charter, [PeerId(number.to_bytes(32, "big")) for number in range(10_000)], now=NOW)
    log = AdmissionLog(charter.folder)
    admit(log, "ada")
    began = time.process_time()
    for _ in range(100):
        admit(log, "ada")
    assert time.process_time() - began < 0.5, "what was read is not read again"


def test_household_that_is_shut_out_gets_no_new_key_in(charter: Charter) -> None:
    log = AdmissionLog(charter.folder)
    admit(log, "ada")
    other = Revocations(charter.folder)  # as a command's, in another process
    other.append([Revocation(at=NOW, household=HOME)])
    with pytest.raises(ShutOut):
        admit(log, "eve")
    assert (admit(log, "ada"), admit(log, "bob", household=ELSEWHERE)) == ("ada", "bob")
    other.append([Revocation(at=NOW, household=HOME, undone=True)])
    assert admit(log, "eve") == "eve"


def test_key_that_is_let_in_again_leaves_log_and_list(charter: Charter) -> None:
    log = AdmissionLog(charter.folder)
    for who in ("ada", "eve"):
        admit(log, who)
    revoke(charter, [id_of("ada"), id_of("eve")], now=NOW)
    records = revoke(charter, [id_of("eve")], now=NOW, undo=True).decisions
    assert records.revoked == (id_of("ada"),)
    assert (records.number, admit(log, "eve")) == (int(NOW) + 1, "eve")
    with pytest.raises(ShutOut):
        admit(log, "ada")


@pytest.mark.parametrize(
    "bad",
    [
        b"\0" * 40,
        b'{"at":1.0,"key":"ab"}',
        b"\xff\xfe",
        b'{"at":1.0,"key":"' + b"0" * 30,
        b'{"at":1e13,"key":"' + b"0" * 64 + b'"}',
        b"[" * 100_000,
    ],
)
def test_damaged_line_is_told_and_costs_no_other_line(
    charter: Charter, caplog: pytest.LogCaptureFixture, bad: bytes
) -> None:
    revoke(charter, [id_of("eve")], now=NOW)
    path = charter.folder / REVOKED
    path.write_bytes(path.read_bytes() + bad)  # its end is missing, too
    revoke(charter, [id_of("mallory")], now=NOW)
    caplog.set_level(logging.WARNING)
    read = Revocations(charter.folder)
    assert set(read.keys) == {id_of("eve"), id_of("mallory")}
    assert "1 lines of" in caplog.text
    caplog.clear()
    read.refresh()
    assert not caplog.text


def test_line_that_is_being_written_counts_when_it_is_whole(charter: Charter) -> None:
    read, path = Revocations(charter.folder), charter.folder / REVOKED
    revoke(charter, [id_of("eve")], now=NOW)
    whole = path.read_bytes()
    path.write_bytes(whole[:-9])
    read.refresh()
    assert not read.keys
    path.write_bytes(whole)
    read.refresh()
    assert set(read.keys) == {id_of("eve")}


def test_charter_from_before_the_log_keeps_whom_its_list_names(charter: Charter) -> None:
    revoke(charter, [id_of("eve")], now=NOW)
    (charter.folder / REVOKED).unlink()
    revoke(charter, [id_of("mallory")], now=NOW)
    assert read_charter_records(charter).decisions.revoked == (id_of("eve"), id_of("mallory"))
    revoke(charter, [id_of("eve")], now=NOW, undo=True)
    assert revoked_keys(charter) == {id_of("mallory")}


def test_log_holds_no_address(charter: Charter) -> None:
    mark = household_mark(charter.authority.seed, "203.0.113.5")
    assert mark != HOME
    assert len(mark) == 16
    admit(AdmissionLog(charter.folder), "ada", household=mark)
    kept = b"".join(path.read_bytes() for path in charter.folder.glob("*.log"))
    assert mark.encode() in kept
    assert b"203.0" not in kept
