"""`potluck receipts` shows what is kept, and checks every signature."""

import json

from msgspec.structs import replace

from core.__main__ import main
from core.base.ids import short
from core.ledger.receipts import ReceiptLog
from tests.unit.ledger.examples import PEERS, RELAY, receipt

COLLABORATION = "ab" * 32


def test_nothing_yet(home, capsys):
    assert main(["receipts"]) == 0
    assert "no receipts yet" in capsys.readouterr().out
    assert main(["receipts", "--json"]) == 0
    assert capsys.readouterr().out == ""


def test_newest_receipts_come_first_and_name_each_members_part(home, capsys):
    log = ReceiptLog(home.receipts(COLLABORATION))
    for number in range(4):
        log.append(receipt(number, relayed_bytes=1_000_000 * (number == 3)))
    assert main(["receipts", "--number", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("epoch ")[1] for line in lines if "epoch" in line] == [
        "3, 30 samples, signed by 2 of 3, all valid",
        "2, 30 samples, signed by 2 of 3, all valid",
    ]
    assert f"    {short(PEERS[1])}  20 samples, averaged 300 numbers" in lines
    assert f"    {short(RELAY)}  passed on 2 MB for others" in lines
    assert main(["receipts", "--json", "--number", "1"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["epoch"], told["valid"], told["numbers"], told["time"]) == (3, True, 1000, 1_700_000_003)
    rows = {row["peer"]: row for row in told["peers"]}
    assert rows[PEERS[2].hex()]["reduced"] == 700
    assert (rows[PEERS[2].hex()]["signed"], rows[PEERS[0].hex()]["signed"]) == (False, True)
    assert (rows[RELAY.hex()]["relayed_bytes"], rows[RELAY.hex()]["member"]) == (2_000_000, False)


def test_a_receipt_that_somebody_has_changed_is_named(tmp_path, home, capsys):
    good = receipt(1)
    richer = tuple(replace(deed, samples=1_000_000) for deed in good.statement.deeds)
    log = ReceiptLog(tmp_path / "receipts")
    log.append(replace(receipt(0), attestations=receipt(0).attestations[:1]))
    log.append(replace(good, statement=replace(good.statement, deeds=richer)))
    assert main(["receipts", "--folder", str(tmp_path / "receipts")]) == 2
    out, err = capsys.readouterr()
    assert "NOT VALID: a signature is under another statement" in out
    assert "signed by 1 of 3, all valid, which proves nothing to others" in out
    assert "1 of 2 receipts do not match their signatures" in err
    assert main(["receipts", "--folder", str(tmp_path / "nothing")]) == 2
