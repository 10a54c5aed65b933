"""The live line."""

import io

import pytest

from core.api.verdict import starting
from core.cli.printing.progress import LiveLine, live_text
from tests.unit.cli.conftest import a_snapshot


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def test_plain_lines_without_a_terminal():
    stream = io.StringIO()
    line = LiveLine(stream, {})
    line.message("Hello.")
    for samples in range(5):
        line.update(a_snapshot(epoch_samples=samples))
    line.update(a_snapshot(epoch=4, verdict=starting("catching_up")))
    line.close()
    assert stream.getvalue().splitlines() == [
        "Hello.",
        "epoch 3  1 volunteer  123 samples/s  loss 8.500  held-out 8.000  training",
        "epoch 4  1 volunteer  123 samples/s  loss 8.500  held-out 8.000  catching up",
    ]


def test_one_line_in_a_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    stream = Terminal()
    line = LiveLine(stream, {"NO_COLOR": "1"})
    line.update(a_snapshot())
    line.update(a_snapshot(epoch_samples=1000))
    line.message("A word\x1b[2J.")
    line.close()
    text = stream.getvalue()
    assert text.count("\n") == 2
    assert text.count("\r\x1b[K") == 4
    assert "████████░░░░░░░░░░░░  40%" in text
    assert "100%" in text
    assert "\x1b[1m" not in text
    assert "\x1b[2J" not in text


def test_bold_and_narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    stream = Terminal()
    LiveLine(stream, {}).update(a_snapshot())
    shown = stream.getvalue().removeprefix("\r\x1b[K").replace("\x1b[1m", "").replace("\x1b[0m", "")
    assert "\x1b[1mepoch 3\x1b[0m" in stream.getvalue()
    assert shown == "epoch 3  40%  training"


def test_a_dumb_terminal_gets_plain_lines():
    stream = Terminal()
    LiveLine(stream, {"TERM": "dumb"}).update(a_snapshot())
    assert "\x1b" not in stream.getvalue()


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        (200, "epoch 3  ########............  40%  1 volunteer  123 samples/s  loss 8.500  held-out 8.000  training"),
        (90, "epoch 3  ####......  40%  1 volunteer  123 samples/s  loss 8.500  held-out 8.000  training"),
        (79, "epoch 3  ####......  40%  1 volunteer  123 samples/s  loss 8.500  training"),
        (60, "epoch 3  40%  123 samples/s  loss 8.500  training"),
        (40, "epoch 3  40%  loss 8.500  training"),
        (5, "epoch"),
    ],
)
def test_least_important_part_is_cut_first(columns, shown):
    assert live_text(a_snapshot(), "#.", columns=columns) == shown
    assert len(live_text(a_snapshot(), "#.", columns=columns)) <= columns


def test_before_a_collaboration_it_says_what_is_prepared():
    stream = io.StringIO()
    line = LiveLine(stream, {})
    for percent in (1, 2, 30):
        verdict = starting("preparing", stage="Reading text", percent=percent)
        preparing = a_snapshot(collaboration=None, curve=[], verdict=verdict)
        line.update(preparing)
    assert stream.getvalue() == "Reading text (1 %)\n"
    assert live_text(preparing, "#.") == "Reading text (30 %)"
    assert live_text(preparing, "#.", columns=7) == "Reading"
