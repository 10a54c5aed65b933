"""Sessions on this computer: whole participants among real sockets, with and without the way through routers."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from core.api.snapshot import BACKBONE, VOLUNTEER
from core.backbone.authority import Authority
from core.base.contact import Contact
from core.base.machine import Send
from core.base.manifest import Manifest
from core.nat.events import RelayAllowed
from core.nat.relay import RelaySettings
from core.net.admission import Admission
from core.net.clock import Clock
from core.net.passes import pass_request
from core.session import session as session_module
from core.session.participant import Role, participant_of
from core.session.session import Session
from core.swarm.facts import Help
from core.swarm.messages import StateAsk
from core.swarm.orders import Changed
from core.swarm.participant import Participant
from core.swarm.progress import ProgressReport
from tests.process.net_people import eventually, in_loop, keys

pytestmark = pytest.mark.process
LOOPBACK, EVERYWHERE = "127.0.0.1", "0.0.0.0"
MANIFEST = Manifest(
    name="n", organiser="o", task="albert", authority=keys("authority").peer_id.hex(), target_samples=100
)
AUTHORITY = Authority(keys("authority"), MANIFEST.id)


class Computer:
    """A session, and what its owner hears."""

    def __init__(self, name: str, folder: Path, *, bind: str, role: str = VOLUNTEER) -> None:
        self.name, self.bind, self.clock = name, bind, Clock()
        self.heard: list[Any] = []
        own = keys(name)
        self.session: Session[Participant] = Session(
            participant_of(
                MANIFEST,
                Role(name=role, called=name, bind=bind, relay=RelaySettings()),
                keys=own,
                folder=folder / name,
            ),
            admission=Admission(
                keys=own,
                pass_der=self.new_pass(name),
                authority_der=AUTHORITY.certificate,
                manifest_id=MANIFEST.id,
            ),
            clock=self.clock,
            owner=lambda event, _: self.heard.append(event),
        )

    def new_pass(self, username: str) -> bytes:
        return AUTHORITY.issue(pass_request(keys(self.name)), username=username, device="", now=self.clock.now())

    def contact(self) -> Contact:
        return Contact(keys(self.name).peer_id, LOOPBACK, self.session.host.port)

    def reports(self) -> list[ProgressReport]:
        """Of those who are here."""
        return list(self.session.peer.view(self.clock.now()).peers.values())

    def sees(self) -> set[str]:
        """The names of those who are here."""
        return {report.name for report in self.reports()}

    def usernames(self) -> set[str]:
        """Of the passes that others have shown."""
        return {link.username for link in self.session.stats.links}


@contextlib.asynccontextmanager
async def two(folder: Path, bind: str) -> AsyncIterator[tuple[Computer, Computer]]:
    """A backbone, and a volunteer that knows it."""
    backbone = Computer("anna", folder, bind=bind, role=BACKBONE)
    volunteer = Computer("ben", folder, bind=bind)
    await backbone.session.listen(bind=bind)
    await volunteer.session.listen(bind=bind)
    try:
        await backbone.session.join([], address=LOOPBACK, mirrors=True)
        await volunteer.session.join([backbone.contact()], public=[backbone.contact()])
        yield backbone, volunteer
    finally:
        await backbone.session.close()
        await volunteer.session.close()


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
            volunteer.session.host.perform([Send(backbone.contact().peer_id, StateAsk(bytes(32)))])
            await eventually(lambda: backbone.usernames() == {"benjamin"})

    run()
