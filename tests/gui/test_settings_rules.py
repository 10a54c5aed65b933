"""The rules in the settings: each one shown, changed, sent, and refused with its sentence."""

import re
import sys

import msgspec
import pytest
from PySide6.QtCore import QDateTime, QPoint, QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QAbstractSpinBox, QComboBox, QLabel, QLineEdit, QScrollArea

from app.looks.language import LANGUAGES
from core.api.modes import UseMode, UseSwitch
from core.api.settings import FIELDS, SettingsView
from core.engine.limits.preferences import changed, view
from core.storage.settings import Settings

OTHERS = {
    "battery_percent": 0,
    "idle_minutes": 12,
    "in_use_share": 40,
    "in_use_threads": 2,
    "share": 70,
    "busy_percent": 60,
    "gpu_busy_percent": None,
    "celsius_max": 80,
    "watts_max": 45,
    "other_share": 60,
    "warm_celsius": 65,
    "warm_share": 20,
    "fan_rpm_max": 2500,
    "meter_max": 30,
    "meter_min": 400,
    "threads": 3,
    "keep_minutes": 0,
    "energy_watts": 45,
    "energy_cents": 32,
    "energy_grams": 380,
}
"""Numbers other than the default ones; None: no limit."""


@pytest.fixture
def asked(parts, qt):
    """The settings, open, with an engine's that nobody has changed."""
    parts.window.show()
    parts.settings = parts.window.settings
    open_anew(parts)
    qt.processEvents()
    return parts


def open_anew(asked):
    """Whatever was changed before is forgotten."""
    asked.settings.hide()
    asked.settings.ask()
    asked.settings.show_answer("settings", view(Settings()))
    asked.calls.clear()


def sent(asked):
    asked.settings.save.click()
    ((method, wish),) = asked.calls
    assert method == "configure"
    return wish


def test_number_is_sent_kept_and_shown_again(asked):
    for name, other in OTHERS.items():
        open_anew(asked)
        box = asked.settings.fields[name].control
        assert box.value() == (getattr(asked.settings.view, name) or 0), name
        box.setValue(other or 0)
        wish = sent(asked)
        assert wish == {name: other}
        kept = view(changed(Settings(), wish))
        for page in (asked.settings.rules, asked.settings.owner, asked.settings.computer):
            page.show_settings(kept)
            assert page.wish().get(name, other) == other, name


@pytest.mark.parametrize("count", [0, 6])
def test_number_of_experts_is_sent_kept_and_shown_again(asked, count):
    box, page = asked.settings.fields["experts"].control, asked.settings.computer
    assert (box.text(), page.wish()["experts"]) == ("As memory allows", None)
    box.setValue(count)
    assert sent(asked) == {"experts": count}
    for kept in (None, count):
        page.show_settings(view(Settings(experts=kept)))
        assert page.wish()["experts"] == kept


def test_yes_or_no_is_sent_as_the_other_one(asked):
    for name in ("on_battery", "in_use", "in_use_gpu", "full_screen", "compile", "keep_awake"):
        open_anew(asked)
        asked.settings.fields[name].control.click()
        assert sent(asked) == {name: not getattr(asked.settings.view, name)}


def test_switch_is_sent_by_its_place(asked):
    for subject in ("computing", "gpu", "network"):
        open_anew(asked)
        row = asked.settings.rules.modes[subject]
        assert row.mode is UseMode.RULES
        row.buttons[UseMode.NEVER].click()
        assert sent(asked) == {subject: "never"}


def test_switch_tells_where_it_stands_meanwhile(asked):
    now = float(QDateTime.currentSecsSinceEpoch())
    switch = UseSwitch().off(now + 3600, now)
    asked.settings.rules.show_settings(msgspec.structs.replace(asked.settings.view, computing=switch))
    assert "Off until" in asked.settings.fields["computing"].control.accessibleDescription()
    assert asked.settings.rules.wish()["computing"] == "rules"


def test_programs_are_named_with_commas(asked):
    line = asked.settings.fields["programs"].control
    line.setText(" Blender,,Steam  Client, ")
    assert sent(asked) == {"programs": ["blender", "steam client"]}


def test_running_program_is_added_to_the_list(asked, examples):
    rules = asked.settings.rules
    assert not rules.add_program.isEnabled()
    asked.window.reports.put("machine", examples.reports()["machine"])
    rules.programs.setText("Steam")
    offered = rules.running_menu().actions()
    assert [action.text() for action in offered] == ["blender", "firefox"]
    offered[0].trigger()
    assert sent(asked) == {"programs": ["steam", "blender"]}


