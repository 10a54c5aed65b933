"""What the person lets Potluck use of the network."""

import asyncio
import time

import pytest

from core.api.moderation import CLOSED
from core.api.modes import OFF
from core.api.verdict import resting, sentence
from core.engine.limits import usage_policy as allowance_module
from core.engine.limits.usage_policy import UsagePolicy
from core.schedule.policy import ABSENT_S
from core.schedule.sensed import Sensed
from core.storage.settings import Settings

NOVEMBER = 1_795_000_000.0
"""Wednesday, 18 November 2026, 12:06:40 an hour ahead of UTC."""
NIGHTS = Settings(hours="mon-fri 20:00-07:00")


class Kept:
    def __init__(self, folder, settings=None, *, alone=False):
        self.now, self.uptime_s = NOVEMBER, 0.0
        self.changes = 0
        self.path = folder / "usage.json"
        self.usage_policy = UsagePolicy(
            settings or Settings(),
            path=self.path,
            now=lambda: self.now,
            steady=lambda: self.uptime_s,
            alone=alone,
            offset_s=lambda _: 3600.0,
        )
        self.usage_policy.follow(self._changed)

    def no_longer_metered(self):
        self.usage_policy.metered(False)
        self.now += ABSENT_S
        self.usage_policy.look()

    def _changed(self):
        self.changes += 1


def said(kept):
    rest = kept.usage_policy.decision.rest
    return str(sentence(rest)) if rest is not None else ""


def use(kept, count):
    kept.usage_policy.pace.upload.spent(count, 0.0)


def test_follower_is_told_of_reasons_at_once_until_it_leaves(tmp_path):
    kept, told = Kept(tmp_path), []
    leave = kept.usage_policy.follow(lambda: told.append(1))
    assert not told
    kept.usage_policy.metered(True)
    late = []
    kept.usage_policy.follow(lambda: late.append(1))
    leave()
    kept.no_longer_metered()
    assert (len(told), len(late)) == (1, 2)


def test_collaboration_that_has_ended_computes_nothing(tmp_path):
    kept, ended = Kept(tmp_path), resting(CLOSED, collaboration="Ours", words="It was good.")
    kept.usage_policy.ended = ended
    kept.usage_policy.look()
    assert "Thank you for what you gave to it. It was good." in said(kept)
    assert kept.usage_policy.decision.network is None, "it goes on to hear the others"
    kept.usage_policy.ended = None
    kept.usage_policy.look()
    assert (said(kept), kept.changes) == ("", 2)


def test_limits_reach_the_pace(tmp_path):
    pace = Kept(tmp_path, Settings(upload_bytes_s=50_000.0)).usage_policy.pace
    assert pace.upload.limited
    assert not pace.download.limited


def test_metered_connection_is_not_used_unless_the_person_allows_it(tmp_path):
    kept = Kept(tmp_path)
    for costs, changes in ((None, 0), (True, 1), (True, 1)):
        kept.usage_policy.metered(costs)
        assert kept.changes == changes
        assert bool(said(kept)) is bool(costs)
    kept.no_longer_metered()
    assert kept.changes == 2
    assert said(kept) == ""
    kept = Kept(tmp_path, Settings(use_metered=True))
    kept.usage_policy.metered(True)
    assert said(kept) == ""


def test_outside_the_hours_it_rests_and_says_until_when(tmp_path):
    kept = Kept(tmp_path, NIGHTS)
    assert kept.usage_policy.pace.hindrance == "schedule"
    assert said(kept).endswith("outside the hours that you chose. Potluck continues at 20:00 at the earliest.")
    assert kept.usage_policy.decision.rest.until == NOVEMBER + 8 * 3600 - 400
    assert kept.changes == 1
    kept.now += 8 * 3600
    kept.usage_policy.look()
    assert kept.usage_policy.pace.hindrance is None
    assert said(kept) == ""
    kept.now += 2.5 * 86_400
    kept.usage_policy.look()
    assert said(kept).endswith("Potluck continues on Monday at 20:00 at the earliest.")
    assert kept.changes == 3


def test_policy_pauses_until_both_hour_and_connection_are_right(tmp_path):
    kept = Kept(tmp_path, NIGHTS)
    kept.usage_policy.metered(True)
    assert "at 20:00 at the earliest" in said(kept)
    kept.now += 8 * 3600
    kept.usage_policy.look()
    assert kept.usage_policy.pace.hindrance == "metered"
    kept.now += 12 * 3600
    kept.no_longer_metered()
    assert kept.usage_policy.pace.hindrance == "schedule"
    kept.usage_policy.metered(True)
    kept.now += 12 * 3600
    kept.no_longer_metered()
    assert kept.usage_policy.pace.hindrance is None
    assert kept.changes == 5


def test_other_choices_hold_at_once(tmp_path):
    kept = Kept(tmp_path)
    use(kept, 2_000_000)
    kept.usage_policy.metered(True)
    kept.usage_policy.apply(Settings(use_metered=True, upload_bytes_s=50_000.0))
    assert said(kept) == ""
    assert kept.usage_policy.pace.upload.limited
    kept.usage_policy.apply(Settings(use_metered=True, month_bytes=1_000_000))
    assert "month" in said(kept)
    assert kept.usage_policy.pace.hindrance == "month"
    kept.usage_policy.apply(NIGHTS)
    assert kept.usage_policy.pace.hindrance == "schedule"
    kept.usage_policy.apply(Settings())
    assert kept.usage_policy.pace.hindrance == "metered"
    kept.no_longer_metered()
    assert not kept.usage_policy.pace.upload.limited


