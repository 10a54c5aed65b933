"""What an engine tells on demand."""

import asyncio
import os
from types import SimpleNamespace

import msgspec
import pytest

from core.api.look import THREAD_WATTS
from core.api.snapshot import Notice
from core.api.verdict import SENTENCES, VerdictCode, paused
from core.averaging.receipts.exchange import Receipted
from core.averaging.receipts.receipt import Deed, Receipt, Statement, attest
from core.base.ids import PeerId, fingerprint, hashed_key
from core.base.signing import KeyPair
from core.control.notices import NoticeRing
from core.engine.installation import EngineOptions
from core.engine.remembered.gift import GiftMeter, drawn_watts
from core.engine.remembered.journal import Journal
from core.engine.remembered.notice_file import NoticeFile
from core.engine.reports import EngineReports, folder_bytes, receipt_view
from core.ledger.days import Days, GiftTotals
from core.ledger.ledger import Ledger
from core.ledger.receipts import check
from core.schedule.sensed import Sensed, SensedGpu
from core.storage.paths import Home
from core.storage.settings import Settings
from core.swarm.words.orders import LedgerRead
from tests.unit.net.people import verifier

GIVER, OTHER, REDUCER, IDLE = (KeyPair(bytes([number]) * 32) for number in range(1, 5))


def signed(*signers):
    """A round: the first two give, the third reduces only, of the fourth nothing arrived."""
    deeds = (
        Deed(GIVER.peer_id, 10, 8, 0),
        Deed(OTHER.peer_id, 20, 8, 300),
        Deed(REDUCER.peer_id, 0, 0, 700),
        Deed(IDLE.peer_id, 0, 0, 0),
    )
    ordered = tuple(sorted(deeds, key=lambda deed: deed.peer))
    said = Statement(bytes(32), hashed_key(b"round"), 7, bytes(32), bytes(32), 8, ordered)
    keys = sorted(signers, key=lambda key: key.peer_id)
    return Receipt(said, tuple(attest(said, key, time=1_700_000_000.0, relayed={}) for key in keys))


@pytest.mark.parametrize(
    ("me", "signers", "verdict"),
    [
        (GIVER, (GIVER, OTHER), "accepted"),
        (GIVER, (GIVER,), "alone"),
        (REDUCER, (GIVER, OTHER), "helped"),
        (IDLE, (GIVER, OTHER), "nothing"),
    ],
)
def test_receipt_says_what_became_of_my_work(me, signers, verdict):
    shown = receipt_view(check(signed(*signers)), PeerId(me.peer_id))
    assert (shown.verdict, shown.epoch, shown.signed, shown.members) == (verdict, 7, len(signers), 4)
    assert shown.samples == (10 if me is GIVER else 0)


def test_receipt_with_a_false_signature_is_invalid():
    right = signed(GIVER, OTHER)
    one, other = right.attestations
    false = msgspec.structs.replace(one, signature=other.signature)
    changed = msgspec.structs.replace(right, attestations=(false, other))
    assert receipt_view(check(changed), PeerId(GIVER.peer_id)).verdict == "invalid"


@pytest.fixture
def installation(tmp_path):
    home = Home(tmp_path)
    return SimpleNamespace(
        options=EngineOptions(home=home),
        days=Days(tmp_path, lambda: 1_795_000_000.0),
        key=KeyPair.generate(),
        name="Bee",
        preferences=SimpleNamespace(settings=Settings(threads=3)),
        usage_policy=SimpleNamespace(sensed=Sensed(programs=frozenset({"steam", "blender"}), full_screen=False)),
    )


def test_before_it_has_joined_there_are_no_receipts(installation):
    reports = EngineReports(installation, lambda: None)
    assert asyncio.run(reports.receipts(0)).receipts == ()
    assert reports.trust().organiser == ""
    assert reports.trust().mine == fingerprint(installation.key.peer_id)


