"""Attacks on a real welcome desk over TLS, each beside the same desk with its defence replaced."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest

from core.authority.decisions import REVOKED_MAX
from core.backbone import admission_log
from core.backbone.admission_log import AdmissionLog, Newcomer
from core.backbone.charter import Charter, revoke
from core.backbone.invitations import Invitation, new_invitation, write_invitations
from core.backbone.link import Link
from core.backbone.revocations import Revocation, Revocations, household_mark
from core.backbone.welcome import ADMITTED_BURST
from core.base.ids import PeerId
from core.base.machine import Trace
from core.base.problems import Problem
from core.base.rate_limit import RateLimit
from core.base.signing import KeyPair
from core.joining import join as join_module
from core.joining.introduction import trusting
from core.net.identity.passes import PassRole
from tests.process.test_joining import IMPOSTORS, NOW, desk, found, joining

pytestmark = pytest.mark.process
HOME: Final = "127.0.0.1"
NAMES: Final = count()
MORE: Final = 8
"""Number of people who ask beyond what the desk allows."""


def run(charter: Charter, ask: Callable[[Link], Any], *, impostor: str = "") -> Trace:
    """Have somebody ask at a desk, which may show another pass than a backbone's; what the desk has done."""
    trace = Trace()

    async def opened() -> None:
        async with desk(charter, trace, **({"shows": IMPOSTORS[impostor]} if impostor else {})) as link:
            await ask(link)

    asyncio.run(opened())
    return trace


async def come(link: Link, folder: Path, name: str = "", key: KeyPair | None = None) -> str:
    """Ask once for a pass; the name in it, or nothing where the desk has refused."""
    try:
        newcomer = joining(link, folder, key or KeyPair.generate())
        joined = await newcomer.try_once(username=name or f"Eve {next(NAMES)}", device="", now=lambda: NOW)
    except Problem:
        return ""
    return joined.name


@pytest.mark.parametrize("defended", [True, False])
def test_one_address_invents_few_people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, defended: bool) -> None:
    if not defended:
        monkeypatch.setattr(RateLimit, "admits", lambda *_: True)

    async def ask(link: Link) -> None:
        for _ in range(ADMITTED_BURST + MORE):
            await come(link, tmp_path)

    passes = run(found(tmp_path), ask)["welcome.pass"]
    assert passes == ADMITTED_BURST + (0 if defended else MORE)


@pytest.mark.parametrize("defended", [True, False])
def test_invitation_for_one_lets_one_of_many_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, defended: bool
) -> None:
    charter = found(tmp_path)
    write_invitations(charter.folder, [new_invitation(uses_max=1)])
    if not defended:
        monkeypatch.setattr(Invitation, "is_used_up", lambda *_: False)

    async def ask(link: Link) -> None:
        await asyncio.gather(*(come(link, tmp_path / str(number)) for number in range(MORE)))
        await come(link, tmp_path)

    assert run(charter, ask)["welcome.pass"] == (1 if defended else MORE + 1)


@pytest.mark.parametrize("defended", [True, False])
def test_member_cannot_pose_as_the_desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, defended: bool) -> None:
    """It passes on what needs no invitation; without the look at the pass's role it is given the invitation."""
    if not defended:

        def any_pass(authority: Any, shown: Any) -> Any:
            return trusting(authority, lambda der: replace(shown(der), role=PassRole.BACKBONE))

        monkeypatch.setattr(join_module, "trusting", any_pass)

    async def ask(link: Link) -> None:
        assert bool(await come(link, tmp_path)) is not defended

    assert run(found(tmp_path), ask, impostor="member")["welcome.pass"] == (0 if defended else 1)


@pytest.mark.parametrize("defended", [True, False])
def test_revoked_key_stays_out_after_a_thousand_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, defended: bool
) -> None:
    """Without the log the desk asks the list alone, which holds the last thousand keys."""
    charter, eve = found(tmp_path), KeyPair.generate()

    async def join(link: Link) -> None:
        assert await come(link, tmp_path, "eve", eve) == "eve"

    async def renew(link: Link) -> None:
        assert await come(link, tmp_path, "eve", eve) == ("" if defended else "eve")

    run(charter, join)
    revoke(charter, [eve.peer_id], now=NOW)
    revoke(charter, [PeerId(number.to_bytes(32, "big")) for number in range(REVOKED_MAX)], now=NOW + 1)
    if not defended:
        monkeypatch.setattr(Revocations, "refresh", lambda _: None)
    run(charter, renew)


@pytest.mark.parametrize("defended", [True, False])
def test_household_that_is_shut_out_brings_no_new_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, defended: bool
) -> None:
    charter = found(tmp_path)
    house = household_mark(charter.authority.seed, HOME)
    Revocations(charter.folder).append([Revocation(at=NOW, household=house)])
    if not defended:
        monkeypatch.setattr(Revocations, "refresh", lambda _: None)

    async def ask(link: Link) -> None:
        assert bool(await come(link, tmp_path)) is not defended

    run(charter, ask)


ODD: Final = tuple(f"alice{sign}" for sign in ("\ufe0f", "\u034f", "\u115f", "\u2800", "\u180b", " (you)"))
"""What no pass can hold: signs that nobody sees, and what the window adds to the own name."""
ALIKE: Final = ("al\u0131ce", "al\u0269ce", "ALICE", "A1ice", "AIice", "Backb0ne", "BACKBONE")


@pytest.mark.parametrize("defended", [True, False])
@pytest.mark.parametrize(
    ("defence", "replaced", "names"),
    [("check_name", lambda _: None, ODD), ("looks", lambda name: (name, name), ALIKE)],
    ids=["odd", "alike"],
)
def test_nobody_gets_a_name_that_looks_like_anothers(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    defence: str,
    replaced: Callable[[str], object],
    names: tuple[str, ...],
    *,
    defended: bool,
) -> None:
    """Whose name is taken gets it with digits; one that no pass can hold is refused."""
    charter = found(tmp_path)
    AdmissionLog(charter.folder).enter(Newcomer(KeyPair.generate().peer_id, "Backbone"), invitation="", now=NOW)
    if not defended:
        monkeypatch.setattr(admission_log, defence, replaced)

    async def ask(link: Link) -> None:
        assert await come(link, tmp_path, "alice") == "alice"
        got = [await come(link, tmp_path, name) for name in names]
        assert set(names).isdisjoint(got) if defended else set(names) == set(got), got

    run(charter, ask)
