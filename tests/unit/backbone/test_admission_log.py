from pathlib import Path

import msgspec
import pytest

from core.backbone.admission_log import ADMITTED, BACK_BURST, BACK_S, AdmissionLog, Newcomer
from core.backbone.admitted import Admitted
from core.backbone.invitations import HELD_MAX, HELD_S, DeviceInvitation, Invitation, Ticket, new_invitation
from core.backbone.refusals import NameTaken
from core.backbone.revocations import Revocation
from core.base.ids import account_of
from core.base.names import usable_name
from core.base.problems import BadInput, Busy, NotTrusted, ShutOut
from core.net.identity.passes import Pass
from tests.unit.net.people import NOW, id_of

OPEN = new_invitation()


def admit(log: AdmissionLog, who: str, invitation: Invitation = OPEN, *, name: str = "", now: float = NOW) -> str:
    newcomer = Newcomer(id_of(who), name or who)
    return log.admit(newcomer, invitations=[OPEN, invitation], secret=invitation.secret, now=now).name


def test_invitation_lets_in_as_many_as_it_says(tmp_path: Path) -> None:
    log, two = AdmissionLog(tmp_path), new_invitation(uses_max=2)
    assert [admit(log, who, two) for who in ("ada", "bob")] == ["ada", "bob"]
    for read in (log, AdmissionLog(tmp_path)):
        with pytest.raises(NotTrusted, match="as often as it may"):
            admit(read, "carl", two)
        assert read.uses.used(two) == 2
        assert admit(read, "ada", two) == "ada", "a renewal is no use"


def test_expired_and_unknown_invitations_let_nobody_in(tmp_path: Path) -> None:
    log, short = AdmissionLog(tmp_path), new_invitation(expires=NOW + 60)
    admit(log, "ada", short)
    with pytest.raises(NotTrusted, match="has expired"):
        admit(log, "bob", short, now=NOW + 61)
    for secret in ("", "guess", OPEN.secret[:-1], "\u00e9"):
        with pytest.raises(NotTrusted, match="not valid"):
            log.admit(Newcomer(id_of("bob"), "bob"), invitations=[OPEN], secret=secret, now=NOW)


def test_ten_thousand_guessed_invitations_let_nobody_in(tmp_path: Path) -> None:
    """The guesses begin as the invitation does: no part of it that is known helps."""
    log, eve = AdmissionLog(tmp_path), Newcomer(id_of("eve"), "eve")
    guesses = {OPEN.secret[:-4] + f"{number:04x}" for number in range(10_000)} - {OPEN.secret}
    for guess in guesses:
        with pytest.raises(NotTrusted, match="not valid"):
            log.admit(eve, invitations=[OPEN], secret=guess, now=NOW)
    assert not log.admitted


def test_admitted_key_renews_without_an_invitation(tmp_path: Path) -> None:
    admit(AdmissionLog(tmp_path), "ada")
    log = AdmissionLog(tmp_path)
    assert log.admit(Newcomer(id_of("ada"), "another"), invitations=[], secret="", now=NOW + 1e6).name == "ada"


@pytest.mark.parametrize("name", ["ada", "ADA", "Ada", "a da", "\uff41da"])
def test_name_belongs_to_the_key_that_got_it_first(tmp_path: Path, name: str) -> None:
    admit(AdmissionLog(tmp_path), "ada")
    log = AdmissionLog(tmp_path)
    with pytest.raises(BadInput):
        admit(log, "eve", name=name)
    assert log.keys_of(name) == [id_of("ada")]
    assert log.name_of(id_of("eve")) is None
    assert admit(log, "eve") == "eve"


