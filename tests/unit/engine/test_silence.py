"""Organisers who have fallen silent."""

from pathlib import Path

from core.control.notices import NoticeRing
from core.joining.silence import SILENCE, SILENT_S, asked_in_vain, heard

NOW = 1_800_000_000.0


def test_silence_of_seven_days_is_told_once(tmp_path: Path) -> None:
    notices = NoticeRing(lambda: NOW)
    for days in (0, 3, 6.99, 7, 8, 30):
        asked_in_vain(tmp_path, "Three languages", notices, NOW + days / 7 * SILENT_S)
        assert len(notices.since(0)) == (days >= 7)
    (told,) = notices.since(0)
    assert 'potluck found --go-on "Three languages"' in told.text
    heard(tmp_path)
    heard(tmp_path)
    asked_in_vain(tmp_path, "Three languages", notices, NOW + 60 * SILENT_S)
    assert len(notices.since(0)) == 1, "it counts anew"


def test_computer_that_was_off_blames_nobody(tmp_path: Path) -> None:
    notices = NoticeRing(lambda: NOW)
    heard(tmp_path)
    asked_in_vain(tmp_path, "Ours", notices, NOW + 50 * SILENT_S)
    assert not notices.since(0)


def test_damaged_or_false_silence_begins_anew(tmp_path: Path) -> None:
    notices = NoticeRing(lambda: NOW)
    for content in (b"", b"{", b'{"since": -1}', b"x" * 9999, b'{"since": 9e11}'):
        (tmp_path / SILENCE).write_bytes(content)
        asked_in_vain(tmp_path, "Ours", notices, NOW)
        assert not notices.since(0)
    asked_in_vain(tmp_path, "Ours", notices, NOW + SILENT_S)
    assert len(notices.since(0)) == 1
