"""What `potluck status` says, with an engine and without one."""

import json
import subprocess
import sys

import msgspec
import pytest

from core.__main__ import main
from core.api.commands import EngineFile
from core.api.sentence import Sentence
from core.api.snapshot import PROTOCOL_VERSION
from core.control.notices import NoticeRing
from core.engine.remembered.notice_file import NoticeFile
from tests.unit.cli.conftest import TRAINING_WORDS


def test_status(running, capsys):
    assert main(["status"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"Contributing. {TRAINING_WORDS}\n")
    assert "12 345 samples in 2 steps of the model" in out
    assert main(["status", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["event"], told["code"], told["reason"]) == ("status", "contributing", "training")
    assert told["sentence"] == TRAINING_WORDS
    assert told["snapshot"]["epoch"] == 3


@pytest.mark.parametrize(("left_behind", "reason"), [(False, "stopped"), (True, "killed")])
def test_status_tells_what_it_means_that_no_engine_answers(home, capsys, left_behind, reason):
    if left_behind:
        home.engine_file.write_bytes(
            msgspec.json.encode(EngineFile(pid=1, port=1, token="t", protocol=PROTOCOL_VERSION, started=1.0))
        )
    assert main(["status", "--json"]) == 2
    told = json.loads(capsys.readouterr().out)
    assert (told["code"], told["reason"], told["snapshot"]) == ("not_connected", reason, None)
    assert main(["status"]) == 2
    assert capsys.readouterr().out.startswith(f"Not connected. {told['sentence']}")


def test_status_of_an_engine_of_another_version(home, capsys):
    file = EngineFile(pid=1, port=1, token="t", protocol=PROTOCOL_VERSION + 1, started=1.0)
    home.engine_file.write_bytes(msgspec.json.encode(file))
    assert main(["status", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["reason"] == "version"


def test_an_engine_of_another_version_can_be_stopped(running, capsys):
    file = msgspec.json.decode(running.home.engine_file.read_bytes(), type=EngineFile)
    other = msgspec.structs.replace(file, protocol=PROTOCOL_VERSION + 1)
    running.home.engine_file.write_bytes(msgspec.json.encode(other))
    assert main(["pause"]) == 2
    assert "potluck quit" in capsys.readouterr().err
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as process:
        running.engine.quits = process.kill
        running.named(process.pid)
        assert main(["quit"]) == 0


def test_status_without_an_engine_names_the_command_that_leads_on(home, capsys):
    (home.directory / "embedded").mkdir()
    assert main(["status"]) == 2
    assert capsys.readouterr().out.endswith("or without a screen: potluck demo --headless\n")
    assert main(["engine"]) == 2
    assert "Alone: potluck demo --headless" in capsys.readouterr().err


def test_log_tells_the_last_run_when_no_engine_runs(home, capsys):
    assert main(["log"]) == 2
    assert "not running" in capsys.readouterr().err
    ring = NoticeRing(lambda: 5.0)
    NoticeFile(home.notices_file).follow(ring)
    ring.add("problem", Sentence("The line is cut."))
    assert main(["log"]) == 0
    said = capsys.readouterr()
    assert "The line is cut." in said.out
    assert str(home.notices_file) in said.err


def test_a_file_in_the_place_of_a_home_is_told(tmp_path, capsys):
    (tmp_path / "file").touch()
    assert main(["status", "--home", str(tmp_path / "file")]) == 2
    assert "name another folder" in capsys.readouterr().err


def test_engine_that_refuses_this_program_is_no_silent_one(running, capsys):
    """Its file was brought back from a copy, say: the token is that of an earlier run."""
    file = msgspec.json.decode(running.home.engine_file.read_bytes(), type=EngineFile)
    running.home.engine_file.write_bytes(msgspec.json.encode(msgspec.structs.replace(file, token="t" * 43)))
    assert main(["status", "--json"]) == 5
    told = json.loads(capsys.readouterr().out)
    assert (told["code"], told["reason"], "says nothing" in told["sentence"]) == ("no_answer", "no_entry", False)
    assert main(["status"]) == 5
    assert capsys.readouterr().out.startswith("Potluck refuses this program. It runs")
    for words in (["pause"], ["log", "--follow"]):
        assert main(words) == 2
        assert "does not let this program in" in capsys.readouterr().err
    running.home.engine_file.write_bytes(msgspec.json.encode(msgspec.structs.replace(file, token="t", pid=1)))
    assert main(["show"]) == 2
    assert "is not running" in capsys.readouterr().err
