"""What is kept of an engine's notices."""

from pathlib import Path

from core.api.sentence import Sentence
from core.control.notices import NoticeRing
from core.engine.remembered.notice_file import ENDS, STARTS, NoticeFile
from core.system.child_process import LOG_BYTES_MAX


def texts(path: Path) -> list[str]:
    return [notice.text for notice in NoticeFile(path).read()]


def run(path: Path, *said: str, properly: bool) -> NoticeRing:
    ring = NoticeRing(lambda: 5.0)
    ring.add("warning", Sentence("before"))
    NoticeFile(path).follow(ring)
    for text in said:
        ring.add("problem", Sentence(text))
    if properly:
        ring.add("info", Sentence(ENDS))
    return ring


def test_notices_of_all_runs_are_kept_in_order(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "notices.log"
    run(path, "one", properly=True)
    run(path, "two", properly=True)
    assert texts(path) == ["before", STARTS, "one", ENDS, "before", STARTS, "two", ENDS]


def test_the_next_start_tells_of_a_killed_engine(tmp_path: Path) -> None:
    path = tmp_path / "notices.log"
    run(path, properly=False)
    path.write_bytes(path.read_bytes() + b'\n{"number": 7, "te')
    ring = run(path, properly=True)
    assert "killed" in ring.since(0)[1].text
    assert len(texts(path)) == 2 + 4


def test_a_place_that_takes_nothing_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ring = run(tmp_path / "file" / "notices.log", "one", properly=True)
    assert ring.last == 4


def test_a_large_file_is_begun_anew_and_both_read(tmp_path: Path) -> None:
    path = tmp_path / "notices.log"
    run(path, properly=True)
    path.write_bytes(path.read_bytes() + b" " * LOG_BYTES_MAX + b"\n")
    run(path, "new", properly=True)
    assert path.stat().st_size < LOG_BYTES_MAX
    assert texts(path) == ["before", STARTS, ENDS, "before", STARTS, "new", ENDS]


def test_the_last_run_is_told_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "notices.log"
    assert NoticeFile(path).last_run() == []
    run(path, "one", properly=True)
    run(path, "two", properly=True)
    assert [notice.text for notice in NoticeFile(path).last_run()] == ["before", STARTS, "two", ENDS]
