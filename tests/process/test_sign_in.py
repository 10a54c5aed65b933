"""Signing in by a browser (RFC 8628) at a page that speaks HTTP, and what this computer does with each answer."""

import asyncio
import dataclasses
import stat
from pathlib import Path
from random import Random

import msgspec
import pytest

from core.api.verdict import Verdict
from core.base.machine import Trace
from core.base.problems import NotTrusted, Problem
from core.base.signing import KeyPair
from core.joining.refused import REFUSALS, SignInProblem
from core.joining.sign_in import (
    ANSWER_BYTES_MAX,
    SIGN_IN,
    ModeratorAsked,
    PageProblem,
    SignedIn,
    begin,
    check_site,
    keep_sign_in,
    kept_sign_in,
    wait_for_ticket,
)
from tests.process.pages import PENDING, Page, Said, page, refused, ticket
from tests.process.test_joining import NOW, desk, found, joining

pytestmark = pytest.mark.process


class FalseTime:
    """A clock that goes on only while somebody rests."""

    def __init__(self) -> None:
        self.rests: list[float] = []

    async def rest(self, seconds: float) -> None:
        self.rests.append(seconds)

    def clock(self) -> float:
        return sum(self.rests)


async def signed_in(at: Page, time: FalseTime) -> SignedIn:
    given = await begin(at.site, device="laptop")
    return await wait_for_ticket(at.site, given, rest=time.rest, clock=time.clock)


def outcome(*answers: Said, codes: Said | None = None) -> tuple[SignedIn | Problem, FalseTime, Page]:
    """What signing in comes to at a page with these answers."""
    time = FalseTime()

    async def run() -> tuple[SignedIn | Problem, FalseTime, Page]:
        async with page(*answers, codes=codes) as at:
            try:
                return await signed_in(at, time), time, at
            except Problem as problem:
                return problem, time, at

    return asyncio.run(run())


def test_ticket_comes_once_the_person_has_signed_in() -> None:
    got, time, at = outcome(PENDING, PENDING, ticket("secret", "Ada"))
    assert isinstance(got, SignedIn)
    assert (got.ticket, got.name) == ("secret", "Ada")
    assert time.rests == [5, 5, 5]
    assert at.asked[0] == ("/in/device", {"device": "laptop"})
    assert at.asked[-1] == ("/in/ticket", {"device_code": "d" * 43})


def test_page_is_asked_less_often_when_it_wants_that() -> None:
    _, time, _ = outcome(PENDING, refused("slow_down"), refused("slow_down"), ticket("t"))
    assert time.rests == [5, 5, 10, 15]


def test_waiting_ends_when_the_time_is_over() -> None:
    got, time, _ = outcome(PENDING)
    assert isinstance(got, SignInProblem)
    assert got.code == "sign_in.expired"
    assert time.clock() <= 900


def test_page_cannot_have_anybody_wait_for_longer_than_an_hour() -> None:
    async def run() -> None:
        async with page(PENDING) as at:
            given = await begin(at.site, device="")
            endless = msgspec.structs.replace(given, expires_in=9e8, interval=9e8)
            time = FalseTime()
            with pytest.raises(SignInProblem):
                await wait_for_ticket(at.site, endless, rest=time.rest, clock=time.clock)
            assert time.clock() <= 3600
            assert max(time.rests) <= 60

    asyncio.run(run())


@pytest.mark.parametrize("error", sorted({*REFUSALS, "expired_token"} - {"asked"}))
def test_each_refusal_has_its_code_sentence_and_next_step(error: str) -> None:
    got, _, _ = outcome(PENDING, refused(error, words="as Bob says\x1b[31m", until=NOW))
    assert isinstance(got, SignInProblem)
    assert got.code == f"sign_in.{error.removesuffix('_token')}"
    message, hint = REFUSALS[got.code.removeprefix("sign_in.")]
    assert message in got.message
    assert got.hint == hint
    assert "as Bob says" in got.message
    assert "\x1b" not in got.message
    assert "2027-01-15" in got.message


def test_unknown_word_of_a_page_asks_for_a_newer_version() -> None:
    got, _, _ = outcome(refused("quantum_state"))
    assert isinstance(got, Problem)
    assert got.code == "sign_in.newer"


def test_page_without_device_codes_is_older() -> None:
    got, _, _ = outcome(codes=(404, b"<h1>Nothing here</h1>"))
    assert isinstance(got, Problem)
    assert got.code == "sign_in.older"


def test_page_that_is_busy_is_asked_again() -> None:
    got, time, _ = outcome((503, b"busy"), (502, {"error": "out_of_order"}), refused("away"), ticket("t"))
    assert isinstance(got, SignedIn)
    assert time.rests == [5, 10, 20, 40]


@pytest.mark.parametrize(
    "answer",
    [
        (200, b"<html>"),
        (200, {}),
        (200, {"ticket": "a b"}),
        (200, {"ticket": "x" * 129}),
        (200, b'{"ticket": "' + b"x" * ANSWER_BYTES_MAX + b'"}'),
        (400, b""),
        (400, {"error": 7}),
        (302, b""),
    ],
)
def test_nonsense_instead_of_a_ticket_is_a_sentence(answer: Said) -> None:
    got, _, _ = outcome(answer)
    assert isinstance(got, PageProblem)
    assert got.hint


