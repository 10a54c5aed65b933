"""From words to measurements, and what ends one."""

import argparse
import importlib
import signal
import types

import pytest

from tests.bench.program import main


@pytest.mark.parametrize(
    ("words", "module"),
    [
        ("averaging --codec fp16", "averaging.averaging"),
        ("averaging --fleet pair --warm 2", "averaging.averaging"),
        ("streams", "network.streams"),
        ("groups --peers 16", "averaging.groups"),
        ("plan --peers 8", "plan.plan"),
        ("optimizer --millions 1", "training.optimizer"),
        ("digits --text DIR --modes paper", "training.digits"),
    ],
)
def test_part_is_measured_by_its_module(monkeypatch, words, module):
    monkeypatch.setattr(importlib, "import_module", {f"tests.bench.{module}": returning(7)}.__getitem__)
    assert main(words.split()) == 7


def test_unknown_codec_is_a_sentence(capsys):
    assert main(["averaging", "--codec", "zip"]) == 2
    assert "--codec does not know 'zip'. It knows: raw, fp16, " in capsys.readouterr().err


def returning(code):
    return types.SimpleNamespace(run=lambda _args: code)


@pytest.fixture
def ctrl_c():
    """Says what Ctrl-C does to this process; in the background of a script it is ignored."""
    before = signal.getsignal(signal.SIGINT)
    yield lambda handler: signal.signal(signal.SIGINT, handler)
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_terminated_measurement_ends_as_by_ctrl_c(monkeypatch, capsys, ctrl_c, number):
    ctrl_c(signal.default_int_handler)
    module = types.SimpleNamespace(run=lambda _args: signal.raise_signal(number))
    monkeypatch.setattr(importlib, "import_module", lambda _name: module)
    before = signal.getsignal(signal.SIGTERM)
    assert main(["averaging"]) == 130
    assert capsys.readouterr().err.startswith("Stopped before the measurement was finished")
    assert signal.getsignal(signal.SIGTERM) == before


def test_measurement_in_the_background_of_a_script_can_be_terminated(monkeypatch, ctrl_c):
    monkeypatch.setattr(importlib, "import_module", lambda _name: types.SimpleNamespace(run=ask_to_end))
    ctrl_c(signal.SIG_IGN)
    assert main(["averaging"]) == 130


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="Windows has no such signal.")
@pytest.mark.parametrize("ignored", [False, True])
def test_measurement_ends_with_its_terminal_unless_started_with_nohup(monkeypatch, ctrl_c, *, ignored):
    def hang_up(_args: argparse.Namespace) -> int:
        signal.raise_signal(signal.SIGHUP)
        return 7

    monkeypatch.setattr(importlib, "import_module", lambda _name: types.SimpleNamespace(run=hang_up))
    ctrl_c(signal.default_int_handler)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN if ignored else signal.SIG_DFL)
    try:
        assert main(["averaging"]) == (7 if ignored else 130)
    finally:
        signal.signal(signal.SIGHUP, before)


def ask_to_end(_args: argparse.Namespace) -> int:
    signal.raise_signal(signal.SIGTERM)
    return 0
