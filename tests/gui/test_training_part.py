"""The dialog in which a person gets what trains: sizes before, progress meanwhile, and what came of it."""

import sys

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.commands.line_command import LineCommand
from app.pages.verdict_actions import offers_of
from app.views.training_part import TrainingPartDialog, build_title
from core.api import verdict as verdicts
from core.api.training_part import NEEDS_PART, NO_PART

PROGRAM = """
import json, sys, time
from pathlib import Path
words = sys.argv[1:sys.argv.index("--json")]
home = Path(sys.argv[sys.argv.index("--home") + 1])
(home / "calls").open("a").write(" ".join(words) + "\\n")
here = (home / "here").exists()
if words[1] == "get":
    for done in (50, 150):
        print(json.dumps({"event": "progress", "step": "downloading", "done_bytes": done * 10**6,
                          "total_bytes": 300 * 10**6, "rest_s": 90.0, "share": done / 300}), flush=True)
    if (home / "waits").exists():
        time.sleep(60)
    if (home / "broken").exists():
        print(json.dumps({"event": "problem", "code": "user", "message": "The line broke.", "hint": "Try again."}))
        sys.exit(2)
    (home / "here").touch()
    here = True
elif words[1] == "remove":
    (home / "here").unlink()
    here = False
builds = [{"name": name, "title": name, "download_bytes": size * 10**6, "disk_bytes": size * 4 * 10**6}
          for name, size in (("cu130", 2900), ("cpu", 300))]
print(json.dumps({"event": "training_part", "state": "here" if here else "missing", "build": "cpu" if here else "",
                  "disk_bytes": 10**9 if here else 0, "builds": builds, "better": "", "advice": ""}))
"""


@pytest.fixture
def dialog(parts, tmp_path, until):
    made = TrainingPartDialog(LineCommand(tmp_path, [sys.executable, "-S", "-c", PROGRAM]), parts.window)
    parts.window.show()
    made.ask()
    until(made.build.count)
    yield made
    made.close()
    if made.isVisible():
        made.box.yes.click()


def test_sizes_are_told_before_anything_is_got(dialog, tmp_path):
    assert "Training needs torch" in dialog.state.text()
    assert dialog.get.text() == "&Get it (2.9 GB)"
    dialog.build.setCurrentIndex(1)
    assert dialog.get.text() == "&Get it (300 MB)"
    assert "1.2 GB of the disk" in dialog.sizes.text()
    assert dialog.remove.isHidden()
    assert (tmp_path / "calls").read_text() == "training-part show\n"


def test_part_is_got_and_removed(dialog, tmp_path, until):
    dialog.build.setCurrentIndex(1)
    dialog.get.click()
    until(lambda: "150 MB of 300 MB, about 1 min left" in dialog.said.text() or "here now" in dialog.said.text())
    until(lambda: "here now" in dialog.said.text())
    assert "this computer can train" in dialog.state.text()
    assert (dialog.get.text(), dialog.build.currentData()) == ("&Get it again (300 MB)", "cpu")
    dialog.remove.click()
    assert "1.0 GB become free" in dialog.box.informativeText()
    dialog.box.yes.click()
    until(lambda: "Training needs torch" in dialog.state.text())
    wanted = ["training-part show", "training-part get --build cpu", "training-part remove"]
    assert (tmp_path / "calls").read_text().splitlines() == wanted


def test_failure_says_what_to_do(dialog, tmp_path, until):
    (tmp_path / "broken").touch()
    dialog.get.click()
    until(lambda: dialog.said.text() == "The line broke. Try again.")
    assert dialog.get.isEnabled()


def test_download_is_stopped_only_when_the_person_says_so(dialog, tmp_path, until):
    (tmp_path / "waits").touch()
    dialog.get.click()
    until(lambda: "150 MB" in dialog.said.text())
    assert not dialog.get.isEnabled()
    dialog.no.click()
    assert dialog.isVisible()
    dialog.box.yes.click()
    assert not dialog.isVisible()


@pytest.mark.parametrize(
    "verdict", [verdicts.contributing(NO_PART), verdicts.problem(NEEDS_PART, "It is not installed here.")]
)
def test_window_offers_the_part_once(parts, examples, until, verdict):
    assert [offer.words for offer in offers_of(verdict)] == ["Get the training part…"]
    parts.window.show()
    parts.store.put(examples.snapshot(verdict))
    until(parts.window.part_offer.dialog.isVisible)
    assert parts.choices.part_offered
    parts.window.part_offer.dialog.reject()
    parts.store.put(examples.snapshot())
    parts.store.put(examples.snapshot(verdict))
    assert not parts.window.part_offer.dialog.isVisible()
    QTest.mouseClick(parts.window.home.offers[0], Qt.MouseButton.LeftButton)
    assert parts.window.part_offer.dialog.isVisible()
    parts.window.part_offer.dialog.reject()


def test_builds_have_titles():
    assert build_title("cu130") == "Graphics card of NVIDIA (CUDA 13.0)"
    assert build_title("rocm7.2") == "Graphics card of AMD (ROCm 7.2)"
    assert build_title("cpu") == "Processor"
