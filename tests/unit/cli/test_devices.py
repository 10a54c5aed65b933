"""`potluck devices`, with the real torch."""

import importlib.util
import json

import pytest

from core.api.settings import CPU
from core.cli.program import run
from core.engine.setting_checks import checked


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
    assert "torch is not installed" in capsys.readouterr().err
