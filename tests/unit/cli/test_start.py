"""What an engine without a window says in a terminal."""

import logging

from core.api.sentence import Sentence
from core.cli.volunteer.start import log_notice
from core.control.notices import NoticeRing


def test_notices_are_lines_of_the_log(caplog):
    notices = NoticeRing(lambda: 0.0)
    notices.listen(log_notice)
    with caplog.at_level(logging.INFO):
        notices.tell("info", "engine.joined", name="Ada's\x1b[31m\npoems")
        notices.add("warning", Sentence("There is no connection."))
        notices.add("problem", Sentence("The disk is full."))
    (level, joined), *others = [(record.levelno, record.getMessage()) for record in caplog.records]
    assert level == logging.INFO
    assert joined.startswith("This computer takes part in Ada's")
    assert joined.isprintable()
    assert others == [(logging.WARNING, "There is no connection."), (logging.ERROR, "The disk is full.")]
