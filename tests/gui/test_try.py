"""Try the model in the window, with a program in place of `potluck`."""

import sys

import pytest

from app.commands.line_command import LineCommand
from app.views.saving import SaveRow
from app.views.try_box import TryBox

PROGRAM = """
import json, sys
asked = sys.stdin.readline().rstrip("\\n")
print(json.dumps({"event": "progress", "text": "Loading", "fraction": 0.1}))
if asked == "refuse":
    print(json.dumps({"event": "problem", "code": "no_model", "message": "There is no model yet.", "hint": "Wait."}))
elif asked == "crash":
    sys.exit(1)
elif "___" in asked:
    said = {"event": "filled", "text": asked.replace("___", "idle"), "epoch": 7}
    said["blanks"] = [[{"text": "idle", "probability": 0.5}, {"text": "own", "probability": 0.25}]]
    print(json.dumps(said))
else:
    print(json.dumps({"event": "continued", "text": " and so on"}))
"""


@pytest.fixture
def box(parts, tmp_path):
    command = LineCommand(tmp_path, [sys.executable, "-c", PROGRAM])
    made = TryBox(command, parts.theme)
    made.show()
    yield made
    command.stop()
    made.hide()
    made.deleteLater()


def asked(box, until, words):
    box.line.setText(words)
    box.button.click()
    assert not box.button.isEnabled()
    until(box.button.isEnabled, 20_000)
    return box.said.text()


def test_blank_is_filled_with_bars_of_words(box, until):
    assert asked(box, until, "Their ___ computers.") == "Epoch 7: Their idle computers."
    assert [bars.isVisible() for bars in box.bars] == [True, False, False]
    assert box.bars[0].words == "idle 50 %, own 25 %"
    assert box.bars[0].accessibleDescription() == box.bars[0].words


def test_text_goes_on_with_a_model_that_writes(box, until):
    assert asked(box, until, "Once") == "Once and so on"
    assert not any(bars.isVisible() for bars in box.bars)


@pytest.mark.parametrize(("words", "said"), [("refuse", "There is no model yet. Wait."), ("crash", "gave no answer")])
def test_no_answer_is_a_sentence(box, until, words, said):
    assert said in asked(box, until, words)


def test_empty_line_is_a_sentence(box):
    box.line.setText("  ")
    box.button.click()
    assert "Write a sentence first" in box.said.text()
    assert box.button.isEnabled()


def test_program_that_is_not_there_is_a_sentence(parts, tmp_path, until):
    box = TryBox(LineCommand(tmp_path, [str(tmp_path / "nothing")]), parts.theme)
    box.button.click()
    until(box.button.isEnabled)
    assert "gave no answer" in box.said.text()
    box.deleteLater()


EXPORTS = """
import json, sys
folder = sys.argv[2]
print(json.dumps({"event": "progress", "text": "Writing", "fraction": 0.5}), flush=True)
if "full" in folder:
    print(json.dumps({"event": "problem", "code": "disk", "message": "The disk is full.", "hint": "Free some space."}))
elif "dies" in folder:
    sys.exit(3)
else:
    print(json.dumps({"folder": folder, "epoch": 94, "loss": 4.1}))
"""


@pytest.fixture
def row(parts, tmp_path):
    command = LineCommand(tmp_path, [sys.executable, "-c", EXPORTS])
    made = SaveRow(command)
    made.collaboration = "Kitchen words: all/of them"
    made.show()
    yield made
    command.stop()
    made.hide()
    made.deleteLater()


def test_model_is_saved_into_a_new_folder_of_its_name(row, until, tmp_path):
    (tmp_path / "Kitchen-words--all-of-them").mkdir()
    row.save(tmp_path)
    assert not row.button.isEnabled()
    until(row.button.isEnabled, 20_000)
    assert row.said.text() == f"The model after epoch 94 is in {tmp_path}/Kitchen-words--all-of-them-2."
    assert row.open.isVisible()


@pytest.mark.parametrize(
    ("name", "said"), [("full", "The disk is full. Free some space."), ("dies", "The model was not saved.")]
)
def test_model_that_is_not_saved_gets_a_sentence(row, until, tmp_path, name, said):
    row.collaboration = name
    row.save(tmp_path)
    until(row.button.isEnabled, 20_000)
    assert row.said.text() == said
    assert not row.open.isVisible()
