"""What a member reports: an epoch that ends engines, and keys that nobody let in."""

from pathlib import Path

import msgspec
import pytest

from core.base.bounds import EPOCH_MAX, FOLLOWED_EPOCH_MAX
from core.dht.messages import Store
from core.swarm.catching_up import state_choice
from core.swarm.presence.branches import Branches
from core.swarm.words.answers import StateOffered
from core.swarm.words.orders import Load
from core.swarm.words.progress import progress_key
from core.swarm.words.states import StateName
from tests.process.net_people import eventually, in_loop, keys
from tests.process.test_hostile_messages import FILE, FIRST, hostile, report, say, store, train
from tests.process.test_session import LOOPBACK, MANIFEST, two

pytestmark = pytest.mark.process
GHOSTS = 40


@pytest.mark.parametrize("defended", [True, False])
def test_epoch_near_the_limit_leads_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, defended: bool) -> None:
    """A state that no step leads on from."""
    monkeypatch.setattr(state_choice, "LISTEN_S", 0.0)  # a newcomer's ten seconds beside one stranger
    if not defended:
        monkeypatch.setattr(state_choice, "FOLLOWED_EPOCH_MAX", EPOCH_MAX)

    @in_loop
    async def run() -> None:
        async with two(tmp_path, LOOPBACK) as (backbone, volunteer):
            train(volunteer)
            train(backbone, StateName(EPOCH_MAX, b"\xff" * 32))
            backbone.session.deliver(StateOffered(FILE))

            def epochs() -> set[int]:
                return {event.name.epoch for event in volunteer.heard if isinstance(event, Load)}

            if not defended:
                await eventually(lambda: epochs() == {EPOCH_MAX})
                return
            await eventually(lambda: {one.epoch for one in volunteer.reports()} == {EPOCH_MAX})
            heard = max(one.time for one in volunteer.reports())
            await eventually(lambda: max(one.time for one in volunteer.reports()) > heard)
            assert volunteer.session.peer.view(volunteer.clock.now()).state == FIRST
            assert not epochs()

    run()


@pytest.mark.parametrize("defended", [True, False])
def test_invented_keys_count_for_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, defended: bool) -> None:
    """Anybody can make keys, and sign reports with them."""
    if not defended:
        monkeypatch.setattr(Branches, "admitted", lambda *_: True)

    @in_loop
    async def run() -> None:
        async with two(tmp_path, LOOPBACK) as (backbone, volunteer):
            train(volunteer)
            await eventually(lambda: backbone.sees() == {"ben"} and volunteer.sees() == {"anna"})
            ghosts = {one.peer_id: one for one in (keys(f"ghost {number}") for number in range(GHOSTS))}

            def seen() -> int:
                return len(ghosts.keys() & volunteer.session.peer.view(volunteer.clock.now()).peers.keys())

            async with hostile(tmp_path, backbone, bind=LOOPBACK) as mallory:
                fields = report(mallory)
                place = fields.index(FOLLOWED_EPOCH_MAX + 1)
                value = msgspec.msgpack.encode([*fields[:place], 1000, *fields[place + 1 :]])
                for ghost in ghosts.values():
                    await say(mallory, backbone, Store, store(mallory, progress_key(MANIFEST.id), value, owner=ghost))
                known = volunteer.session.peer._membership
                await eventually(lambda: sum(ghost in known.reported for ghost in ghosts) > GHOSTS // 2)
            if not defended:
                await eventually(lambda: seen() > GHOSTS // 2)
                return
            assert not seen()
            assert volunteer.session.peer.view(volunteer.clock.now()).state == FIRST
            assert not any(isinstance(event, Load) for event in volunteer.heard)

    run()