def test_receipts_and_days_count_a_round_not_kept(installation, tmp_path):
    journal = Journal(
        folder=tmp_path,
        board=tmp_path / "board.json",
        receipts=tmp_path / "receipts",
        target_samples=64,
        notices=NoticeRing(lambda: 5.0),
        now=lambda: 5.0,
    )
    installation.key = GIVER
    joined = SimpleNamespace(manifest=SimpleNamespace(id=bytes(32)))
    session = SimpleNamespace(journal=journal, joined=joined, passes=verifier())
    meter = GiftMeter(
        installation.days, lambda: GiftTotals(samples=journal.receipts.credit(GIVER.peer_id).samples), lambda: 10.0
    )
    journal.take(Receipted(signed(GIVER, OTHER)))
    journal.take(LedgerRead(Ledger().to_bytes(), 7))  # of another state, which has not this round
    meter.count()
    told = asyncio.run(EngineReports(installation, lambda: session).receipts(0))
    assert (told.samples, installation.days.today().samples, journal.board.row(GIVER.peer_id).samples) == (10, 10, 0)


def test_machine_is_this_computer(installation, tmp_path):
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "file").write_bytes(b"x" * 1000)
    told = asyncio.run(EngineReports(installation, lambda: None).machine())
    assert (told.name, told.threads_used, told.home) == ("Bee", 3, str(tmp_path))
    assert told.threads == os.cpu_count()
    assert told.memory_bytes > told.memory_used_bytes > 10_000_000
    assert told.disk_used_bytes >= 1000
    assert told.processor
    assert told.programs == ("blender", "steam")
    assert "on_battery" in told.untold
    assert "full_screen" not in told.untold


def test_size_of_a_folder_that_is_gone(tmp_path):
    assert folder_bytes(tmp_path / "nowhere") == 0


def test_activity_has_notices_of_earlier_runs(installation):
    path = installation.options.home.notices_file
    for _ in range(2):
        ring = NoticeRing(lambda: 1000.0)
        NoticeFile(path).follow(ring)
        ring.follow("info", paused())
    told = asyncio.run(EngineReports(installation, lambda: None).activity())
    assert [notice.code for notice in told].count("engine.starts") == 2
    assert told[-1] == Notice(3, 1000.0, "info", SENTENCES[VerdictCode.PAUSED, ""], "verdict.paused.")


def test_fingerprint_has_eight_groups_of_four_letters():
    assert fingerprint(bytes(range(32))) == "0001 0203 0405 0607 0809 0a0b 0c0d 0e0f"


def test_counted_gifts_are_kept_at_the_end(installation):
    sums = [GiftTotals(seconds=5, samples=10), GiftTotals(seconds=7, samples=10), GiftTotals(seconds=9, samples=12)]

    def given():
        return sums.pop(0) if len(sums) > 1 else sums[0]

    async def test():
        meter = GiftMeter(installation.days, given, lambda: 45.0)
        task = asyncio.create_task(meter.keep(interval_s=0.0))
        for _ in range(10):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(test())
    day = Days(installation.options.home.directory, lambda: 1_795_000_000.0).history(1).days[0]
    assert (day.seconds, day.samples, day.joules) == (4, 2, 4 * 45.0)


def test_days_are_counted_up_to_the_moment_of_a_look(installation):
    sums = [GiftTotals(seconds=5), GiftTotals(seconds=6), GiftTotals(seconds=6), GiftTotals(seconds=9, bytes_sent=4)]
    meter = GiftMeter(installation.days, lambda: sums.pop(0), lambda: 10.0)
    seen = []
    for _ in range(3):
        meter.count()
        today = installation.days.today()
        seen.append((today.seconds, today.bytes_sent, today.joules))
    assert seen == [(1, 0, 10), (1, 0, 10), (4, 4, 40)]


def test_watts_are_the_owners_else_measured_else_a_rule():
    card = SensedGpu(name="cuda:0", watts=200.0)
    settings = Settings(threads=4)
    assert drawn_watts(settings, Sensed()) == 4 * THREAD_WATTS
    assert drawn_watts(settings, Sensed(watts=60.0, gpus=(card, SensedGpu(name="cuda:1")))) == 260.0
    assert drawn_watts(Settings(energy_watts=45), Sensed(watts=60.0)) == 45
