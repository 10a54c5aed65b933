"""What `potluck doctor` says of computers of cardboard."""

import json
import os
import socket
from argparse import Namespace
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from core.cli.engine import doctor
from core.cli.engine.doctor import Examined, Finding
from core.schedule.senses.findings import NetworkSense
from core.storage.identity import IdentityFile
from core.storage.settings import Settings, save_settings
from core.system.atomic_files import write_new

NOW = 1_780_000_000.0


class Ring:
    def __init__(self, error: Exception | None = None) -> None:
        self._error = error

    def get_password(self, service: str, username: str) -> str | None:
        if self._error is not None:
            raise self._error
        return None

    def set_password(self, service: str, username: str, password: str) -> None:
        raise AssertionError("the doctor changes nothing")


@pytest.fixture
def examined(home):
    return Examined(
        home=home, environ={}, now=NOW, ask=lambda _: "", keyring=Ring(), hosts=["10.0.0.2"], platform="linux"
    )


def asking(examined: Examined, answers: dict[str, str], **changes: Any) -> Examined:
    """Answers to programs by a word of their command line."""

    def ask(words: Any) -> str:
        return next((answer for word, answer in answers.items() if any(word in part for part in words)), "")

    return replace(examined, ask=ask, **changes)


def test_a_port_that_is_free_taken_ours_or_not_drawn(examined, running):
    running.stop()
    running.thread.join()
    assert "drawn" in str(doctor.port(examined).sentence) or "draws" in str(doctor.port(examined).sentence)
    with socket.socket() as taken:
        taken.bind(("0.0.0.0", 0))
        taken.listen()
        number = taken.getsockname()[1]
        save_settings(examined.home.settings_file, Settings(port=number))
        assert doctor.port(examined).level == "problem"
        assert f"{number} (TCP)" in str(doctor.port(examined).sentence)
    assert doctor.port(examined).level == "fine"


def test_our_own_engine_may_hold_the_port(examined, running):
    save_settings(examined.home.settings_file, Settings(port=22_222))
    said = doctor.port(examined)
    assert (said.level, str(said.sentence)) == ("fine", "Potluck runs. Others called and got through.")
    running.engine.advice = "Open the firewall."
    assert doctor.port(examined).level == "note"
    assert str(doctor.port(examined).advice) == "Open the firewall."
    running.engine.full = True
    assert "Not joined yet. Wait." in str(doctor.port(examined).sentence)


def test_locked_keyring_that_holds_the_key_is_a_problem(examined):
    file = IdentityFile(peer="0" * 64, entry="identity-0")
    write_new(examined.home.identity_file, msgspec.json.encode(file))
    assert doctor.keyring(examined).level == "fine"
    for ring in (None, Ring(RuntimeError())):
        found = doctor.keyring(replace(examined, keyring=ring))
        assert found.level == "problem"
        assert "potluck startup engine --key-in-file" in str(found.advice)


def test_keyrings(examined, monkeypatch):
    assert doctor.keyring(examined).level == "fine"
    assert doctor.keyring(replace(examined, keyring=None)).level == "note"
    assert (
        doctor.keyring(replace(examined, keyring=Ring(RuntimeError()))).sentence
        == "The system's keyring is not usable."
    )
    assert "does not answer" in doctor.keyring(replace(examined, keyring=Ring(TimeoutError()))).sentence


def test_hanging_check_is_given_up():
    gate = doctor.threading.Event()
    with pytest.raises(TimeoutError):
        doctor.in_time(gate.wait, 0.01)
    gate.set()
    assert doctor.in_time(lambda: 5, 5.0) == 5


@pytest.mark.parametrize(("answer", "level"), [("yes\n", "fine"), ("no\n", "note"), ("", "note")])
def test_a_clock_that_the_system_keeps(examined, answer, level):
    assert doctor.clock(asking(examined, {"timedatectl": answer})).level == level


def test_clocks_that_are_wrong(examined):
    assert doctor.clock(replace(examined, now=1e9)).level == "problem"
    assert doctor.clock(replace(examined, platform="win32")).level == "fine"
    save_settings(examined.home.settings_file, Settings())
    os.utime(examined.home.settings_file, (NOW + 9999, NOW + 9999))
    assert "future" in str(doctor.clock(examined).sentence)


@pytest.mark.parametrize(("gigabytes", "level"), [(1, "problem"), (5, "note"), (50, "fine")])
def test_disks(examined, monkeypatch, gigabytes, level):
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _: SimpleNamespace(free=gigabytes * 10**9))
    assert doctor.disk(examined).level == level


