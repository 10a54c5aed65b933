"""What a sample is: one touch away from each place where samples are counted."""

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from core.api.sample_text import SAMPLES, UNSIZED, sample_sentence, sample_size


@pytest.fixture(params=["home", "gift", "people"])
def explained(request, parts, examples):
    whole = examples.snapshot()
    known = msgspec.structs.replace(whole.collaboration, task="albert", sample_size=64)
    parts.store.put(msgspec.structs.replace(whole, collaboration=known))
    parts.window.show()
    parts.window.actions_.pages[request.param].trigger()
    return parts.window.pages[request.param].sample


def test_sample_is_explained_by_one_touch(explained):
    assert explained.words == ""
    QTest.mouseClick(explained.button, Qt.MouseButton.LeftButton)
    assert explained.words.startswith("A sample is a text of at most 64 words")
    assert explained.words.endswith("when 2 048 of them are computed, on all computers together.")
    QTest.keyClick(explained.button, Qt.Key.Key_Space)
    assert explained.words == ""


def test_answer_is_told_to_a_screen_reader(explained):
    assert explained.button.accessibleDescription().startswith("A sample is a text")


def test_nothing_is_asked_before_there_is_a_collaboration(parts, examples):
    parts.store.put(examples.starting())
    parts.window.show()
    parts.window.actions_.pages["gift"].trigger()
    assert not parts.window.pages["gift"].sample.isVisible()


@pytest.mark.parametrize(
    ("numbers", "size"),
    [({"sequence_length": 512}, 512), ({"length": 64}, 64), ({}, 0), ({"length": -1}, 0), ({"length": True}, 0),
     ({"length": "x" * 99}, 0), ({"length": 10**12}, 0)],
)  # fmt: skip
def test_size_of_a_strangers_manifest_has_bounds(numbers, size):
    assert sample_size(numbers) == size


def test_each_task_has_its_sentence():
    from core.base.tasks import TASKS

    assert SAMPLES.keys() == TASKS.keys()
    assert "{" not in "".join(str(sample_sentence(task, 64)) for task in TASKS)
    assert {str(sample_sentence("albert", 0)), str(sample_sentence("new", 7))} == {UNSIZED}
