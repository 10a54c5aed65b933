"""The ring of notices."""

from core.api.sentence import Sentence
from core.control.notices import TEXT_MAX, NoticeRing


def test_numbers_go_up_and_old_ones_go():
    ring = NoticeRing(lambda: 5.0)
    for number in range(NoticeRing.SIZE + 20):
        ring.add("info", Sentence("notice {number}", number))
    assert ring.last == NoticeRing.SIZE + 20
    kept = ring.since(0)
    assert len(kept) == NoticeRing.SIZE
    assert [notice.number for notice in kept] == list(range(21, ring.last + 1))
    assert [notice.number for notice in ring.since(ring.last - 2)] == [ring.last - 1, ring.last]
    assert ring.since(ring.last) == []


def test_text_is_bounded_and_listeners_hear():
    ring = NoticeRing(lambda: 5.0)
    heard = []
    ring.listen(heard.append)
    notice = ring.add("problem", Sentence("x" * 5000))
    assert len(notice.text) == TEXT_MAX
    assert heard == [notice]
    assert ring.add("problem", Sentence("a\udc80b")).text == "a?b"


def test_happening_is_kept_as_sentence_code_and_arguments():
    told = NoticeRing(lambda: 1.0).tell("info", "round.weight", epoch=3, weight=4100, samples=12_300)
    assert told.text.startswith("Step 3 counted 4 100 of this computer's 12 300 samples:")
    assert (told.code, told.args) == ("round.weight", {"epoch": 3, "weight": 4100, "samples": 12_300})
