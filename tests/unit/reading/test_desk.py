"""The reader's questions to its engine, over a real socket."""

import asyncio
import time

import pytest

from core.base.data_desk import KeptAsk, NextAnswer, NextAsk
from core.engine.text.data_desk import DataDesk, OriginOnly
from core.net.limits.pace import Limits, Pace
from core.reading.desk import Desk

NOVEMBER = 1_795_000_000.0


class Shelf:
    """Has shard 7 in a file, and keeps shard 3."""

    async def next(self, ask: NextAsk) -> NextAnswer:
        return NextAnswer(7, "/shards/7") if 7 in ask.wanted else NextAnswer(ask.wanted[0])

    async def keep(self, ask: KeptAsk) -> bool:
        return ask.shard == 3


def pace_of(limits=None):
    pace = Pace(now=lambda: NOVEMBER)
    pace.limit(limits or Limits())
    return pace


def asked(questions, *, pace=None, shards=None, token=None):
    """What `questions`, in a thread with its desk, returns."""

    async def run():
        desk = DataDesk(pace or pace_of(), shards or Shelf())
        await desk.open()
        try:
            return await asyncio.to_thread(questions, Desk(desk.url, desk.token if token is None else token))
        finally:
            await desk.close()

    return asyncio.run(run())


def test_next_gives_a_shared_file_or_the_origin():
    assert asked(lambda desk: desk.next(0, [5, 7])) == (7, "/shards/7")
    assert asked(lambda desk: desk.next(0, range(5))) == (0, "")
    assert asked(lambda desk: desk.next(0, [4, 7]), shards=OriginOnly()) == (4, "")


def test_kept_says_whether_a_copy_is_kept():
    assert asked(lambda desk: (desk.kept(0, 3, "/a"), desk.kept(0, 4, "/a"))) == (True, False)


def test_allow_counts_bytes_in_the_month():
    pace = pace_of()
    assert asked(lambda desk: desk.allow(100_000_000), pace=pace)
    assert pace.used.used_bytes == 100_000_000


def test_allow_keeps_to_the_limit_of_the_download():
    pace = pace_of(Limits(download_bytes_s=1e6))

    def questions(desk):
        begun = time.monotonic()
        assert all(desk.allow(50_000) for _ in range(10))
        return time.monotonic() - begun

    assert asked(questions, pace=pace) > 0.5 - 0.15  # a bucket holds a tenth of a second, and a turn goes beyond it


def test_allow_says_that_the_network_rests_at_once():
    pace = pace_of()
    pace.forbid("switch")
    assert not asked(lambda desk: desk.allow(1), pace=pace)
    assert pace.used.used_bytes == 0


def test_allow_ends_when_the_month_is_used_up():
    pace = pace_of(Limits(month_bytes=300_000, download_bytes_s=1e6))
    assert not asked(lambda desk: all(desk.allow(200_000) for _ in range(5)), pace=pace)
    assert pace.used.used_bytes < 350_000


def test_nothing_is_answered_without_the_token():
    assert asked(lambda desk: (desk.allow(1), desk.next(0, [4, 7]), desk.kept(0, 3, "/a")), token="guess") == (
        False,
        (4, ""),
        False,
    )


@pytest.mark.parametrize("wait_s", [0.0, 1e9])
def test_without_a_desk_all_is_allowed_and_at_the_origin(wait_s):
    desk = Desk()
    assert desk.allow(10**12)
    assert desk.next(2, [9, 7], wait_s=wait_s) == (9, "")
    assert not desk.kept(2, 9, "/a")


def test_a_desk_that_has_gone_allows_nothing():
    desk = Desk("http://127.0.0.1:9", "token")
    assert (desk.allow(1), desk.next(0, [4]), desk.kept(0, 4, "/a")) == (False, (4, ""), False)
