"""`potluck devices`, with the real torch."""

import importlib.util
import json

import pytest

from core.api.settings import CPU
from core.cli.engine.devices import missing_devices
from core.cli.program import run
from core.engine.limits.setting_checks import checked
from core.storage.settings import load_settings


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_devices_are_listed_by_names_of_the_setting(capsys):
    assert run(["devices", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["event"] == "devices"
    names = [device["name"] for device in told["devices"]]
    assert names[-1] == CPU
    assert checked("device", ",".join(names)) == ",".join(names)


def test_missing_torch_is_told_with_its_remedy(capsys, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert run(["devices"]) == 2
    told = capsys.readouterr().err
    assert "not installed here" in told
    assert "potluck training-part get" in told


def test_devices_that_are_not_here_are_found():
    here = ["cuda:0", "cuda:1", "cpu"]
    wishes = ("auto", "all", "cpu", "cuda", "cuda:1,cpu", "cuda:7", "cuda:0,mps,xpu")
    assert [missing_devices(wish, here) for wish in wishes] == [[], [], [], [], [], ["cuda:7"], ["mps", "xpu"]]


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_missing_device_is_kept_and_told(home, capsys):
    assert run(["settings", "device", "cuda:7"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("device          cuda:7\n")
    assert "There is no cuda:7 on this computer now; the setting is kept" in err
    assert load_settings(home.settings_file).settings.device == "cuda:7"
    assert run(["settings", "device", "cpu"]) == 0
    assert capsys.readouterr().err == ""
