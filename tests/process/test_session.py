"""Sessions on this computer: whole participants among real sockets, with and without the way through routers."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from core.api.snapshot import BACKBONE, VOLUNTEER
from core.authority.changes import new_roles
from core.authority.issuers import Issuer
from core.authority.news import AuthorityDecided
from core.authority.records import AuthorityRecords
from core.backbone.authority import Authority
from core.base.ids import Contact
from core.base.machine import Send
from core.base.manifest import Manifest
from core.base.problems import ProofProblem
from core.nat.events import RelayAllowed
from core.nat.relay import RelaySettings
from core.net.admission import Admission
from core.net.clock import Clock
from core.net.identity.issuers import Issuers
from core.net.identity.passes import PassRole, pass_request, verify_pass
from core.session import heeding
from core.session import session as session_module
from core.session.participant import Role, participant_of
from core.session.session import Session
from core.swarm.participant import Participant
from core.swarm.words.facts import Help
from core.swarm.words.messages import StateAsk
from core.swarm.words.orders import Changed
from core.swarm.words.progress import ProgressReport
from tests.process.net_people import eventually, in_loop, keys
from tests.unit.authority.people import founders

pytestmark = pytest.mark.process
LOOPBACK, EVERYWHERE = "127.0.0.1", "0.0.0.0"
MANIFEST = Manifest(
    name="n", organiser="o", task="albert", authority=keys("authority").peer_id.hex(), target_samples=100
)
AUTHORITY = Authority(keys("authority"), MANIFEST.id)


class _NoNetwork:
    """Sockets on which nothing leaves."""

    def __init__(self, sockets: Any) -> None:
        self.close = sockets.close

    def put(self, packet: bytes, address: Any) -> bool:
        del packet, address
        return True


class Computer:
    """A session, and what its owner hears."""

    def __init__(self, name: str, folder: Path, *, bind: str, role: str = VOLUNTEER, records: bytes = b"") -> None:
        self.name, self.bind, self.role, self.clock = name, bind, role, Clock()
        self.heard: list[Any] = []
        own = keys(name)
        self.session: Session[Participant] = Session(
            participant_of(
                MANIFEST,
                Role(name=role, bind=bind, relay=RelaySettings(), backbone=keys("anna").peer_id),
                keys=own,
                folder=folder / name,
            ),
            admission=Admission(
                keys=own,
                pass_der=self.new_pass(name),
                authority_id=AUTHORITY.id,
                manifest_id=MANIFEST.id,
                records=records,
            ),
            clock=self.clock,
            owner=lambda event, _: self.heard.append(event),
        )

    def new_pass(self, username: str) -> bytes:
        request, role = pass_request(keys(self.name)), PassRole.BACKBONE if self.role == BACKBONE else PassRole.MEMBER
        return AUTHORITY.issue(request, username=username, device="", now=self.clock.now(), role=role)

    def contact(self) -> Contact:
        return Contact(keys(self.name).peer_id, LOOPBACK, self.session.host.port)

    def reports(self) -> list[ProgressReport]:
        """Reports of those who are here."""
        return list(self.session.peer.view(self.clock.now()).peers.values())

    def cut(self, *, off: bool) -> None:
        """Let no datagram in or out any more, or again."""
        port = self.session.host._port
        if off:
            self._sockets, port._sockets = port._sockets, _NoNetwork(port._sockets)  # type: ignore[assignment]
            port.datagram_received = lambda *_: None  # type: ignore[method-assign]
        else:
            port._sockets = self._sockets
            del port.datagram_received

    def sees(self) -> set[str]:
        """The names of those who are here."""
        passes = self.session.host.passes.known
        here = self.session.peer.view(self.clock.now()).peers
        return {passes[peer].username for peer in here if peer in passes}

    def usernames(self) -> set[str]:
        """Names in the passes that others have shown."""
        return {link.username for link in self.session.host.stats.links}


@contextlib.asynccontextmanager
async def two(folder: Path, bind: str, records: bytes = b"") -> AsyncIterator[tuple[Computer, Computer]]:
    """A backbone, and a volunteer that knows it, and has these records."""
    backbone = Computer("anna", folder, bind=bind, role=BACKBONE)
    volunteer = Computer("ben", folder, bind=bind, records=records)
    await backbone.session.listen(bind=bind)
    await volunteer.session.listen(bind=bind)
    try:
        await backbone.session.join([], address=LOOPBACK, mirrors=True)
        await volunteer.session.join([backbone.contact()], public=[backbone.contact()])
        yield backbone, volunteer
    finally:
        await backbone.session.close()
        await volunteer.session.close()


async def talk(volunteer: Computer, backbone: Computer, *, seen_as: str) -> None:
    """Say something until it makes a link; what is said into one that is ending is lost."""
    async with asyncio.timeout(60):
        while backbone.usernames() != {seen_as}:
            volunteer.session.host.perform([Send(backbone.contact().peer_id, StateAsk(bytes(32)))])
            await asyncio.sleep(0.1)


@pytest.mark.parametrize("bind", [LOOPBACK, EVERYWHERE])
def test_sessions_find_each_other_and_tell_their_owners(tmp_path, bind):
    @in_loop
    async def run():
        async with two(tmp_path, bind) as (backbone, volunteer):
            await eventually(lambda: backbone.sees() == {"ben"} and volunteer.sees() == {"anna"})
            assert Changed() in volunteer.heard
            for computer in (backbone, volunteer):
                assert (computer.session.locator is None) is (bind == LOOPBACK)
                assert (computer.session.reach is None) is (bind == LOOPBACK)

    run()


@pytest.mark.parametrize("circuits", [0, 3])
def test_what_the_person_allows_relays_reaches_the_machine(tmp_path, circuits):
    @in_loop
    async def run():
        async with two(tmp_path, EVERYWHERE) as (backbone, _):
            backbone.session.deliver(RelayAllowed(RelaySettings(circuits=circuits)))
            traversal = backbone.session.peer.traversal
            assert traversal is not None
            assert traversal.relay.settings.circuits == circuits

    run()


def test_a_session_that_helps_says_so_to_the_others(tmp_path):
    @in_loop
    async def run():
        async with two(tmp_path, LOOPBACK) as (backbone, volunteer):
            backbone.session.deliver(Help(1 << 20))
            await eventually(lambda: any(report.helps for report in volunteer.reports()))

    run()


def test_a_renewed_pass_is_shown_from_then_on(tmp_path, monkeypatch):
    monkeypatch.setattr(session_module, "PASS_RENEW_S", 0.0)

    @in_loop
    async def run():
        async with two(tmp_path, LOOPBACK) as (backbone, volunteer):
            passes = iter([None, volunteer.new_pass("benjamin")])
            renewed = asyncio.Event()

            async def new() -> bytes | None:
                found = next(passes, None)
                if found is not None:
                    renewed.set()
                return found

            keeping = asyncio.ensure_future(volunteer.session.keep_pass(new))
            await renewed.wait()
            await asyncio.sleep(0)
            keeping.cancel()
            await talk(volunteer, backbone, seen_as="benjamin")

    run()


def test_who_is_shut_out_hears_so_before_it_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(heeding, "PARTING_S", 1.0)
    monkeypatch.setattr("core.net.links.streams.HEARTBEAT_S", 0.2)

    @in_loop
    async def run():
        async with two(tmp_path, EVERYWHERE) as (backbone, volunteer):
            ben = keys("ben").peer_id
            await eventually(lambda: backbone.sees() == {"ben"})
            for number, by in ((2, "eve"), (1, "authority")):
                signed = founders(number, ben, by=keys(by), manifest_id=MANIFEST.id)
                backbone.session.learn_records(signed)
            await eventually(lambda: AuthorityDecided in map(type, volunteer.heard))
            assert [each.decisions.number for each in volunteer.heard if isinstance(each, AuthorityDecided)] == [1]
            await eventually(lambda: ben in backbone.session.host.passes.revoked and not backbone.usernames())

    run()


def test_who_was_shut_out_before_is_refused_at_once(tmp_path):
    ben = keys("ben").peer_id
    signed = founders(1, ben, by=keys("authority"), manifest_id=MANIFEST.id)

    @in_loop
    async def run():
        again = Computer("anna", tmp_path, bind=LOOPBACK, records=signed)
        await again.session.listen(bind=LOOPBACK)
        assert again.session.host.passes.revoked == {ben}
        await again.session.close()

    run()


def test_pass_wanted_while_another_is_fetched_is_fetched(tmp_path):
    @in_loop
    async def run():
        computer, asked = Computer("ben", tmp_path, bind=LOOPBACK), 0

        async def new() -> None:
            nonlocal asked
            asked += 1
            if asked == 1:
                computer.session.renew_soon()

        keeping = asyncio.ensure_future(computer.session.keep_pass(new, at_once=True))
        await eventually(lambda: asked == 2)
        keeping.cancel()

    run()


def test_passes_from_before_the_rollover_hold_until_members_have_others(tmp_path, monkeypatch):
    monkeypatch.setattr(heeding, "ROLLOVER_S", 1.0)
    monkeypatch.setattr("core.net.links.streams.HEARTBEAT_S", 0.2)

    @in_loop
    async def run():
        async with two(tmp_path, LOOPBACK) as (backbone, volunteer):
            await eventually(lambda: backbone.sees() == {"ben"})
            now = volunteer.clock.now()
            old = verify_pass(volunteer.new_pass("ben"), Issuers(AUTHORITY.id, MANIFEST.id), now)
            await asyncio.sleep(int(now) + 1 - now)  # passes begin with whole seconds

            async def keep(each: Computer, username: str) -> None:
                async def new() -> bytes:
                    return each.new_pass(username)

                await each.session.keep_pass(new)

            keeping = asyncio.gather(keep(backbone, "anna"), keep(volunteer, "ben anew"))
            backbone.session.learn_records(
                founders(1, since=int(now) + 1, by=keys("authority"), manifest_id=MANIFEST.id)
            )
            passes = backbone.session.host.passes
            passes.check(old, volunteer.clock.now())
            await eventually(lambda: passes.since and volunteer.session.host.passes.since)
            with pytest.raises(ProofProblem, match="revoked"):
                passes.check(old, volunteer.clock.now())
            await eventually(lambda: not backbone.usernames())  # links of the old pass have ended
            await talk(volunteer, backbone, seen_as="ben anew")
            keeping.cancel()

    run()


def test_member_of_a_stolen_issuer_gets_another_pass_and_stays(tmp_path, monkeypatch):
    monkeypatch.setattr(heeding, "PARTING_S", 1.0)
    monkeypatch.setattr("core.net.links.streams.HEARTBEAT_S", 0.2)
    second = Authority(keys("second"), MANIFEST.id, AUTHORITY.id)
    records = AuthorityRecords(AUTHORITY.id, MANIFEST.id)

    def decide(*issuers: Issuer) -> bytes:
        records.take(new_roles(records, keys("authority"), Clock().now(), issuers=issuers), Clock().now())
        return records.to_bytes()

    @in_loop
    async def run():
        async with two(tmp_path, LOOPBACK) as (backbone, volunteer):
            await eventually(lambda: backbone.sees() == {"ben"})

            async def another(each: Computer) -> bytes:
                request = pass_request(keys(each.name))
                return second.issue(request, username=f"{each.name} anew", device="", now=each.clock.now())

            people = (backbone, volunteer)
            keeping = [asyncio.ensure_future(each.session.keep_pass(partial(another, each))) for each in people]
            further = Issuer(second.id, "second")
            backbone.session.learn_records(decide(further))
            backbone.session.learn_records(decide(further, Issuer(AUTHORITY.id, "first", (), until=0)))
            passes = volunteer.session.host.passes
            await eventually(lambda: passes.issuers.ends(AUTHORITY.id) == 0.0 and not volunteer.usernames())
            stolen = AUTHORITY.issue(pass_request(keys("eve")), username="eve", device="", now=Clock().now())
            with pytest.raises(ProofProblem, match="ended the passes"):
                passes.read(stolen, Clock().now())
            await talk(volunteer, backbone, seen_as="ben anew")
            assert volunteer.usernames() == {"anna anew"}
            for task in keeping:
                task.cancel()

    run()


async def within_a_minute(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - what is looked at is not told by an event
            await asyncio.sleep(0.1)


def test_peers_cut_off_meet_again_without_a_backbone(tmp_path):
    @in_loop
    async def run():
        backbone = Computer("anna", tmp_path, bind=LOOPBACK, role=BACKBONE)
        volunteers = [Computer(name, tmp_path, bind=LOOPBACK) for name in ("ben", "eve", "ida")]
        async with contextlib.AsyncExitStack() as stack:
            for computer in (backbone, *volunteers):
                await computer.session.listen(bind=LOOPBACK)
                stack.push_async_callback(computer.session.close)
                await computer.session.join([] if computer is backbone else [backbone.contact()], address=LOOPBACK)
            await within_a_minute(lambda: all(len(one.sees()) == 3 for one in volunteers))
            await backbone.session.close()
            volunteers[0].cut(off=True)
            await within_a_minute(lambda: not volunteers[0].session.peer.dht.contacts)
            volunteers[0].cut(off=False)
            await within_a_minute(lambda: all(len(one.sees()) == 2 for one in volunteers))

    run()
