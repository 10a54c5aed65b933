"""Backbones that copy each other's logs: a member, an account and a name are the same at each."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from core.authority.changes import new_roles
from core.authority.issuers import Issuer, IssuerPlace
from core.authority.records import AuthorityRecords
from core.backbone import admission_log, admitted
from core.backbone.accounts import KEYS_MAX
from core.backbone.admission_log import AdmissionLog, Newcomer
from core.backbone.admitted import HOPS_MAX, Admitted
from core.backbone.log_copies import LOG_PAGES, PAGE, SIGNED_S, LogCopies, LogPage, LogRequest
from core.base.ids import account_of
from core.base.names import BACKBONE_NAME, with_digits
from core.base.problems import NoSpace, NotTrusted, UserProblem, WireProblem
from core.base.signing import KeyPair
from core.net.identity.passes import PassRole, pass_request
from tests.unit.authority.people import signed, town
from tests.unit.net.people import AUTHORITY, NOW, OTHER_RUN, RUN, id_of, issue, keys, verifier

NAMES = ("one", "two", "three")


def records() -> AuthorityRecords:
    named = [Issuer(id_of(name), name, (IssuerPlace("127.0.0.1", 1),)) for name in NAMES]
    ended = Issuer(id_of("authority"), "the founder", (IssuerPlace("127.0.0.1", 1),), 0)
    decided = town("anna", "ben")
    decided.take(signed(new_roles(decided, keys("anna"), NOW, issuers=[*named, ended]), "ben"), NOW)
    return decided


class Desk:
    """One backbone's log, and its part in copying."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder / name
        self.folder.mkdir(exist_ok=True)
        self.open()

    def open(self) -> None:
        self.log = AdmissionLog(self.folder)
        self.copies = LogCopies(keys(self.name), self.log, records)

    def let_in(self, who: str, *, at: float, name: str = "", first: str = "") -> None:
        account = account_of(id_of(first)) if first else None
        self.log.enter(Newcomer(id_of(who), name or who), invitation="i", now=at, account=account)

    def learn(self, other: "Desk", now: float = NOW) -> None:
        to = id_of(other.name)
        while self.copies.take(asyncio.run(other.copies.answer(self.copies.question(to, now), now)), to, now):
            pass

    def names(self) -> dict[bytes, str]:
        return dict(self.log.newest_names(1000))


@pytest.fixture
def desks(tmp_path: Path) -> list[Desk]:
    return [Desk(name, tmp_path) for name in NAMES]


def meet(*desks: Desk) -> None:
    for one in desks:
        for other in desks:
            if one is not other:
                one.learn(other)


def test_members_and_accounts_are_the_same_at_each(desks: list[Desk]) -> None:
    one, two, _ = desks
    one.let_in("ada", at=NOW - 3)
    one.let_in("laptop", at=NOW - 2, first="ada")
    two.let_in("bob", at=NOW - 1)
    for desk in desks:
        desk.log.enter(Newcomer(id_of(f"backbone {desk.name}"), BACKBONE_NAME), invitation="", now=NOW - 9)
    meet(*desks)
    for desk in desks:
        for _ in range(2):
            assert {"ada", "bob"} <= {*desk.names().values()}
            assert desk.log.keys_of("ada") == [id_of("ada"), id_of("laptop")]
            assert desk.log.keys_of(BACKBONE_NAME) == [id_of(f"backbone {desk.name}")]
            renewed = desk.log.admit(Newcomer(id_of("laptop"), "x"), invitations=[], secret="", now=NOW)
            assert (renewed.name, desk.log.accounts.of(id_of("laptop"))) == ("ada", account_of(id_of("ada")))
            desk.open()


def test_what_a_lost_desk_let_in_comes_back_from_another(desks: list[Desk], tmp_path: Path) -> None:
    one, two, three = desks
    one.let_in("ada", at=NOW)
    two.learn(one)
    three.learn(two)
    assert three.log.name_of(id_of("ada")) == "ada"


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_earlier_of_two_people_keeps_the_name(desks: list[Desk], order: tuple[int, int]) -> None:
    one, two, three = desks
    one.let_in("ada", at=NOW - 2, name="Ada")
    two.let_in("eve", at=NOW - 1, name="ADA")
    for number in order:
        three.learn(desks[number])
    meet(*desks)
    expected = {id_of("ada"): "Ada", id_of("eve"): with_digits("ADA", id_of("eve"))}
    for desk in desks:
        assert desk.names() == expected
        desk.open()
        assert desk.names() == expected
        assert desk.log.keys_of("Ada") == [id_of("ada")]


