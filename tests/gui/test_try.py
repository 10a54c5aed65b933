"""Try the model in the window, with a program in place of `potluck`."""

import sys

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog

from app.commands.line_command import LineCommand
from app.commands.trying import ModelTalk
from app.views.saving import SaveRow
from app.views.try_box import TryBox
from app.widgets.chips import Chip, markup

PROGRAM = """
import json, os, sys
for line in sys.stdin:
    asked = json.loads(line)
    text, step = asked["text"], asked["step"]
    print(json.dumps({"event": "progress", "text": "Loading", "fraction": 0.1}))
    said = {"epoch": step or 94, "steps": [5, 40, 94]}
    if text == "refuse":
        said = {"event": "problem", "code": "no_model", "message": "There is no model yet.", "hint": "Wait."}
    elif text == "crash":
        sys.exit(1)
    elif text == "who":
        said |= {"event": "continued", "text": str(os.getpid())}
    elif not text:
        said["event"] = "ready"
    elif "___" in text:
        said["epoch"] = 60 if "late" in text else said["epoch"]
        said |= {"event": "filled", "text": text.replace("___", "idle")}
        said["blanks"] = [[{"text": "idle", "probability": 0.5}, {"text": "own", "probability": 0.25}]]
    else:
        said |= {"event": "continued", "text": " and so on", "steps": [94]}
    print(json.dumps(said), flush=True)
"""


@pytest.fixture
def box(parts, tmp_path):
    talk = ModelTalk(tmp_path, [sys.executable, "-c", PROGRAM])
    made = TryBox(talk, parts.theme)
    made.talk = talk
    made.show()
    yield made
    talk.stop()
    made.hide()
    made.deleteLater()


def asked(box, until, words):
    box.line.setText(words)
    box.button.click()
    assert not box.button.isEnabled()
    until(box.button.isEnabled, 20_000)
    return box.words


def test_blank_is_filled_with_bars_of_words(box, until):
    assert asked(box, until, "Their ___ computers.") == "Their [idle] computers."
    assert box.heading.text() == "Step 94"
    assert [bars.isVisible() for bars in box.bars] == [True, False, False]
    assert box.bars[0].words == "idle 50 %, own 25 %"
    assert box.bars[0].accessibleName().endswith(box.bars[0].words)
    assert box.chips.accessibleName() == box.words


def test_text_goes_on_with_a_model_that_writes(box, until):
    assert asked(box, until, "Once") == "Once and so on"
    assert not any(bars.isVisible() for bars in box.bars)
    assert not box.slider.isVisible(), "one step is kept"


def test_next_question_goes_to_the_same_process(box, until):
    first = asked(box, until, "who")
    assert asked(box, until, "who") == first != "who"


@pytest.mark.parametrize("begins", ["click", "write"])
def test_model_is_loaded_while_somebody_begins(box, until, begins):
    box.line.setFocus()
    assert not box.talk.runs
    if begins == "click":
        QTest.mouseClick(box.line, Qt.MouseButton.LeftButton)
    else:
        QTest.keyClick(box.line, Qt.Key.Key_A)
    until(box.slider.isVisible, 20_000)
    assert box.talk.runs
    assert box.slider.maximum() == 2
    assert box.slider.value() == 2
    assert box.button.isEnabled()
    assert box.words == "", "nothing was asked"


def test_slider_asks_the_model_of_an_earlier_step(box, until):
    asked(box, until, "Their ___ computers.")
    box.slider.setFocus()
    for step, key in (("40", Qt.Key.Key_Left), ("5", Qt.Key.Key_Home), ("94", Qt.Key.Key_End)):
        QTest.keyClick(box.slider, key)
        assert not box.button.isEnabled()
        until(box.button.isEnabled, 20_000)
        assert box.heading.text() == f"Step {step}"
        assert box.slider.accessibleDescription().startswith(f"after step {step}.")


def test_slider_stands_at_a_step_that_has_gone(box, until):
    asked(box, until, "late ___ here")
    assert box.heading.text() == "Step 60"
    assert box.slider.accessibleDescription().startswith("after step 60.")