@pytest.mark.parametrize(
    "change",
    [
        {"verification_uri_complete": "javascript:alert(1)"},
        {"verification_uri": "https://elsewhere.example/in"},
        {"verification_uri": "file:///etc/passwd"},
        {"device_code": "a b"},
        {"user_code": "A\u202eB"},
        {"user_code": "A" * 21},
        {"expires_in": -1},
        {"interval": "soon"},
        {"device_code": None},
    ],
)
def test_codes_that_lead_elsewhere_are_refused(change: dict[str, object]) -> None:
    usual: dict[str, object] = {"device_code": "d", "user_code": "C", "expires_in": 900}

    async def run() -> None:
        async with page() as at:
            addresses = {"verification_uri": at.site, "verification_uri_complete": at.site}
            at.codes = (200, {**usual, **addresses})
            assert (await begin(at.site, device="")).interval == 5
            at.codes = (200, {**usual, **addresses, **change})
            with pytest.raises((NotTrusted, PageProblem)) as told:
                await begin(at.site, device="")
            assert told.value.hint

    asyncio.run(run())


@pytest.mark.parametrize(
    ("address", "fits"),
    [
        ("https://pot.example", True),
        ("https://pot.example:8443/", True),
        ("http://127.0.0.1:8420", True),
        ("http://[::1]:8420", True),
        ("http://localhost:8420", True),
        ("http://pot.example", False),
        ("http://10.0.0.5:8420", False),
        ("http://127.0.0.1.pot.example", False),
        ("https://ada:secret@pot.example", False),
        ("https://pot.example/elsewhere", False),
        ("https://pot.example?to=x", False),
        ("ftp://pot.example", False),
        ("javascript:alert(1)", False),
        ("https://[", False),
        ("", False),
    ],
)
def test_address_is_refused_at_which_others_could_read(address: str, *, fits: bool) -> None:
    if fits:
        assert check_site(address) == address.rstrip("/")
        return
    with pytest.raises(NotTrusted) as told:
        check_site(address)
    assert told.value.hint


def test_page_that_does_not_answer_is_a_sentence() -> None:
    with pytest.raises(PageProblem) as told:
        asyncio.run(begin("http://127.0.0.1:9", device=""))
    assert "127.0.0.1:9" in told.value.message


def test_ticket_lets_a_computer_in_as_an_invitation_does(tmp_path: Path) -> None:
    charter = found(tmp_path)

    async def run() -> None:
        async with (
            page(PENDING, ticket(charter.invite, "Ada")) as at,
            desk(charter, Trace(), site=at.site) as link,
        ):
            open_link = dataclasses.replace(link, invite="")
            own = joining(open_link, tmp_path, KeyPair.generate())
            (tmp_path / "state").mkdir()
            with pytest.raises(SignInProblem) as told:
                await own.try_once(username="Ada", device="lap", now=lambda: NOW)
            assert told.value.code == "sign_in.needed"
            keep_sign_in(tmp_path / "state", await signed_in(at, FalseTime()))
            assert stat.S_IMODE((tmp_path / "state" / SIGN_IN).stat().st_mode) == 0o600
            got = await own.try_once(username="computer", device="lap", now=lambda: NOW)
            assert got.name == "Ada", "as the page knows the person"
            assert not (tmp_path / "state" / SIGN_IN).exists()
            await own.try_once(username="Ada", device="lap", now=lambda: NOW)  # a member needs no ticket

    asyncio.run(run())


def test_ticket_that_has_ended_asks_to_sign_in_again(tmp_path: Path) -> None:
    charter = found(tmp_path)

    async def run() -> None:
        async with desk(charter, Trace()) as link:
            (tmp_path / "state").mkdir()
            keep_sign_in(tmp_path / "state", SignedIn(site="https://pot.example", device_code="d", ticket="ended"))
            own = joining(dataclasses.replace(link, invite=""), tmp_path, KeyPair.generate())
            with pytest.raises(SignInProblem) as told:
                await own.try_once(username="Ada", device="lap", now=lambda: NOW)
            assert told.value.code == "sign_in.withdrawn"

    asyncio.run(run())


def test_engine_goes_on_asking_until_a_moderator_has_said_yes(tmp_path: Path) -> None:
    charter, told, rests = found(tmp_path), list[Verdict](), list[float]()

    async def rest(seconds: float) -> None:
        rests.append(seconds)

    async def run() -> None:
        answers = (refused("asked"), refused("asked"), (503, b""), refused("asked"), ticket(charter.invite))
        async with desk(charter, Trace()) as link, page(*answers) as at:
            (tmp_path / "state").mkdir()
            waiting = await signed_in(at, FalseTime())
            assert not waiting.ticket
            keep_sign_in(tmp_path / "state", waiting)
            own = joining(dataclasses.replace(link, invite=""), tmp_path, KeyPair.generate())  # as after a restart
            own.rest = rest
            got = await own.begin(username="Ada", device="", now=lambda: NOW, random=Random(1), waiting=told.append)
            assert got.name == "Ada"

    asyncio.run(run())
    assert told[0].args["stage"] == REFUSALS["asked"][0]
    assert len(told) == 3
    assert min(rests[0], rests[2]) >= 30


def test_no_of_a_moderator_is_told_with_their_words(tmp_path: Path) -> None:
    async def run() -> None:
        async with page(refused("denied", words="This is a class of 30.")) as at:
            keep_sign_in(tmp_path, SignedIn(site=at.site, device_code="d"))
            with pytest.raises(SignInProblem) as told:
                await kept_sign_in(tmp_path)
            assert told.value.code == "sign_in.denied"
            assert "This is a class of 30." in told.value.message
            assert await kept_sign_in(tmp_path) is None

    asyncio.run(run())


def test_asking_has_a_code_and_a_next_step() -> None:
    assert ModeratorAsked().code == "sign_in.asked"
    assert (ModeratorAsked().message, ModeratorAsked().hint) == REFUSALS["asked"]


def test_damaged_file_of_a_sign_in_is_forgotten(tmp_path: Path) -> None:
    (tmp_path / SIGN_IN).write_bytes(b"{")
    assert asyncio.run(kept_sign_in(tmp_path)) is None
