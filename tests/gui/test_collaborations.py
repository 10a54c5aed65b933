"""The page of all collaborations, invitations, lists to look around in, and the pages that found one."""

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel

from app.looks.choices import ThemeChoice
from app.looks.language import LANGUAGES
from app.widgets.shown_link import QrCode
from app.words import collaboration_text, text
from core.api import verdict as verdicts
from core.api.hosting import BackboneState
from core.api.turns import PassedOver, WhyNot
from tests.gui.answering import LINK, joined
from tests.gui.cut import cut

WAIT_MS = 20_000


def press(widget, key=Qt.Key.Key_Space):
    QTest.keyClick(widget, key)


def test_page_tells_of_each_whether_it_is_served(answering, until):
    page = answering.collaborations
    until(lambda: len(page.cards) == 6, WAIT_MS)
    names, headlines, states, *_ = zip(*(card.words for card in page.cards.values()), strict=True)
    assert names[:2] == ("Kitchen words", "Three <b>languages</b>")
    assert headlines == ("Contributing", "Waits", "Ended", "Refused", "Not reached", "Left")
    assert states[1] == "It is served when Kitchen words needs nothing or cannot be reached."
    assert "shut this computer out" in states[3]
    until(lambda: all(card.isVisible() for card in page.cards.values()))
    shown = [[each.isVisibleTo(answering) for each in card.buttons] for card in page.cards.values()]
    assert shown == [
        [False, True, True, True],
        [True, True, False, True],
        [False, False, False, True],  # it has ended, and lets nobody in
        [True, True, False, True],
        [True, True, False, True],
        [True, False, False, False],
    ]


def test_one_verdict_decides_what_the_card_says(answering, parts, examples, until):
    page = answering.collaborations
    until(lambda: len(page.cards) == 6, WAIT_MS)
    card = next(iter(page.cards.values()))
    for verdict in (verdicts.resting("schedule", clock="20:30"), verdicts.paused(), verdicts.problem("x", "Oh.", "")):
        parts.store.put(examples.snapshot(verdict))
        assert card.words[1] == text.headline(verdict)
    passed = (PassedOver("ab" * 32, "Kitchen words", WhyNot.UNREACHABLE),)
    other = msgspec.structs.replace(examples.snapshot().collaboration, id=joined()[1].id)
    parts.store.put(msgspec.structs.replace(examples.snapshot(), collaboration=other, passed_over=passed))
    first, second, *_ = page.cards.values()
    assert (first.words[1], second.words[1]) == ("Not reached", "Contributing")
    parts.store.miss(verdicts.not_connected("stopped"))
    assert [card.words[1] for card in (first, second)] == ["Not connected", "Waits"]


def test_another_one_is_served_by_keyboard(answering, until):
    page = answering.collaborations
    until(lambda: len(page.cards) == 6, WAIT_MS)
    second = list(page.cards.values())[1]
    second.serve.setFocus()
    press(second.serve)
    until(lambda: "Poems" in answering.status.news, WAIT_MS)
    assert ["join", joined()[1].id, "--yes"] in answering.calls()
    left = list(page.cards.values())[-1]
    press(left.serve)
    until(lambda: ["host", left.view.charter] in answering.calls(), WAIT_MS)


def test_nothing_is_lost_without_a_question(answering, until):
    page = answering.collaborations
    until(lambda: len(page.cards) == 6, WAIT_MS)
    first = next(iter(page.cards.values()))
    press(first.leave)
    leaving = page.keeping.leaving
    assert "the others train on for 4 days" in leaving.box.informativeText()
    press(leaving.box.focusWidget())  # Cancel
    press(first.host)
    box = page.keeping.box
    assert "Nobody new can come in" in box.informativeText()
    press(box.focusWidget())
    assert {words[0] for words in answering.calls()} == {"collaborations"}
    press(first.host)
    press(page.keeping.box.yes)
    until(lambda: ["host", first.view.charter, "--stop"] in answering.calls(), WAIT_MS)


def test_focus_stays_while_the_list_is_asked_again(answering, until):
    page = answering.collaborations
    until(lambda: len(page.cards) == 6, WAIT_MS)
    second = list(page.cards.values())[1]
    second.invite.setFocus()
    page.refresh()
    count = len(answering.calls())
    until(lambda: len(answering.calls()) > count, WAIT_MS)
    page.show_views(joined()[::-1])
    assert answering.focusWidget() is second.invite


def test_computer_that_trains_alone_says_so(parts, examples):
    parts.store.put(examples.snapshot())
    parts.window.show()
    parts.window.actions_.pages["collaborations"].trigger()
    (card,) = parts.window.collaborations.cards.values()
    assert "on this computer only" in card.words[-1]
    assert not any(each.isVisibleTo(parts.window) for each in card.buttons)
    assert parts.window.collaborations.alone.isEnabled()


