"""What an engine says of the text that comes to its worker."""

import pytest

from core.api import verdict as verdicts
from core.api.data_state import DataCode
from core.api.snapshot import Activity, activity_of
from core.api.verdict import VerdictCode
from core.base.data_source import DataSource
from core.base.manifest import Manifest
from core.control.notices import NoticeRing
from core.engine.text.data_watch import RATE_S, TEXT_LETTERS, DataWatch, source_views
from core.workers.data_frames import DataAccess, DataFlow, DataLeftOut


class Watched:
    def __init__(self) -> None:
        self.now = 100.0
        self.notices = NoticeRing(lambda: self.now)
        self.watch = DataWatch(self.notices, lambda: self.now)

    def hear(self, **said: object) -> None:
        self.watch.hear(DataFlow(**said))

    @property
    def codes(self) -> list[str]:
        return [notice.code for notice in self.notices.since(0)]


NO_ANSWER = {"code": DataCode.NO_ANSWER, "arguments": {"host": "texts.org"}}


def test_stall_is_told_once_and_its_end() -> None:
    watched = Watched()
    watched.hear(rows_ready=512)
    for retry_s in (1.0, 2.0, 4.0):
        watched.hear(**NO_ANSWER, retry_s=retry_s, rows_ready=512)
    assert watched.watch.view.args["seconds"] == 4
    watched.hear()
    watched.hear()
    watched.hear(code=DataCode.MISSING, arguments={"name": "a"})
    assert watched.codes == ["data.away", "data.flows", "data.stalled.missing"]
    first, _, missing = watched.notices.since(0)
    assert (first.level, missing.level) == ("info", "warning")
    assert first.text == "texts.org, where the text is, does not answer; 512 samples are ready."


def test_server_that_is_away_is_told_by_the_verdict_alone() -> None:
    watched = Watched()
    watched.hear(**NO_ANSWER, waiting=True)
    assert not watched.codes
    verdict = verdicts.no_data(DataCode.NO_ANSWER, watched.watch.view.args)
    assert str(verdicts.headline(verdict)) == "Waiting for text"
    assert str(verdicts.headline(verdicts.not_connected("offline"))) == "Not connected"


def test_reason_of_left_out_data_is_told_once() -> None:
    watched = Watched()
    for name in ("a.gz", "b.gz"):
        watched.watch.hear(DataLeftOut(code=DataCode.DAMAGED, arguments={"name": name}))
    watched.watch.hear(DataLeftOut(code=DataCode.NO_COLUMN, arguments={"name": "c.parquet", "column": "text"}))
    watched.watch.hear(DataLeftOut(code="of-another-version"))
    assert watched.codes == ["data.left.damaged", "data.left.no-column"]


def test_rate_begins_anew_with_a_worker() -> None:
    watched = Watched()
    watched.hear(bytes_read=1000)
    assert watched.watch.view.rate_bytes_s == 0
    watched.now += RATE_S
    watched.hear(bytes_read=1000 + int(RATE_S) * 300)
    assert watched.watch.view.rate_bytes_s == 300
    watched.hear(bytes_read=7)
    assert watched.watch.view.rate_bytes_s == 0
    watched.watch.hear(None)
    assert watched.watch.view is None


def test_words_of_a_source_are_bounded() -> None:
    watched = Watched()
    watched.hear(code=DataCode.MISSING, arguments={"name": "x" * 10_000, "more": 1.5}, reading="y" * 10_000)
    assert len(watched.watch.view.args["name"]) == len(watched.watch.view.reading) == TEXT_LETTERS


@pytest.mark.parametrize("code", ["", *DataCode, "of-another-version"])
def test_nothing_left_to_compute_is_a_state_with_a_reason(code: str) -> None:
    watched = Watched()
    watched.hear(code=code, waiting=True)
    verdict = verdicts.no_data(code, watched.watch.view.args)
    said = str(verdicts.sentence(verdict))
    assert said.endswith(".")
    assert "{" not in said
    assert verdict.code is not VerdictCode.CONTRIBUTING
    if verdict.code is VerdictCode.PROBLEM:
        assert verdict.args["message"] == said
    assert activity_of(verdict) is not Activity.TRAINING


def test_sources_are_shown_with_their_shares() -> None:
    sources = (
        DataSource(address="https://texts.org/a", share=0.23, licence="CC BY-SA 4.0", credit="Ada"),
        DataSource(address="hf://datasets/ada/poems", share=0.77),
    )
    found = source_views(Manifest(name="n", organiser="o", task="t", data=sources, authority="00" * 32))
    assert [(one.host, round(one.share, 2)) for one in found] == [("texts.org", 0.23), ("huggingface.co", 0.77)]
    assert (found[0].licence, found[0].credit) == ("CC BY-SA 4.0", "Ada")
    (docs,) = source_views(Manifest(name="n", organiser="o", task="t", authority="00" * 32))
    assert (docs.address, docs.share) == ("", 1.0)


def test_secrets_are_not_in_what_is_printed() -> None:
    assert "hunter2" not in repr(DataAccess(desk_token="hunter2", secrets={"https://texts.org": "hunter2"}))
