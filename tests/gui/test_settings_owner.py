"""The page of the settings about heat, noise and price, and the buttons that fill in several rules."""

import msgspec
import pytest

from core.api.rules import AMOUNTS
from core.engine.limits.preferences import changed, view
from core.storage.settings import Settings
from tests.gui.test_settings_rules import asked, sent

__all__ = ["asked"]


def test_words_of_the_owners_page_are_sent(asked):
    fields = asked.settings.fields
    fields["gpu_programs"].control.setText("Steam, ~/Games/ ")
    fields["other_hours"].control.setText("mon-fri  8:00-18:00")
    fields["meter"].control.setText("/home/ada/price")
    fields["in_use_memory_bytes"].control.setValue(2)
    wish = sent(asked)
    assert wish == {
        "gpu_programs": ["steam", "~/Games"],
        "other_hours": "mon-fri 8:00-18:00",
        "meter": "/home/ada/price",
        "in_use_memory_bytes": 2_000_000_000,
    }
    kept = view(changed(Settings(), wish))
    assert (kept.gpu_programs, kept.meter) == (("steam", "~/Games"), "/home/ada/price")


@pytest.mark.parametrize("amount", AMOUNTS)
def test_button_fills_in_rules_and_leaves_the_others(asked, amount):
    rules = asked.settings.rules
    rules.charge.setValue(55)
    rules.amounts.buttons[amount].click()
    default = {name: getattr(asked.settings.view, name) for name in AMOUNTS[amount]}
    changes = {name: value for name, value in AMOUNTS[amount].items() if value != default[name]}
    assert sent(asked) == {"battery_percent": 55, **changes}


def chosen(asked):
    rules = asked.settings.rules
    return [name for name, button in rules.amounts.buttons.items() if button.isChecked()]


@pytest.mark.parametrize("amount", AMOUNTS)
def test_button_shows_which_amount_holds_now(parts, examples, amount):
    parts.window.show()
    parts.store.put(examples.snapshot())
    parts.window.settings.ask()
    kept = changed(Settings(), {**AMOUNTS[amount], "battery_percent": 55})
    parts.window.settings.show_answer("settings", view(kept))
    rules = parts.window.settings.rules
    assert chosen(parts.window) == [amount]
    assert rules.amounts.meaning.text() == rules.amounts.buttons[amount].toolTip()
    rules.share.setValue(44)
    assert chosen(parts.window) == []
    assert rules.amounts.meaning.text() == "Rules of your own: none of the three."
    for _ in range(2):  # the second click changes no rule
        rules.amounts.buttons[amount].click()
        assert chosen(parts.window) == [amount]
    parts.window.settings.owner.warm.setValue(70)
    assert chosen(parts.window) == []


def test_meter_says_its_number_beside_the_field(asked, examples):
    machine = msgspec.structs.replace(examples.reports()["machine"], meter=31.5)
    asked.window.reports.put("machine", machine)
    assert asked.settings.fields["meter"].control.accessibleDescription() == "it says 31.5 now"
