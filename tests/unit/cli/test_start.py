"""What an engine without a window says in a terminal."""

import logging

import pytest

from core.base.problems import BadInput
from core.cli.start import log_notice, told_address
from core.control.notices import NoticeRing


def test_notices_are_lines_of_the_log(caplog):
    notices = NoticeRing(lambda: 0.0)
    notices.listen(log_notice)
    with caplog.at_level(logging.INFO):
        notices.tell("info", "engine.joined", name="Ada's\x1b[31m\npoems")
        notices.add("warning", "There is no connection.")
        notices.add("problem", "The disk is full.")
    (level, joined), *others = [(record.levelno, record.getMessage()) for record in caplog.records]
    assert level == logging.INFO
    assert joined.startswith("This computer takes part in Ada's")
    assert joined.isprintable()
    assert others == [(logging.WARNING, "There is no connection."), (logging.ERROR, "The disk is full.")]


@pytest.mark.parametrize("host", ["http://example.org", "192.0.2.1:99", "two words", "[::1]"])
def test_an_address_that_nobody_could_call_is_refused(host):
    with pytest.raises(BadInput, match="is no address that others could call"):
        told_address(host)


@pytest.mark.parametrize("host", ["", "192.0.2.1", "::1", "potluck.example.org"])
def test_an_address_that_others_can_call_is_told(host):
    assert told_address(host) == host
