"""From words to exit codes."""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

from core.__main__ import main
from core.api.sentence import Sentence
from core.base.problems import Damaged
from core.cli.engine import control
from core.cli.parsing.commands import COMMANDS
from core.cli.parsing.options import whole
from core.cli.program import PARTS, parser
from tests.unit.cli.conftest import TRAINING_WORDS

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("command", ["quit", "show", "leaderboard", "log", "log --follow"])
def test_nobody_runs(home, capsys, command):
    assert main([*command.split(), "--json"]) == 2
    out, err = capsys.readouterr()
    assert err == "potluck: Potluck is not running. Start it with: potluck\n"
    assert json.loads(out) == {
        "event": "problem",
        "code": "not_running",
        "message": "Potluck is not running.",
        "hint": "Start it with: potluck",
    }


def test_nobody_runs_in_a_process(home):
    done = subprocess.run(
        [sys.executable, "-m", "core", "quit"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "potluck: Potluck is not running. Start it with: potluck\n"


def test_control_commands_load_neither_torch_nor_qt(home):
    script = (
        "import sys; from core.__main__ import main; main(['status'])\n"
        "heavy = ('torch', 'PySide6', 'numpy', 'scipy', 'keyring', 'transformers')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_home_may_be_named(running, monkeypatch, capsys):
    monkeypatch.delenv("POTLUCK_HOME")
    assert main(["status", "--home", str(running.home.directory)]) == 0
    assert capsys.readouterr().out


def test_pause_and_resume(running, capsys):
    assert main(["pause", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["contributing"] is False
    assert main(["resume"]) == 0
    assert capsys.readouterr().out == f"{TRAINING_WORDS}\n"
    assert running.engine.contributing


def test_a_problem_of_the_engine_is_said(running, capsys):
    running.engine.full = True
    assert main(["pause"]) == 2
    out, err = capsys.readouterr()
    assert (out, err) == ("", "potluck: The disk is full. Free some space.\n")
    assert main(["status"]) == 4
    out = capsys.readouterr().out
    assert "Problem. A problem.\n" in out
    assert "A hint." in out


def test_leaderboard(running, capsys):
    assert main(["leaderboard"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[2].startswith("*")
    assert "\x1b" not in "".join(lines)
    assert main(["leaderboard", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["leaderboard"][0]["rank"] == 1


@pytest.mark.parametrize(("obeys", "words"), [(True, []), (False, []), (True, ["--now"])])
def test_quit_leaves_no_process(running, capsys, monkeypatch, obeys, words):
    monkeypatch.setattr(control, "QUIT_S", 0.3)
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as process:
        running.named(process.pid)
        if obeys and not words:
            running.engine.quits = process.kill
        assert main(["quit", *words]) == 0
        assert process.wait(5) != 0
    forced = not obeys or bool(words)
    assert ("by force" in capsys.readouterr().out) == forced


def test_show(running, capsys):
    assert main(["show"]) == 0
    assert "No window is open" in capsys.readouterr().out


def test_log(running, capsys):
    assert main(["log"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line[21:] for line in lines] == ["Joined.", "warning: Slow line."]
    assert main(["log", "--json"]) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [event["notice"]["number"] for event in told] == [1, 2]


def test_log_follows_until_the_engine_stops(running, capsys, monkeypatch):
    from core.cli.engine import control

    said: list[str] = []

    def say(notice, *, json):
        said.append(notice.text)
        if notice.text == "Slow line.":
            running.loop.call_soon_threadsafe(running.notices.add, "info", Sentence("More."))
        if notice.text == "More.":
            running.stop()

    monkeypatch.setattr(control, "say_notice", say)
    assert main(["log", "--follow"]) == 0
    assert said == ["Joined.", "Slow line.", "More."]
    assert "has stopped" in capsys.readouterr().err


def beside_commands(load):
    """Imports by `load`, except the modules that add commands to the program."""
    real, own = importlib.import_module, {f"core.cli.{entry.module}" for entry in COMMANDS.values()}
    return lambda name: real(name) if name in own else load(name)


@pytest.mark.parametrize(
    ("words", "target"),
    [
        ("demo --epochs 5 --headless --json", "core.cli.volunteer.demo:run"),
        ("demo --recipe small-gpt --delayed", "core.cli.volunteer.demo:run"),
        ("engine --embedded --peers 2 --with-parent --stay", "core.cli.volunteer.start:run_engine"),
        ("engine --join link --name x --port 0 --last-epoch 7", "core.cli.volunteer.start:run_engine"),
        ("backbone --charter x --bind 127.0.0.1 --host 127.0.0.1 --with-parent", "core.cli.organiser.backbone:run"),
    ],
)
def test_commands_of_other_parts_are_called(monkeypatch, words, target):
    name, _, function = target.partition(":")
    seen: list[argparse.Namespace] = []

    def run(args: argparse.Namespace) -> int:
        seen.append(args)
        return 7

    module = types.ModuleType(name)
    setattr(module, function, run)
    monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(importlib, "import_module", beside_commands(lambda wanted: sys.modules[wanted]))
    assert main(words.split()) == 7
    assert len(seen) == 1


@pytest.mark.parametrize("name", PARTS)
def test_one_program_is_all_processes(monkeypatch, name):
    seen: list[object] = []

    def load(module: str) -> types.SimpleNamespace:
        assert module == PARTS[name]
        return types.SimpleNamespace(main=seen.append)

    monkeypatch.setattr(importlib, "import_module", load)
    assert main([name, "--source", "x"]) == 0
    assert seen == [["--source", "x"]]


def called(monkeypatch, error: BaseException) -> int:
    def run(_args: argparse.Namespace) -> int:
        raise error

    monkeypatch.setattr("core.cli.window.run", run)
    return main([])


def test_interrupted(monkeypatch, capsys):
    assert called(monkeypatch, KeyboardInterrupt()) == 130
    assert capsys.readouterr().err == ""


def test_problems_are_sentences(monkeypatch, capsys):
    assert called(monkeypatch, Damaged("It broke.", hint="Mend it.")) == 2
    assert capsys.readouterr() == ("", "potluck: It broke. Mend it.\n")


def test_a_missing_library_is_a_sentence(monkeypatch, capsys):
    def missing(_name: str) -> None:
        raise ModuleNotFoundError("No module named 'torch'", name="torch")

    monkeypatch.setattr(importlib, "import_module", beside_commands(missing))
    assert main(["demo"]) == 1
    assert "torch, which is not installed" in capsys.readouterr().err


def test_a_missing_window_is_a_sentence(monkeypatch, capsys):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    assert main([]) == 1
    assert "PySide6" in capsys.readouterr().err


def test_the_window_opens(monkeypatch):
    app = types.SimpleNamespace(main=lambda argv: 3 if argv == [] else 4)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    monkeypatch.setattr(importlib, "import_module", lambda _name: app)
    assert main([]) == 3


def test_the_window_opens_with_a_link_that_was_clicked(monkeypatch):
    seen = []
    app = types.SimpleNamespace(main=lambda argv: seen.append(argv) or 0)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    monkeypatch.setattr(importlib, "import_module", lambda _name: app)
    assert main(["potluck://host:1/ab#cd"]) == 0
    assert seen == [["potluck://host:1/ab#cd"]]


def test_reader_of_the_output_may_stop(running):
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as out:  # noqa: PTH123 - a descriptor
        done = subprocess.run(
            [sys.executable, "-m", "core", "leaderboard"], cwd=ROOT, stdout=out, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, done.stderr) == (0, b"")


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("potluck ")


def test_every_command_has_help(capsys):
    for words in (["demo"], ["engine"], ["status"], ["log"]):
        with pytest.raises(SystemExit) as caught:
            parser().parse_args([*words, "--help"])
        assert caught.value.code == 0
    assert capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        ["backbone", "--charter"],
        ["demo", "--headless", "--text"],
        ["engine", "--embedded", "--text"],
        ["engine", "--join", "x", "--text"],
    ],
)
def test_a_folder_that_is_not_there_is_a_sentence(words, home, tmp_path, capsys):
    assert main([*words, str(tmp_path / "nowhere")]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith(f"potluck: There is no folder {tmp_path / 'nowhere'}. Name ")
    assert "Errno" not in said


def test_a_home_that_is_a_file_is_a_sentence(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    for words in (["demo", "--headless"], ["status"]):
        assert main([*words, "--home", str(tmp_path / "file")]) == 2
        assert "Errno" not in capsys.readouterr().err


def test_whole_numbers():
    assert whole(1, 5)("3") == 3
    for text in ("0", "6", "3.0", ""):
        with pytest.raises(argparse.ArgumentTypeError):
            whole(1, 5)(text)