def test_rules_that_the_system_cannot_serve_are_grey(asked, examples):
    rules = asked.settings.rules
    asked.window.reports.put("machine", examples.reports()["machine"])
    assert not rules.watts.isEnabled()
    assert not rules.full_screen.isEnabled()
    assert rules.heat.isEnabled()
    said = [each.text() for each in rules.findChildren(QLabel) if "Your system does not tell" in each.text()]
    assert len(said) == 1


def test_memory_is_sent_in_bytes(asked):
    box = asked.settings.computer.memory
    assert box.text() == "Half of what is free"
    box.setValue(4)
    assert sent(asked) == {"memory_bytes": 4_000_000_000}


def test_devices_are_the_ticked_ones(asked):
    device = asked.settings.computer.device
    assert (device.device, list(device.boxes)) == ("auto", ["cpu"])
    device.show_found([("cuda:0", "NVIDIA H100"), ("cpu", "processor")])
    assert not device.boxes["cuda:0"].isEnabled()
    device.some.click()
    device.boxes["cuda:0"].click()
    device.boxes["cpu"].click()
    assert device.boxes["cuda:0"].text() == "NVIDIA H100 (cuda:0)"
    assert sent(asked) == {"device": "cuda:0,cpu"}


def test_chosen_device_that_is_gone_stays_ticked(asked):
    device = asked.settings.computer.device
    device.show_device("cpu,cuda:1")
    device.show_found([("cpu", "processor")])
    assert device.device == "cpu,cuda:1"
    device.boxes["cpu"].click()
    assert device.device == "cuda:1"
    device.show_device("all")
    assert device.all.isChecked()
    assert device.device == "all"


class Fake:
    """A program that prints what commands of Potluck print."""

    def __init__(self, folder):
        self.file = folder / "potluck.py"
        self.file.write_text(
            "import json, pathlib, sys\n"
            "kept, words = pathlib.Path(__file__).with_name('kept'), sys.argv[1:]\n"
            "told = {'startup': kept.read_text() if kept.exists() else 'no'}\n"
            "if words[0] == 'devices':\n"
            "    told = {'devices': [{'name': 'cuda:0', 'title': 'A <b>card</b>', 'memory_bytes': 9}]}\n"
            "elif words[1] == 'engine':\n"
            "    told = {'code': 'x', 'message': 'This system has no systemd.', 'hint': 'Add it.'}\n"
            "elif words[1] == 'window':\n"
            "    kept.write_text('window')\n"
            "    told = {'startup': 'window'}\n"
            "print(json.dumps(told))\n"
        )


@pytest.fixture
def commanding(qt, tmp_path, parts, delete):
    """The settings, with a program in Potluck's place that prints the same lines."""
    from app.commands.own_commands import OwnCommands
    from app.views.settings.dialog import SettingsDialog

    fake = Fake(tmp_path)
    commands = OwnCommands.of(tmp_path, [sys.executable, str(fake.file)])
    dialog = SettingsDialog(parts.intents, commands, parts.theme)
    dialog.ask()
    dialog.show_answer("settings", view(Settings()))
    yield dialog
    dialog.hide()
    commands.stop()
    delete(dialog)


def test_start_at_login_is_kept_by_the_system(commanding, parts, until, tmp_path):
    login = commanding.computer.login
    assert not login.box.isEnabled()
    until(login.box.isEnabled)
    assert login.box.currentData() == "no"
    parts.calls.clear()
    login.box.setCurrentIndex(login.box.findData("window"))
    commanding.save.click()
    until(lambda: not commanding.isVisible())
    assert parts.calls == []
    assert (tmp_path / "kept").read_text() == "window"


def test_login_that_the_system_refuses_is_told_at_its_field(commanding, until):
    login = commanding.computer.login
    until(login.box.isEnabled)
    login.box.setCurrentIndex(login.box.findData("engine"))
    commanding.save.click()
    until(lambda: login.field.problem)
    assert login.field.problem == "This system has no systemd. Add it."
    assert commanding.isVisible()
    assert commanding.save.isEnabled()
    assert commanding.pages.currentWidget() is commanding.computer