def test_alone_on_this_computer_only_the_hours_count(tmp_path):
    settings = Settings(month_bytes=1000, upload_bytes_s=50_000.0)
    kept = Kept(tmp_path, settings, alone=True)
    use(kept, 5000)
    kept.usage_policy.look()
    assert said(kept) == ""
    assert kept.usage_policy.pace.hindrance == "month"  # which is for text from elsewhere
    kept.usage_policy.apply(NIGHTS)
    assert "hours" in said(kept)


def test_idle_time_grows_with_the_steady_clock_alone(tmp_path):
    kept = Kept(tmp_path, Settings(in_use=False, idle_minutes=3))
    kept.usage_policy.sense(Sensed(idle_s=1.0))
    kept.now += 86_400.0
    assert said(kept)
    kept.uptime_s += 178.0
    assert said(kept)
    kept.uptime_s += 1.0
    assert said(kept) == ""


def test_a_sense_that_flaps_makes_one_rest(tmp_path):
    kept = Kept(tmp_path)
    for tenth in range(100):
        kept.now += 0.1
        kept.usage_policy.sense(Sensed(full_screen=tenth % 2 == 0))
    assert kept.changes == 1
    kept.now += ABSENT_S
    kept.usage_policy.look()
    assert kept.changes == 2


def test_somebody_who_is_here_stays_until_sensed_otherwise(tmp_path):
    kept = Kept(tmp_path, Settings(in_use=False, idle_minutes=3))
    kept.usage_policy.sense(Sensed(idle_s=0.0))
    kept.now, kept.uptime_s = kept.now + 86_400.0, 86_400.0
    assert said(kept)
    assert kept.usage_policy.decision.changes is None


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="this system keeps one time zone for a process")
@pytest.mark.parametrize(("zone", "resting"), [("UTC0", True), ("JST-9", False)])
def test_this_computers_own_clock(tmp_path, monkeypatch, zone, resting):
    monkeypatch.setenv("TZ", zone)
    try:
        usage_policy = UsagePolicy(NIGHTS, path=tmp_path / "usage.json", now=lambda: NOVEMBER)
        assert bool(usage_policy.decision.rest) is resting
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_month_is_remembered_and_ends(tmp_path):
    settings = Settings(month_bytes=1000)
    kept = Kept(tmp_path, settings)
    use(kept, 600)
    kept.usage_policy.save()
    again = Kept(tmp_path, settings)
    assert said(again) == ""
    use(again, 600)
    assert "month" in said(again)
    again.now += 31 * 86_400
    assert said(again) == ""


def test_keeping_saves_at_the_end_and_tells_of_changes(tmp_path, monkeypatch):
    monkeypatch.setattr(allowance_module, "LOOK_S", 0.0)
    kept = Kept(tmp_path, Settings(month_bytes=1000))

    async def run():
        task = asyncio.ensure_future(kept.usage_policy.keep())
        use(kept, 2000)
        while not kept.changes:  # noqa: ASYNC110 - a look in each turn of the loop; there is no event
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])

    asyncio.run(run())
    assert "2000" in kept.path.read_text()


@pytest.mark.parametrize("content", [b"", b"{", b'{"used_bytes": -1}', b"x" * 5000])
def test_a_damaged_file_is_kept_aside(tmp_path, content):
    (tmp_path / "usage.json").write_bytes(content)
    assert said(Kept(tmp_path)) == ""
    (aside,) = tmp_path.iterdir()
    assert aside.name != "usage.json"


def test_a_disk_that_is_full_is_no_reason_to_stop(tmp_path):
    kept = Kept(tmp_path / "missing" / "folder")
    kept.usage_policy.save()


def test_switch_goes_first_and_leaves_the_network_alone(tmp_path):
    kept = Kept(tmp_path, Settings(computing=OFF, month_bytes=1000))
    use(kept, 2000)
    assert kept.usage_policy.decision.rest.code == "paused"
    kept.usage_policy.apply(Settings())
    kept.usage_policy.apply(Settings(computing=OFF))
    assert kept.usage_policy.pace.hindrance is None


def test_work_is_cancelled_at_a_rest_and_begun_again(tmp_path):
    kept, done = Kept(tmp_path, Settings(computing=OFF)), []

    async def work():
        done.append("begun")
        try:
            await asyncio.sleep(0.05 if len(done) > 1 else 3600)
        except asyncio.CancelledError:
            done.append("cancelled")
            raise
        return "result"

    async def run():
        working = asyncio.create_task(kept.usage_policy.while_allowed(work))
        for contributing in (False, True, False, True):
            kept.usage_policy.apply(Settings() if contributing else Settings(computing=OFF))
            await asyncio.sleep(0.01)
            assert not working.done()
        return await working

    assert asyncio.run(run()) == "result"
    assert done == ["begun", "cancelled", "begun"]
