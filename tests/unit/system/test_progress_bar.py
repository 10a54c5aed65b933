import io
import os

import pytest

from core.system.progress_bar import ProgressBar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_bar_shows_what_is_done_and_the_time_left() -> None:
    terminal, clock = Terminal(), Clock()
    bar = ProgressBar(stream=terminal, clock=clock)
    bar.show(0.0, "stores")
    clock.now += 30
    bar.show(0.25, "stores")
    assert terminal.getvalue().endswith("[########......................] stores, 1:30 left")
    bar.clear()
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_new_part_is_estimated_afresh_with_few_redraws() -> None:
    terminal, clock = Terminal(), Clock()
    bar = ProgressBar(stream=terminal, clock=clock)
    bar.show(0.5, "joining", part="joining")
    drawn = terminal.getvalue()
    clock.now += 0.01
    bar.show(0.6, "joining", part="joining")
    assert terminal.getvalue() == drawn
    bar.show(0.0, "stores", part="stores")
    clock.now += 10
    bar.show(0.5, "stores", part="stores")
    assert terminal.getvalue().endswith("stores, 0:10 left")


def test_there_is_none_where_nobody_sees_it(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.StringIO()
    ProgressBar(json=True, stream=file).show(0.5, "stores")
    monkeypatch.setattr("sys.stdout", Terminal())
    terminal = Terminal()
    ProgressBar(json=True, stream=terminal).show(0.5, "stores")
    assert file.getvalue() == terminal.getvalue() == ""
    monkeypatch.setattr("sys.stdout", io.StringIO())
    ProgressBar(json=True, stream=terminal).show(0.5, "stores")
    assert terminal.getvalue()


def test_lines_tell_what_begins_where_there_is_no_terminal() -> None:
    file, clock = io.StringIO(), Clock()
    bar = ProgressBar(stream=file, clock=clock)
    for share in range(5):
        bar.show(share / 10, "reading", part="reading")
        clock.now += 3
    bar.show(0.5, "training", part="training")
    bar.clear()
    assert file.getvalue().splitlines() == ["reading", "reading (40%, 0:18 left)", "training"]


def test_count_that_goes_on_is_told_now_and_then() -> None:
    file, clock = io.StringIO(), Clock()
    bar = ProgressBar(stream=file, clock=clock)
    for done in range(21):
        bar.show(done / 40, f"{done} of 40 worlds")
        clock.now += 1
    assert [line.split()[0] for line in file.getvalue().splitlines()] == ["0", "10", "20"]


def test_a_terminal_that_can_erase_nothing_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    terminal = Terminal()
    ProgressBar(stream=terminal).show(0.5, "stores")
    assert terminal.getvalue() == "stores\n"


def test_there_is_none_where_stderr_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", None)
    bar = ProgressBar()
    bar.show(0.5, "stores")
    bar.clear()


def test_it_is_no_longer_than_a_line_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Terminal, "fileno", lambda _: 2)
    monkeypatch.setattr("os.get_terminal_size", lambda _: os.terminal_size((40, 24)))
    terminal = Terminal()
    ProgressBar(stream=terminal).show(0.5, "measuring hivemind, which takes minutes")
    assert len(terminal.getvalue().removeprefix("\r\x1b[K")) == 39


def test_share_that_has_not_grown_is_not_told_again() -> None:
    now, file = [0.0], io.StringIO()
    bar = ProgressBar(stream=file, clock=lambda: now[0])
    for wait_s, share in ((19, 0.0), (7, 0.0), (3, 0.2)):
        bar.show(share, f"asked again in {wait_s} s.")
        now[0] += 11
    lines = file.getvalue().splitlines()
    assert lines[:2] == ["asked again in 19 s.", "asked again in 7 s."]
    assert lines[2].startswith("asked again in 3 s. (20%")