def test_copied_answer_names_its_step(box, until):
    asked(box, until, "Their ___ computers.")
    QTest.mouseClick(box.copy, Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == "Step 94: Their [idle] computers."
    assert box.copy.text() == "Copied"


@pytest.mark.parametrize(("words", "said"), [("refuse", "There is no model yet. Wait."), ("crash", "gave no answer")])
def test_no_answer_is_a_sentence(box, until, words, said):
    assert said in asked(box, until, words)
    assert not box.copy.isVisible()
    assert asked(box, until, "Their ___ computers.") == "Their [idle] computers."


def test_empty_line_is_a_sentence(box):
    box.line.setText("  ")
    box.button.click()
    assert "Write a sentence first" in box.said.text()
    assert box.button.isEnabled()


@pytest.mark.parametrize("program", ["nothing", ""])
def test_program_that_is_not_there_is_a_sentence(parts, tmp_path, until, program):
    box = TryBox(ModelTalk(tmp_path, [str(tmp_path / program)] if program else []), parts.theme)
    box.button.click()
    until(box.button.isEnabled)
    assert "gave no answer" in box.said.text()
    box.deleteLater()


def test_process_ends_when_nobody_asks(box, until, monkeypatch):
    box.talk.idle.setInterval(50)
    asked(box, until, "Their ___ computers.")
    until(lambda: not box.talk.runs)
    assert box.words == "Their [idle] computers."


def test_words_of_a_chip_are_no_markup(parts):
    made = markup(("<b>&", Chip("<img src=x>", "\u202eright")), parts.theme.colours)
    assert "<b>" not in made
    assert "<img" not in made
    assert "\u202e" not in made
    assert "line-through" in made


EXPORTS = """
import json, sys
folder = sys.argv[2]
if "--progress" in sys.argv:
    print(json.dumps({"event": "progress", "text": "Writing the files", "share": 0.5}), flush=True)
if "full" in folder:
    print(json.dumps({"event": "problem", "code": "disk", "message": "The disk is full.", "hint": "Free some space."}))
elif "dies" in folder:
    sys.exit(3)
elif "mixture" in folder and "--incomplete" not in sys.argv:
    print(json.dumps({"event": "problem", "code": "bad_input", "message": "128 experts are missing.", "hint": ""}))
else:
    parts = {"experts": 128, "places": 256} if "mixture" in folder else {}
    print(json.dumps({"folder": folder, "epoch": 94, "loss": 4.1, **parts}))
"""


@pytest.fixture
def row(parts, tmp_path):
    command = LineCommand(tmp_path, [sys.executable, "-c", EXPORTS])
    made = SaveRow(command)
    made.show_model("Kitchen words: all/of them", has_experts=False)
    made.show()
    yield made
    command.stop()
    made.hide()
    made.deleteLater()


def test_model_with_experts_is_saved_without_those_that_live_nowhere(row, until, tmp_path):
    """On the command line somebody can add --incomplete; in the window nobody could."""
    row.show_model("mixture", has_experts=True)
    row.save(tmp_path)
    until(row.button.isEnabled, 20_000)
    missing = "128 of its 256 experts live nowhere now, and are not in it."
    assert row.said.text() == f"The model after step 94 is in {tmp_path}/mixture. {missing}"


def test_model_is_saved_into_a_new_folder_of_its_name(row, until, tmp_path, monkeypatch):
    said, show = [], row.said.setText
    monkeypatch.setattr(row.said, "setText", lambda words: (said.append(words), show(words)))
    (tmp_path / "Kitchen-words--all-of-them").mkdir()
    row.save(tmp_path)
    assert not row.button.isEnabled()
    until(row.button.isEnabled, 20_000)
    assert row.said.text() == f"The model after step 94 is in {tmp_path}/Kitchen-words--all-of-them-2."
    assert said == ["The newest model is written…", "Writing the files, 50 %", row.said.text()]
    assert row.open.isVisible()


def test_menu_asks_where_the_model_goes(parts, examples, monkeypatch):
    asked = []
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *words: asked.append(words) or "")
    parts.window.show()
    assert not parts.window.actions_.save.isEnabled()
    parts.store.put(examples.snapshot())
    parts.window.actions_.save.trigger()
    assert parts.window.open_page == "model"
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("name", "said"), [("full", "The disk is full. Free some space."), ("dies", "The model was not saved.")]
)
def test_model_that_is_not_saved_gets_a_sentence(row, until, tmp_path, name, said):
    row.show_model(name, has_experts=False)
    row.save(tmp_path)
    until(row.button.isEnabled, 20_000)
    assert row.said.text() == said
    assert not row.open.isVisible()
