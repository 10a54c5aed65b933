"""A computer with several graphics cards: each has its own pause, on its page and in the menus."""

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from core.api import verdict as verdicts
from core.api.modes import OFF, Switches, UseSwitch


def with_cards(whole, found, **switches):
    return msgspec.structs.replace(whole, cards=found, switches=Switches(**switches))


@pytest.fixture
def page(parts, examples):
    """The page of a computer with two cards, of which the person has paused one."""
    cards = {"cuda:0": None, "cuda:1": verdicts.paused("gpu")}
    parts.store.put(with_cards(examples.snapshot(), cards, cards={"cuda:1": OFF}))
    parts.window.show()
    parts.window.actions_.pages["computer"].trigger()
    return parts.window.computer


def test_each_card_is_paused_and_used_again(page, parts):
    buttons = page.cards.buttons
    assert [each.text() for each in buttons.values()] == ["Pause it", "Use it again"]
    assert [page.cards.said[name].text() for name in buttons] == ["May compute", "Paused by you"]
    for button in buttons.values():
        button.setFocus()
        QTest.keyClick(button, Qt.Key.Key_Space)
    assert parts.calls == [("pause", {"what": "cuda:0"}), ("resume", {"what": "cuda:1"})]


def test_card_tells_why_it_rests(page, parts, examples):
    busy = verdicts.resting("gpu_busy", percent=50)
    later = UseSwitch().off(examples.snapshot().time + 3600, examples.snapshot().time)
    until = verdicts.paused("gpu_until", until=examples.snapshot().time + 3600, clock="13:00")
    parts.store.put(with_cards(examples.snapshot(), {"cuda:0": busy, "cuda:1": until}, cards={"cuda:1": later}))
    said = [line.text() for line in page.cards.said.values()]
    assert said[0].startswith("Other programs take more than 50 % of the graphics card")
    assert said[1].startswith("Paused by you until")
    assert page.cards.buttons["cuda:0"].accessibleDescription() == said[0]


def test_pause_of_all_cards_leaves_nothing_to_switch(page, parts, examples):
    cards = dict.fromkeys(("cuda:0", "cuda:1"), verdicts.paused("gpu"))
    parts.store.put(with_cards(examples.snapshot(), cards, gpu=OFF))
    assert {line.text() for line in page.cards.said.values()} == {"Paused by you, as all cards are"}
    assert not any(button.isEnabled() for button in page.cards.buttons.values())


@pytest.mark.parametrize("cards", [{}, {"cuda:0": None}, {"mps": None}])
def test_single_card_has_the_switch_of_all(page, parts, examples, cards):
    parts.store.put(with_cards(examples.snapshot(), cards))
    assert not page.cards.isVisible()
    assert len(parts.window.actions_.snooze.alone["gpu"].actions()) == 2


def test_menus_pause_a_card_for_a_time(page, parts):
    menus = parts.window.actions_.snooze.cards
    assert [each.menu.title() for each in menus.values()] == ["cuda:0", "cuda:1"]
    toggle, longer = menus["cuda:1"].menu.actions()
    assert toggle.text() == "&Use it again"
    longer.menu().actions()[0].trigger()
    method, wish = parts.calls[-1]
    assert (method, wish["what"]) == ("pause", "cuda:1")
    assert wish["until"] > parts.store.snapshot.time
