"""Tickets: what the page's process can have of the backbone for people who have signed in there."""

import asyncio
from pathlib import Path

import pytest

from core.backbone import charter as charters
from core.backbone.admission_log import AdmissionLog, Admitted, Newcomer
from core.backbone.charter import revoke
from core.backbone.ways import tickets
from core.backbone.ways.tickets import PERSON_BURST, TICKET_S, TICKETS_MAX
from core.base.problems import NotTrusted
from core.base.site.channel import DeskAct, DeskAnswer, DeskAsk
from tests.unit.backbone.site_desk import NOW, Desk, desk, key

ADA, BEN = b"a" * 16, b"b" * 16


def asked(here: Desk, act: DeskAct = DeskAct.TICKET, person: bytes = ADA, *, now: float = NOW, **more) -> DeskAnswer:
    return asyncio.run(here.tickets.answer(DeskAsk(act, person, **more), now))


def admit(here: Desk, number: int, ticket: str, *, name: str = "ada", now: float = NOW) -> Admitted:
    known = here.tickets.named(ticket, now)
    return here.log.admit(
        Newcomer(key(number), name, device=f"computer {number}"), invitations=known, secret=ticket, now=now
    )


def test_further_computers_of_a_person_join_one_account(tmp_path: Path) -> None:
    here = desk(tmp_path)
    first, second = asked(here), asked(here)
    assert (first.error, first.account, first.name) == ("", b"", "")
    assert admit(here, 1, first.ticket).account == ""
    assert admit(here, 2, second.ticket, name="another").name == "ada"
    later = asked(
        Desk(
            here.charter,
            AdmissionLog(here.charter.folder),
            here.people,
            here.authority,
            here.facts,
            here.tickets,
            here.moderators,
        )
    )
    assert (later.name, later.account) == ("ada", here.log.accounts.of(key(1)))
    assert here.log.accounts.of(key(2)) == later.account
    assert [one.name for one in later.devices] == ["computer 1", "computer 2"]
    assert admit(here, 3, asked(here, person=BEN).ticket, name="ben").account == ""


def test_account_of_a_person_is_known_after_a_restart(tmp_path: Path) -> None:
    here = desk(tmp_path)
    admit(here, 1, asked(here).ticket)
    assert AdmissionLog(here.charter.folder).accounts.of_person(ADA.hex()) == here.log.accounts.of(key(1))


def test_ticket_lets_one_computer_in_for_ten_minutes(tmp_path: Path) -> None:
    here = desk(tmp_path)
    once, late = asked(here).ticket, asked(here).ticket
    admit(here, 1, once)
    for secret, now in ((once, NOW), (late, NOW + TICKET_S + 1), ("guess", NOW), ("", NOW)):
        with pytest.raises(NotTrusted):
            admit(here, 2, secret, now=now)
    assert here.log.name_of(key(2)) is None


def test_invitation_shows_the_page_nobody(tmp_path: Path) -> None:
    here = desk(tmp_path, "carl")
    for person in (bytes(16), key(1)[:16], bytes(here.log.accounts.of(key(1)))):
        for act in (DeskAct.DEVICES, DeskAct.END):
            assert asked(here, act, person, key=key(1)) == DeskAnswer()
    assert key(1) not in here.log.accounts.ended


def test_person_ends_one_computer_or_all(tmp_path: Path) -> None:
    here = desk(tmp_path, "carl")
    for number in (2, 3, 4):
        admit(here, number, asked(here).ticket)
    asked(here, DeskAct.END, key=key(1))
    assert not here.log.accounts.ended, "the computer of somebody else"
    assert [one.ended for one in asked(here, DeskAct.END, key=key(3)).devices] == [False, True, False]
    assert [one.ended for one in asked(here, DeskAct.END).devices] == [True, True, True]
    assert here.log.accounts.ended.keys() == {key(2), key(3), key(4)}


def test_banned_person_gets_no_ticket(tmp_path: Path) -> None:
    here = desk(tmp_path)
    ticket = asked(here).ticket
    admit(here, 1, asked(here).ticket)
    revoke(here.charter, [key(1)], now=NOW)
    assert asked(here).error == "banned"
    with pytest.raises(NotTrusted):
        admit(here, 2, ticket)


def test_eleventh_computer_gets_no_ticket(tmp_path: Path) -> None:
    here = desk(tmp_path)
    for number in range(1, 11):
        admit(here, number, asked(here).ticket)
    assert asked(here).error == "too_many_devices"


def test_page_gets_a_bounded_number_of_tickets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert TICKETS_MAX == 10_000
    monkeypatch.setattr(tickets, "TICKETS_MAX", 40)
    here = desk(tmp_path)
    one = [asked(here) for _ in range(PERSON_BURST + 3)]
    assert [answer.error for answer in one] == [""] * PERSON_BURST + ["too_often"] * 3
    others = [asked(here, person=bytes([number]) * 16) for number in range(41)]
    assert [answer.error for answer in others] == [""] * 39 + ["full"] * 2
    given = [answer.ticket for answer in (*one, *others) if answer.ticket]
    assert [len(here.tickets.named(ticket, NOW)) for ticket in given] == [0] * (len(given) - 40) + [1] * 40
    assert asked(here, person=b"z" * 16, now=NOW + TICKET_S + 1).error == "full", "a day has as many"


def test_strangers_that_go_on_asking_keep_nobody_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tickets, "TICKETS_MAX", 100)
    here = desk(tmp_path)
    admit(here, 1, asked(here).ticket)
    strangers = [bytes([1, number]) * 8 for number in range(10)]
    for minute in range(60):
        for each in strangers:
            assert not asked(here, person=each, now=NOW + 60 * minute).error
    later = NOW + 3600
    assert asked(here, person=BEN, now=later).error == "", "somebody new"
    assert asked(here, now=later).error == "", "somebody who is in"


def test_end_that_is_repeated_makes_no_further_list(tmp_path: Path) -> None:
    """Each list has a greater number, and no peer believes one of the day after tomorrow: no ban counts any more."""
    here = desk(tmp_path)
    for number in (1, 2):
        admit(here, number, asked(here).ticket)
    for _ in range(50):
        asked(here, DeskAct.END, key=key(2))
    decisions = charters.read_charter_records(here.charter).decisions
    assert decisions.revoked == (key(2),)
    assert decisions.number == int(NOW)


def test_ten_thousand_guessed_tickets_let_nobody_in(tmp_path: Path) -> None:
    here = desk(tmp_path)
    ticket = asked(here).ticket
    guesses = [ticket[:-4] + f"{number:04x}" for number in range(10_000)]
    assert not any(here.tickets.named(guess, NOW) for guess in guesses if guess != ticket)