def test_name_that_a_pass_showed_dates_from_its_desk(desks: list[Desk]) -> None:
    one, two, _ = desks
    one.let_in("ada", at=NOW - 3, name="Ada")
    two.let_in("eve", at=NOW - 2, name="Ada")
    two.let_in("ada", at=NOW - 1, name=with_digits("Ada", id_of("ada")))  # before the log of `one` has arrived
    meet(*desks)
    for desk in desks:
        assert desk.log.name_of(id_of("ada")) == "Ada"
        assert desk.log.name_of(id_of("eve")) == with_digits("Ada", id_of("eve"))


@pytest.mark.parametrize("by", ["ada", "laptop"])
def test_computer_that_was_ended_is_so_at_each(desks: list[Desk], by: str) -> None:
    one, two, _ = desks
    one.let_in("ada", at=NOW - 3)
    one.let_in("laptop", at=NOW - 2, first="ada")
    two.learn(one)
    one.log.end(id_of("laptop"), by=id_of(by), now=NOW)
    two.learn(one)
    for desk in (one, two):
        desk.open()
        assert [*desk.log.accounts.ended] == [id_of("laptop")]


def test_stranger_ends_no_computer_by_a_copied_line(desks: list[Desk]) -> None:
    one, two, _ = desks
    one.let_in("ada", at=NOW)
    one.let_in("eve", at=NOW)
    two.learn(one)
    line = msgspec.structs.replace(one.log.admitted[id_of("ada")], ended_by=id_of("eve").hex())
    two.log.copy([line], by=id_of("one"), now=NOW)
    assert not two.log.accounts.ended


def test_bad_backbone_fills_no_log(desks: list[Desk], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission_log, "COPIED_MAX", 20)
    one, two, _ = desks
    one.let_in("ada", at=NOW)
    template = one.log.admitted[id_of("ada")]
    account = account_of(id_of("ada")).hex()
    further = [
        msgspec.structs.replace(template, key=id_of(f"f{n}").hex(), account=account) for n in range(2 * KEYS_MAX)
    ]
    odd = [msgspec.structs.replace(template, key=id_of(name).hex(), name=name) for name in ("<b>", "a" * 999, " ")]
    many = [msgspec.structs.replace(template, key=id_of(f"m{n}").hex(), name=f"m{n}") for n in range(99)]
    two.log.copy([template, *further, *odd, *many], by=id_of("one"), now=NOW)
    assert len(two.log.accounts.keys(account_of(id_of("ada")))) == KEYS_MAX
    assert len(two.log.admitted) == 20
    assert not any("<" in name or len(name) > 64 for name in two.names().values())


def test_page_is_bounded_and_the_rest_follows(desks: list[Desk]) -> None:
    one, two, _ = desks
    for number in range(PAGE + 7):
        one.let_in(f"n{number}", at=NOW)
    page = asyncio.run(one.copies.answer(two.copies.question(id_of("one"), NOW), NOW))
    assert (len(page.lines), page.total) == (PAGE, PAGE + 7)
    assert all((line.invitation, line.household, line.by) == ("", "", "") for line in page.lines)
    two.learn(one)
    assert len(two.log.admitted) == PAGE + 7
    two.copies.take(LogPage([], 3), id_of("one"), NOW)  # its charter was brought back from an earlier copy
    two.learn(one)


def _changed(asked: LogRequest, by: KeyPair | None = None, run: bytes = RUN, **changes: object) -> LogRequest:
    asked = msgspec.structs.replace(asked, **changes)
    return asked if by is None else msgspec.structs.replace(asked, signature=by.sign(asked.signed_bytes(run)))


@pytest.mark.parametrize(
    "change",
    [
        lambda asked: _changed(asked, after=7),
        lambda asked: _changed(asked, keys("eve"), key=id_of("eve")),
        lambda asked: _changed(asked, keys("two"), OTHER_RUN),
        lambda asked: _changed(asked, keys("two"), to=id_of("three")),
        lambda asked: _changed(asked, keys("two"), at=NOW - SIGNED_S - 1),
        lambda asked: _changed(asked, keys("authority"), key=id_of("authority")),  # its key was stolen
    ],
)
def test_only_a_backbone_is_told_who_was_let_in(desks: list[Desk], change) -> None:
    one, two, _ = desks
    one.let_in("ada", at=NOW)
    asked = two.copies.question(id_of("one"), NOW)
    assert asyncio.run(one.copies.answer(asked, NOW)).total == 1
    with pytest.raises(NotTrusted):
        asyncio.run(one.copies.answer(change(asked), NOW))


def test_what_a_thief_has_told_counts_nowhere(desks: list[Desk]) -> None:
    one, two, three = desks
    one.let_in("eve", at=NOW - 9, name="Ada")
    two.learn(one, NOW)
    three.learn(two, NOW + 1)
    three.let_in("ada", at=NOW, name="ada 1")
    assert three.log.name_of(id_of("eve")) == "Ada"
    for _ in range(2):
        for desk in (two, three):
            desk.log.believe({id_of("one"): NOW - 1})
            assert not desk.log.admitted.keys() & {id_of("eve")}
            assert desk.log.keys_of("Ada") == []
            with pytest.raises(NotTrusted, match="not valid"):
                desk.log.admit(Newcomer(id_of("eve"), "eve"), invitations=[], secret="", now=NOW)
            desk.learn(one, NOW + 2)
            desk.open()
    three.log.believe({id_of("one"): NOW - 1, id_of("two"): NOW})
    three.log.believe({id_of("one"): NOW})
    assert three.log.name_of(id_of("eve")) == "Ada"  # it was told before that


