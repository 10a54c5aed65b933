"""`potluck pause` and `resume`: for good and for a time, with an engine and without, and what a script learns."""

import json
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from core.__main__ import main
from core.api import verdict as verdicts
from core.api.modes import OFF, UseMode, UseSwitch
from core.base.problems import BadInput
from core.cli.engine.control import EXITS
from core.cli.engine.pausing import read_end
from core.storage.settings import load_settings

EVENING = datetime(2026, 11, 18, 21, 30, tzinfo=ZoneInfo("UTC")).astimezone()


def in_s(time=None, until=None):
    return read_end(time, until, EVENING) - EVENING.timestamp()


def test_an_end_is_read_as_people_write_it():
    assert [in_s(time) for time in ("90s", "30min", "1h", "2 d")] == [90, 1800, 3600, 172_800]
    later, sooner = (EVENING + timedelta(hours=hours) for hours in (1, -1))
    assert in_s(until=f"{later:%H:%M}") == 3600
    assert in_s(until=f"{sooner:%H:%M}") == 23 * 3600
    midnight = datetime.fromtimestamp(read_end(None, "tomorrow", EVENING)).astimezone()
    assert (midnight.hour, midnight.minute, midnight.date()) == (0, 0, EVENING.date() + timedelta(days=1))
    assert read_end(None, None, EVENING) is None


@pytest.mark.parametrize("words", [("0h", None), ("1", None), ("1y", None), (None, "24:00"), (None, "soon")])
def test_an_end_that_cannot_be_read_gets_a_sentence(words):
    with pytest.raises(BadInput):
        read_end(*words, EVENING)


def test_a_running_engine_hears_what_and_until_when(running, capsys):
    assert main(["pause", "gpu", "--for", "1h", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert {"code", "reason", "until", "args", "sentence"} <= set(said)
    what, until = running.engine.asked[-1]
    assert what == "gpu"
    assert 3590 < until - datetime.now().astimezone().timestamp() <= 3600
    assert main(["resume"]) == 0
    assert running.engine.asked[-1] == ("computing", None)
    capsys.readouterr()
    assert main(["resume", "gpu"]) == 0
    assert capsys.readouterr().out.startswith("The graphics card: by the rules.\n")


def test_without_an_engine_the_next_start_is_switched(home, capsys):
    def kept():
        return load_settings(home.settings_file).settings

    assert main(["pause"]) == 0
    assert capsys.readouterr().out.startswith(
        "Potluck does not run now; this holds from its next start: computing never."
    )
    assert kept().computing == OFF
    assert main(["resume", "--until", "tomorrow"]) == 0
    assert (kept().computing.mode, kept().computing.meanwhile) == (UseMode.NEVER, UseMode.ALWAYS)
    assert main(["resume", "--json"]) == 0
    assert kept().computing == UseSwitch()


@pytest.mark.parametrize(
    "words", ["pause mps:0", "pause cpu", "pause everything", "pause --for 40d", "pause --until now", "resume --for 0h"]
)
def test_what_cannot_be_switched_gets_one_sentence(home, capsys, words):
    assert main(words.split()) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert not home.settings_file.exists()


@pytest.mark.parametrize(
    ("verdict", "code"),
    [
        (verdicts.contributing("assisting"), 0),
        (verdicts.starting("trainer"), 0),
        (verdicts.resting("battery"), 3),
        (verdicts.paused("until", until=1.0, clock="13:00"), 3),
        (verdicts.not_connected("offline"), 4),
        (verdicts.problem("worker", "Gone."), 4),
    ],
)
def test_the_exit_status_tells_a_script(running, capsys, verdict, code):
    running.engine.said = verdict
    assert main(["status", "--json"]) == code
    said = json.loads(capsys.readouterr().out)
    assert (said["code"], said["reason"], said["args"]) == (verdict.code, verdict.reason, verdict.args)
    assert set(EXITS) == set(verdicts.VerdictCode)


def test_pause_of_the_network_says_where_it_changes_nothing(running, capsys):
    assert main(["pause", "network"]) == 0
    assert "All who take part are on this computer" in capsys.readouterr().out
    running.engine.said = verdicts.paused("network")
    assert main(["pause", "network"]) == 0
    assert "All who take part" not in capsys.readouterr().out


def test_resume_tells_which_switches_stay_off(home, capsys):
    assert main(["pause", "network"]) == 0
    capsys.readouterr()
    assert main(["resume"]) == 0
    assert "The network stays off. To take that back: potluck resume network" in capsys.readouterr().out
    assert main(["resume", "network"]) == 0
    assert "stays off" not in capsys.readouterr().out