CPU = '{"name": "cpu", "title": "processor", "memory_bytes": 0}'
CARD = '{"name": "cuda:0", "title": "A card", "memory_bytes": 1}'


@pytest.mark.parametrize(
    ("answer", "wish", "finding"),
    [
        (f"[{CPU}]\n", "auto", ("fine", "on the processor")),
        (f"A warning.\n[{CARD}, {CPU}]\n", "auto", ("fine", "A card (cuda:0), processor (cpu). The first of them")),
        (f"[{CARD}, {CPU}]\n", "cpu", ("fine", "The settings say cpu.")),
        (f"[{CARD}, {CPU}]\n", "all", ("fine", "All of them are used.")),
        (f"[{CARD}, {CPU}]\n", "cuda:0,cpu", ("fine", "The settings say cuda:0,cpu.")),
        (f"[{CARD}, {CPU}]\n", "cuda:1,cpu", ("note", "there is no cuda:1 now")),
        (f"[{CPU}]\n", "mps", ("note", "there is no mps now")),
        ("", "auto", ("problem", "does not start")),
    ],
)
def test_training_tells_the_devices_that_torch_finds(examined, monkeypatch, answer, wish, finding):
    monkeypatch.setattr(doctor.part, "own_torch", lambda _: True)
    save_settings(examined.home.settings_file, Settings(device=wish))
    found = doctor.training(asking(examined, {"core.training.devices.devices": answer}))
    assert found.level == finding[0]
    assert finding[1] in str(found.sentence)


def test_without_torch_there_is_no_training(examined, monkeypatch):
    monkeypatch.setattr(doctor.importlib.util, "find_spec", lambda _: None)
    told = doctor.training(examined)
    assert "training part is not here" in str(told.sentence)
    assert "training-part get" in str(told.advice)
    assert "not installed" in str(doctor.window(examined).sentence)


def test_doctor_promises_nothing_about_idleness():
    assert "idleness" not in dict(doctor.CHECKS)


def test_the_window_says_what_it_lacks(examined, monkeypatch):
    screen = SimpleNamespace(obstacle=lambda *_: "The window needs X. Install it: apt")
    monkeypatch.setattr(doctor.importlib, "import_module", lambda _: screen)
    lacking = doctor.window(examined)
    assert (lacking.level, str(lacking.sentence), lacking.advice) == ("note", "The window needs X.", "Install it: apt")
    screen.obstacle = lambda *_: None
    assert doctor.window(examined).level == "fine"


@pytest.mark.parametrize(("metered", "level"), [(True, "note"), (False, "fine"), (None, "note")])
def test_networks(metered, level):
    known = NetworkSense(metered=metered, medium="wifi", gateway="10.0.0.1")
    assert doctor.network_finding(known, allowed=False).level == level


def test_doctor_says_what_is_done_on_a_metered_network(examined):
    known = asking(examined, {"busctl": "u 1"})
    assert str(doctor.network(known).advice).endswith("potluck settings metered yes")
    save_settings(examined.home.settings_file, Settings(use_metered=True))
    assert str(doctor.network(known).advice).endswith("potluck settings metered no")


def test_no_network_is_said(examined):
    finding = doctor.network(replace(examined, hosts=[]))
    assert (finding.level, str(finding.sentence)) == ("problem", "This computer is in no network.")


def test_the_network_is_asked_for(examined):
    found = doctor.network(asking(examined, {"busctl": 'u 1\ns "gsm"\n'}))
    assert "mobile radio" in str(found.sentence)
    assert "metered" in str(found.sentence)


@pytest.mark.parametrize(("level", "code"), [("fine", 0), ("note", 0), ("problem", 2)])
@pytest.mark.parametrize("as_json", [False, True])
def test_the_exit_code_and_the_words(home, monkeypatch, capsys, level, code, as_json):
    monkeypatch.setattr(doctor, "CHECKS", (("disk", lambda _: Finding(level, "So it is.", "Do this.")),))
    assert doctor.run(Namespace(home=home.directory, json=as_json)) == code
    said = capsys.readouterr().out
    if as_json:
        told = {"event": "check", "name": "disk", "level": level, "sentence": "So it is.", "advice": "Do this."}
        assert json.loads(said) == told
    else:
        assert "So it is.\n" in said
        assert "Do this." in said