def test_thief_does_not_hide_behind_another_backbone(desks: list[Desk]) -> None:
    _, two, three = desks
    two.let_in("eve", at=NOW)
    line = msgspec.structs.replace(two.log.admitted[id_of("eve")], through=((id_of("one").hex(), 0.0),))
    three.log.copy([line], by=id_of("two"), now=NOW)
    assert three.log.name_of(id_of("eve")) == "eve"
    three.log.believe({id_of("two"): NOW - 1})
    assert three.log.name_of(id_of("eve")) is None


def test_backbone_has_no_say_for_accounts_of_others(desks: list[Desk]) -> None:
    one, two, _ = desks
    for desk, name in ((one, "ada"), (two, "bob")):
        desk.let_in(name, at=NOW)
    two.learn(one)
    told = two.log.admitted
    for name in ("ada", "bob"):
        account = account_of(id_of(name)).hex()
        further = msgspec.structs.replace(told[id_of(name)], key=id_of("eve").hex(), account=account)
        ended = msgspec.structs.replace(told[id_of(name)], ended_by=id_of(name).hex())
        two.log.copy([further, ended], by=id_of("three"), now=NOW)
    assert {*told} == {id_of("ada"), id_of("bob")}
    assert not two.log.accounts.ended


@pytest.mark.parametrize("name", ["BACKBONE", "Backb\u043ene", "Ad\u0430", ""])
def test_copied_name_is_one_that_could_be_given_here(desks: list[Desk], name: str) -> None:
    one, two, _ = desks
    one.let_in("eve", at=NOW)
    two.log.copy([msgspec.structs.replace(one.log.admitted[id_of("eve")], name=name)], by=id_of("one"), now=NOW)
    assert not two.log.admitted


def test_longest_lines_fit_into_a_page() -> None:
    key, moment = "f" * 64, 123456789012.12345
    line = Admitted(
        key=key,
        name="\U0001f600" * 40,
        invitation="",
        at=moment,
        account="f" * 32,
        device="\0" * 80,
        ended_by=key,
        through=((key, moment),) * HOPS_MAX,
    )
    page = LogPage([line] * PAGE, PAGE)
    assert LOG_PAGES.decode(LOG_PAGES.encode(page)) == page
    with pytest.raises(WireProblem):
        LOG_PAGES.decode(LOG_PAGES.encode(LogPage([msgspec.structs.replace(line, device="x" * 81)], 1)))


def test_log_takes_no_line_that_it_could_not_read(desks: list[Desk], monkeypatch: pytest.MonkeyPatch) -> None:
    two = desks[1]
    monkeypatch.setattr(admission_log, "COPIED_BYTES_MAX", 500)
    for number in range(9):
        line = Admitted(key=id_of(f"n{number}").hex(), name="n" * (number + 1), invitation="", at=NOW)
        two.log.copy([line], by=id_of("one"), now=NOW)
    assert 0 < len(two.log.admitted) < 4
    two.let_in("ada", at=NOW)
    path = two.folder / admission_log.ADMITTED
    monkeypatch.setattr(admitted, "BYTES_MAX", path.stat().st_size + 100)
    with pytest.raises(NoSpace):
        two.let_in("bob", at=NOW, name="b" * 40)
    two.open()
    assert two.log.name_of(id_of("ada")) == "ada"
    path.write_bytes(b" " * 9999)
    with pytest.raises(UserProblem, match="too long"):
        two.open()


def test_backbone_notes_members_whom_it_meets(desks: list[Desk]) -> None:
    one, passes = desks[0], verifier()
    passes.read(issue("ada", username="Ada"), NOW)
    passes.read(issue("laptop", username="Ada", first="ada"), NOW)
    passes.read(issue("bob"), NOW)
    passes.read(
        AUTHORITY.issue(pass_request(keys("two")), username=BACKBONE_NAME, device="", now=NOW, role=PassRole.BACKBONE),
        NOW,
    )
    passes.refuse(frozenset({id_of("bob")}), frozenset())
    for _ in range(2):
        one.copies.records = lambda: town("anna", "ben")
        one.copies.note(passes, NOW + 1)
        assert {*one.log.admitted} == {id_of("ada"), id_of("laptop")}
        assert one.log.accounts.of(id_of("laptop")) == account_of(id_of("ada"))
        assert {line.by for line in one.log.admitted.values()} == {AUTHORITY.id.hex()}
        one.open()