def test_devices_are_looked_for_when_their_page_opens(commanding, until):
    boxes = commanding.computer.device.boxes
    assert list(boxes) == ["cpu"]
    commanding.pages.setCurrentWidget(commanding.computer)
    until(lambda: "cuda:0" in boxes)
    assert boxes["cuda:0"].text() == "A <b>card</b> (cuda:0)"


def test_charge_counts_only_where_the_battery_may_be_used(asked):
    rules = asked.settings.rules
    assert not rules.charge.isEnabled()
    rules.battery.click()
    assert rules.charge.isEnabled()


def test_every_refusal_stands_at_its_field(asked):
    from core.api.snapshot import ProblemView

    settings = asked.settings
    for name in FIELDS:
        settings.show_failure("configure", ProblemView(f"setting.{name}", f"{name} cannot be.", "Choose another."))
        assert settings.fields[name].problem == f"{name} cannot be. Choose another."
        assert settings.fields[name].control.isVisibleTo(settings), name
        assert settings.words == "", name


def test_unchanged_pages_send_nothing(asked):
    asked.settings.save.click()
    assert asked.calls == []


def shown(controls):
    return [one.currentIndex() if isinstance(one, QComboBox) else one.value() for one in controls]


def test_wheel_over_the_settings_changes_none_of_them(asked, qt):
    """The wheel's events come from the window system, so that Qt moves the focus as it does for a person."""
    settings = asked.settings
    controls = [*settings.findChildren(QAbstractSpinBox), *settings.findChildren(QComboBox)]
    before = shown(controls)
    handle = settings.windowHandle()
    passed = 0
    for place in range(settings.pages.count()):
        settings.pages.setCurrentIndex(place)
        page = settings.pages.widget(place)
        for control in controls:
            if page.isAncestorOf(control):
                control.setEnabled(True)
                settings.save.setFocus()
                if isinstance(page, QScrollArea):
                    page.ensureWidgetVisible(control)
                qt.processEvents()
                middle = QPointF(control.mapTo(settings, control.rect().center()))
                for turn in (120, -120, -120):
                    QTest.wheelEvent(handle, middle, QPoint(0, turn))
                passed += 1
    assert passed == len(controls)
    assert shown(controls) == before


def test_wheel_changes_a_number_that_was_clicked(asked, qt):
    box = asked.settings.rules.share
    asked.settings.pages.setCurrentWidget(asked.settings.rules)
    asked.settings.rules.ensureWidgetVisible(box)
    box.setValue(50)
    qt.processEvents()
    QTest.mouseClick(box.findChild(QLineEdit), Qt.MouseButton.LeftButton)
    middle = QPointF(box.mapTo(asked.settings, box.rect().center()))
    QTest.wheelEvent(asked.settings.windowHandle(), middle, QPoint(0, 120))
    assert box.value() == 55


def test_settings_open_at_a_field(parts, qt):
    settings = parts.window.settings
    parts.window.show()
    settings.ask("celsius_max")
    settings.show_answer("settings", view(Settings()))
    qt.processEvents()
    assert settings.pages.currentWidget() is settings.rules
    assert settings.focusWidget() is settings.rules.heat


@pytest.mark.parametrize("language", LANGUAGES, indirect=True)
def test_no_two_mnemonics_clash_on_a_page(asked):
    settings = asked.settings
    tabs = [settings.pages.tabText(place) for place in range(settings.pages.count())]
    below = [button.text() for button in (settings.save,)]
    for place in range(settings.pages.count()):
        page = settings.pages.widget(place)
        named = [label.text() for label in page.findChildren(QLabel) if label.buddy() is not None]
        named += [button.text() for button in page.findChildren(QAbstractButton)]
        letters = [mark[1].lower() for words in [*tabs, *below, *named] if (mark := re.search("&([^&])", words))]
        assert len(letters) == len(set(letters)), (settings.pages.tabText(place), sorted(letters))


def test_every_control_has_a_name(asked):
    for place in range(asked.settings.pages.count()):
        page = asked.settings.pages.widget(place)
        for kind in (QAbstractButton, QAbstractSpinBox, QLineEdit, QComboBox):
            for widget in page.findChildren(kind):
                inner = widget.objectName().startswith("qt_") or widget.parent() is asked.settings.hours.grid
                assert inner or widget.accessibleName() or getattr(widget, "text", str)(), widget


def test_every_setting_has_a_control(asked):
    assert set(asked.settings.fields) == set(FIELDS)
    assert set(FIELDS) <= set(SettingsView.__struct_fields__)