def test_half_a_line_is_passed_over(tmp_path: Path) -> None:
    admit(AdmissionLog(tmp_path), "ada")
    path = tmp_path / ADMITTED
    whole = path.read_bytes()
    path.write_bytes(whole + whole[: len(whole) // 2])
    admit(AdmissionLog(tmp_path), "bob")
    log = AdmissionLog(tmp_path)
    assert [log.name_of(id_of(who)) for who in ("ada", "bob")] == ["ada", "bob"]
    with pytest.raises(NameTaken):
        admit(log, "eve", name="Bob")


def test_newest_names_are_those_let_in_last(tmp_path: Path) -> None:
    for who in ("ada", "bob", "carl", "ada"):
        admit(AdmissionLog(tmp_path), who)
    assert AdmissionLog(tmp_path).newest_names(2) == [(id_of("bob"), "bob"), (id_of("carl"), "carl")]


def test_last_use_is_held_for_who_comes_first(tmp_path: Path) -> None:
    log, one = AdmissionLog(tmp_path), new_invitation(uses_max=1)
    log.uses.hold(one.id, id_of("ada"), NOW)
    with pytest.raises(NotTrusted, match=r"held for computers.*some minutes"):
        admit(log, "bob", one)
    with pytest.raises(NotTrusted, match="held for computers"):
        log.uses.valid([one], one.secret, now=NOW)  # somebody who only looks is told the same
    assert log.uses.valid([one], one.secret, now=NOW, peer=id_of("ada")) == one
    log.uses.hold(one.id, id_of("ada"), NOW + HELD_S)  # which does not make it last longer
    assert admit(log, "bob", one, now=NOW + HELD_S + 1) == "bob"


def test_use_that_was_held_is_spent_with_the_pass(tmp_path: Path) -> None:
    log, two = AdmissionLog(tmp_path), new_invitation(uses_max=2)
    log.uses.hold(two.id, id_of("ada"), NOW)
    assert admit(log, "ada", two) == "ada"
    assert admit(log, "bob", two) == "bob"
    assert log.uses.used(two) == 2


def test_few_uses_are_held_however_many_ask(tmp_path: Path) -> None:
    log, many = AdmissionLog(tmp_path), new_invitation(uses_max=HELD_MAX + 1)
    for number in range(50):
        log.uses.hold(many.id, id_of(f"sybil {number}"), NOW)
    assert log.uses.by_others(many.id, None, NOW) == HELD_MAX
    assert admit(log, "ada", many) == "ada"


def test_names_admitted_before_a_rule_stay(tmp_path: Path) -> None:
    old = {"ada": "alice (you)", "bob": "Backbone\ufe0f", "eve": "Backbone", "carl": "Bob1", "dan": "Bobl"}
    lines = [Admitted(key=id_of(who).hex(), name=name, invitation="", at=NOW) for who, name in old.items()]
    (tmp_path / ADMITTED).write_bytes(b"\n".join(map(msgspec.json.encode, lines)))
    log = AdmissionLog(tmp_path)
    assert {who: admit(log, who, name="another") for who in old} == old
    assert {name: log.keys_of(name) for name in old.values()} == {name: [id_of(who)] for who, name in old.items()}
    with pytest.raises(NameTaken):
        admit(log, "finn", name="B0b1")


@pytest.mark.parametrize("name", ["Backbone\ufe0f", "B\u0430ckbone", "Backbone (you)", "\u1d00da"])
def test_newcomer_cannot_pass_for_another(tmp_path: Path, name: str) -> None:
    log = AdmissionLog(tmp_path)
    log.enter(Newcomer(id_of("me"), "Backbone"), invitation="", now=NOW)
    with pytest.raises(BadInput, match=r"cannot be used|mixes"):
        admit(log, "eve", name=name)
    if usable_name(name) == "Backbone":  # as the newcomer's own program asks
        with pytest.raises(NameTaken):
            admit(log, "eve", name=usable_name(name))


def test_further_keys_have_the_accounts_name(tmp_path: Path) -> None:
    log, ada = AdmissionLog(tmp_path), account_of(id_of("ada"))
    admit(log, "ada")
    link = DeviceInvitation(secret="s" * 32, uses_max=1, expires=NOW + 60, account=ada)
    assert admit(log, "laptop", link, name="another name") == "ada"
    for read in (log, AdmissionLog(tmp_path)):
        assert read.keys_of("ada") == read.keys_of("ADA") == [id_of("ada"), id_of("laptop")]
        assert (read.accounts.of(id_of("laptop")), read.accounts.of(id_of("eve"))) == (ada, account_of(id_of("eve")))
        assert admit(read, "laptop") == "ada"
        with pytest.raises(NameTaken):
            admit(read, "eve", name="ada")


def test_key_that_was_ended_stays_out(tmp_path: Path) -> None:
    log, ada = AdmissionLog(tmp_path), account_of(id_of("ada"))
    admit(log, "ada")
    for name in ("laptop", "tablet"):
        log.enter(Newcomer(id_of(name), "", device=name), invitation="", now=NOW, account=ada)
    log.end(id_of("laptop"), by=id_of("ada"), now=NOW)
    log.end(id_of("laptop"), by=id_of("tablet"), now=NOW + 1)
    assert len((tmp_path / ADMITTED).read_bytes().split()) == 4, "once is enough"
    for read in (log, AdmissionLog(tmp_path)):
        with pytest.raises(ShutOut, match="has ended this computer"):
            admit(read, "laptop")
        assert read.keys_of("ada") == [id_of("ada"), id_of("tablet")]
        assert not read.accounts.among(ada, {id_of("laptop")}), "which is held against no other one"
        assert read.accounts.among(ada, {id_of("tablet")})
    log.end(id_of("ada"), by=id_of("tablet"), now=NOW)
    assert log.keys_of("ada") == [id_of("ada"), id_of("tablet")], "bans are written down by the first key"
    assert admit(log, "tablet") == "ada"


def test_ended_key_comes_back_by_its_own_account_only(tmp_path: Path) -> None:
    log, ada, person = AdmissionLog(tmp_path), account_of(id_of("ada")), "0a" * 16
    ticket = Ticket(secret="t" * 32, uses_max=1, expires=NOW + 60, person=person)
    admit(log, "ada", ticket)
    admit(log, "eve")
    log.end(id_of("ada"), by=id_of("ada"), now=NOW)
    others = (
        OPEN,
        Ticket(secret="u" * 32, person="0b" * 16),
        DeviceInvitation(secret="v" * 32, account=account_of(id_of("eve"))),
    )
    for other in others:
        with pytest.raises(ShutOut):
            admit(log, "ada", other)
    again = (Ticket(secret="w" * 32, uses_max=1, person=person), DeviceInvitation(secret="x" * 32, account=ada))
    for own in again:
        assert admit(log, "ada", own, name="another") == "ada"
        assert log.uses.used(own) == 1
        for read in (log, AdmissionLog(tmp_path)):
            assert admit(read, "ada") == "ada"
            assert list(read.accounts.keys(ada)) == [id_of("ada")]
        log.end(id_of("ada"), by=id_of("ada"), now=NOW)
    log.revocations.append([Revocation(key=id_of("ada").hex(), at=NOW)])
    with pytest.raises(ShutOut):
        admit(log, "ada", Ticket(secret="y" * 32, person=person))


def test_account_that_was_taken_out_is_named_to_nobody(tmp_path: Path) -> None:
    log, ada = AdmissionLog(tmp_path), account_of(id_of("ada"))
    person = Ticket(secret="t" * 32, person="0a" * 16)
    admit(log, "ada", person)
    log.enter(Newcomer(id_of("laptop"), ""), invitation="", now=NOW, account=ada)
    admit(log, "bob")
    for who in ("ada", "laptop"):
        log.end(id_of(who), by=id_of("ada"), now=NOW, nameless=True)
    for read in (log, AdmissionLog(tmp_path)):
        assert read.newest_names(2) == [(id_of("ada"), ""), (id_of("laptop"), "")], "members hear of it"
        for who in ("ada", "laptop"):
            with pytest.raises(ShutOut):
                admit(read, who)
        with pytest.raises(NameTaken):
            admit(read, "eve", name="ada")
        assert read.keys_of("ada") == [id_of("ada")], "a moderator still finds the person"
    assert admit(AdmissionLog(tmp_path), "phone", person, name="ada2") == "ada2", "a person who comes back begins anew"


def test_log_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    line = {"key": id_of("ada").hex(), "name": "ada", "invitation": "3fa2b1c0", "at": NOW, "household": "ab"}
    (tmp_path / ADMITTED).write_bytes(b"\n" + msgspec.json.encode(line))
    log = AdmissionLog(tmp_path)
    assert log.accounts.of(id_of("ada")) == account_of(id_of("ada"))
    assert log.keys_of("ada") == [id_of("ada")]


def _shown(who: str, first: str = "") -> Newcomer:
    further = account_of(id_of(first)) if first else None
    shown = Pass(id_of(who), "Anna", "", NOW, NOW + 9, id_of("other desk"), further=further)
    return Newcomer(id_of(who), "x", shown=shown)


def test_held_person_brings_no_computer_by_another_pass(tmp_path: Path) -> None:
    log, one = AdmissionLog(tmp_path), new_invitation()
    admit(log, "anna", one)
    with pytest.raises(ShutOut):
        log.admit(_shown("laptop", "anna"), invitations=[], secret="", now=NOW, held={id_of("anna")})
    assert id_of("laptop") not in log.admitted


def test_name_is_the_accounts_whichever_computer_comes_first(tmp_path: Path) -> None:
    log = AdmissionLog(tmp_path)
    for who in (_shown("laptop", "anna"), _shown("anna")):
        line = log.admit(who, invitations=[], secret="", now=NOW)
        assert (log.name_of(who.key), line.by, line.heard) == ("Anna", id_of("other desk").hex(), NOW)
    log.believe({id_of("other desk"): NOW - 1})
    assert not log.admitted


def test_computer_that_goes_and_comes_writes_few_lines(tmp_path: Path) -> None:
    log, person = AdmissionLog(tmp_path), "ad" * 16

    def comes(now: float) -> None:
        ticket = Ticket(secret=new_invitation().secret, uses_max=1, person=person)
        log.admit(Newcomer(id_of("ada"), "ada"), invitations=[ticket], secret=ticket.secret, now=now)

    comes(NOW)
    for _ in range(BACK_BURST):
        log.end(id_of("ada"), by=id_of("ada"), now=NOW)
        comes(NOW)
    log.end(id_of("ada"), by=id_of("ada"), now=NOW)
    before = len(log.lines)
    for second in range(int(BACK_S)):
        with pytest.raises(Busy):
            comes(NOW + second)
    assert len(log.lines) == before
    comes(NOW + BACK_S)
    assert id_of("ada") not in log.accounts.ended