def test_another_computers_list_is_asked_for_there(answering):
    page, before = answering.collaborations, len(answering.calls())
    page.far = True
    page.refresh()
    assert page.said == "This is done on the computer itself."
    assert not page.join.isEnabled()
    assert len(answering.calls()) == before


def test_invitation_is_made_copied_and_drawn(answering, until, tmp_path):
    (tmp_path / "link").write_text(LINK)
    page = answering.collaborations
    until(lambda: len(page.cards) == 6, WAIT_MS)
    press(next(iter(page.cards.values())).invite)
    dialog = page.keeping.inviting
    assert not dialog.link.isVisible()
    dialog.uses.setValue(3)
    press(dialog.make)
    until(dialog.link.isVisible, WAIT_MS)
    assert ["invite", "ab" * 32, "--uses", "3", "--days", "14"] in answering.calls()
    assert dialog.link.field.text() == LINK
    press(dialog.link.copy)
    assert QGuiApplication.clipboard().text() == LINK
    QGuiApplication.clipboard().clear()
    press(dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible()


def test_member_gets_the_link_or_hears_who_has_one(answering, until, tmp_path):
    page = answering.collaborations
    until(lambda: len(page.cards) == 6, WAIT_MS)
    second = list(page.cards.values())[1]
    press(second.invite)
    dialog = page.keeping.inviting
    until(lambda: dialog.said == "It cannot be. Do another thing.", WAIT_MS)
    assert not dialog.uses.isVisibleTo(dialog)
    dialog.reject()
    (tmp_path / "link").write_text(LINK)
    press(second.invite)
    until(dialog.link.isVisible, WAIT_MS)
    assert "by which you came in" in dialog.said
    dialog.reject()


def test_menu_invites_to_what_is_served_and_leaves_it(answering, until):
    answering.actions_.pages["home"].trigger()
    answering.actions_.invite.trigger()
    assert answering.open_page == "collaborations"
    dialog = answering.collaborations.keeping.inviting
    until(dialog.isVisible, WAIT_MS)
    assert dialog.windowTitle().startswith("Invite somebody")
    press(dialog.make)
    until(lambda: ["invite", "ab" * 32, "--uses", "20", "--days", "14"] in answering.calls(), WAIT_MS)
    dialog.reject()
    answering.actions_.leave.trigger()
    leaving = answering.collaborations.keeping.leaving
    until(lambda: hasattr(leaving, "box"), WAIT_MS)
    assert "Kitchen words" in leaving.box.text()
    leaving.box.reject()


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        ([], "This computer trains alone: join a collaboration first, or start one."),
        ([joined()[2]], "Old poems lets nobody new in."),
    ],
)
def test_menu_says_why_nobody_can_be_invited(answering, until, tmp_path, kept, said):
    (tmp_path / "joined").write_bytes(b"\n".join(map(msgspec.json.encode, kept)))
    answering.actions_.invite.trigger()
    until(lambda: said in [label.text() for label in answering.status.findChildren(QLabel)], WAIT_MS)
    assert not answering.collaborations.keeping.inviting.isVisible()


def test_menu_of_another_computers_window_asks_nothing(answering, until):
    until(lambda: len(answering.collaborations.cards) == 6, WAIT_MS)
    answering.collaborations.far, before = True, len(answering.calls())
    answering.actions_.invite.trigger()
    assert len(answering.calls()) == before


def test_qr_code_has_its_quiet_edge(qt, delete):
    code = QrCode()
    code.resize(300, 300)
    code.show_text(LINK)
    picture = code.grab().toImage().convertToFormat(QImage.Format.Format_Grayscale8)
    white = [place for place in range(300) if picture.pixelColor(place, 150).lightness() > 250]
    dark = [place for place in range(300) if picture.pixelColor(place, 150).lightness() < 5]
    module = 300 // (49 + 2 * 4)
    assert len(dark) > 40
    assert dark[0] - white[0] >= 4 * module
    delete(code)


@pytest.mark.parametrize("view", joined(), ids=lambda view: view.name)
def test_card_says_what_leaving_does(view):
    assert ("backbone" in collaboration_text.leaving(view)) is (view.backbone is BackboneState.RUNS)


@pytest.mark.parametrize("language", LANGUAGES, indirect=True)
@pytest.mark.parametrize(("size", "theme"), [((800, 560), "dark"), ((1100, 720), "light")])
def test_no_label_is_cut(answering, parts, until, size, theme, language):
    parts.theme.choose(ThemeChoice(theme))
    answering.resize(*size)
    until(lambda: len(answering.collaborations.cards) == 6, WAIT_MS)
    dialogs = [answering.collaborations]
    answering.founding.resize(680, 500)
    for page in (answering.founding.what, answering.founding.who, answering.founding.where):
        dialogs.append(page)
        answering.founding.turn_to(page)
        answering.founding.show()
        until(page.isVisible)
        assert not cut(page)
    answering.founding.hide()
    assert not cut(answering.collaborations)
