"""The organiser has everybody go back to an earlier copy of the model."""

from collections.abc import Sequence
from dataclasses import replace

import msgspec
import pytest

from core.base.state_header import ANCESTORS_MAX, ORIGIN_BYTES
from core.swarm.words.facts import Help, StateKept, WayBack
from core.swarm.words.states import StateName
from tests.sim.churn import ChurnSettings
from tests.sim.swarm.disk import MemoryFile, ModelState
from tests.sim.swarm.liars import Lie
from tests.sim.swarm.settings import SwarmSettings
from tests.sim.swarm.swarm import Swarm, Volunteer
from tests.sim.world.links import LinkSettings
from tests.sim.world.node import End
from tests.swarm.test_kept_model import epoch_of, kept_epoch, run_until, world

NEW_ROOT = b"\xab" * 32


def root_of(
    swarm: Swarm, copy: MemoryFile, padding_bytes: int = 0, *, lineage: bytes = NEW_ROOT
) -> tuple[WayBack, MemoryFile]:
    """The derived root of a copy, and what moderators say of it."""
    model = ModelState.from_bytes(copy.data, swarm.worker_settings.parameters)
    root = StateName(model.name.epoch, lineage)
    file = MemoryFile(replace(model, name=root, ancestors=b"", means=b"").to_bytes(padding_bytes))
    return WayBack(root, file.digest), file


def tell(swarm: Swarm, peer: Volunteer, fact: WayBack | StateKept) -> None:
    assert peer.node is not None
    assert peer.participant is not None
    swarm.world.driver.perform(peer.node, peer.participant.handle(fact, peer.node.local(swarm.world.now)))


def went_back(peer: Volunteer, now: float, lineage: bytes = NEW_ROOT) -> bool:
    return peer.participant is None or peer.participant.report(now).state.origin == lineage[-ORIGIN_BYTES:]


def ordered_back(
    swarm: Swarm,
    copy: MemoryFile,
    padding_bytes: int = 0,
    *,
    but: Sequence[Volunteer] = (),
    lineage: bytes = NEW_ROOT,
) -> StateName:
    """All who are here learn that they are to go back, and the backbone gives the root."""
    back, file = root_of(swarm, copy, padding_bytes, lineage=lineage)
    tell(swarm, swarm.backbone, back)
    tell(swarm, swarm.backbone, StateKept(back.root, file))
    for volunteer in swarm.volunteers.values():
        if volunteer.node is not None and volunteer not in but:
            tell(swarm, volunteer, back)
    return back.root


@pytest.mark.parametrize(
    ("peers", "seed", "told"),
    [
        (1, 1, True),
        (2, 2, True),
        pytest.param(8, 2, True, marks=pytest.mark.long),
        (1, 1, False),
        (2, 2, False),
        pytest.param(8, 2, False, marks=pytest.mark.long),
    ],
)
def test_everybody_goes_back_to_the_copy_and_on(peers: int, seed: int, *, told: bool) -> None:
    """All of them train meanwhile.  Without the record nobody goes back, though the backbone gives the root."""
    swarm = world(seed, peers=peers, epoch_s=1.5)
    tell(swarm, swarm.backbone, Help(2**20))
    run_until(swarm, lambda: kept_epoch(swarm) > 3)
    ((_, copy),) = swarm.backbone.disk.checkpoints
    swarm.world.run(45.0)
    volunteers = list(swarm.volunteers.values())
    before = min(map(epoch_of, volunteers))
    root = ordered_back(swarm, copy, but=() if told else volunteers)
    seen: set[int] = set()

    def all_came() -> bool:
        seen.update(map(epoch_of, volunteers))
        return all(went_back(volunteer, swarm.world.now) for volunteer in volunteers)

    if not told:
        swarm.world.run(30.0)
        assert not all_came()
        assert min(seen) >= before
        return
    run_until(swarm, all_came)
    assert min(seen) == root.epoch < before
    run_until(swarm, lambda: min(map(epoch_of, volunteers)) > before)
    assert all_came()
    run_until(swarm, lambda: kept_epoch(swarm) > root.epoch)


def test_who_was_away_does_not_bring_back_what_was_undone() -> None:
    """It returns first, further than the root, and while nobody else is there."""
    swarm = world(2, peers=3, epoch_s=1.0)
    run_until(swarm, lambda: kept_epoch(swarm) > 3)
    ((_, copy),) = swarm.backbone.disk.checkpoints
    swarm.world.run(45.0)
    away, *others = swarm.volunteers.values()
    away.end(End.CRASH)
    root = ordered_back(swarm, copy)
    run_until(swarm, lambda: all(went_back(one, swarm.world.now) and epoch_of(one) > root.epoch for one in others))
    for one in others:
        one.end(End.CRASH)
    away.begin()
    back, _ = root_of(swarm, copy)
    tell(swarm, away, back)
    run_until(swarm, lambda: went_back(away, swarm.world.now) and epoch_of(away) > root.epoch)


@pytest.mark.parametrize(
    "later_s", [pytest.param(0.0, marks=pytest.mark.long), 0.3, pytest.param(5.0, marks=pytest.mark.long)]
)
def test_second_way_back_ends_one_that_is_under_way(later_s: float) -> None:
    """Moderators have chosen a copy, and think better of it while the first one is on its way."""
    swarm, second = world(2, peers=4, epoch_s=1.0), b"\xcd" * 32
    run_until(swarm, lambda: kept_epoch(swarm) > 3)
    ((_, copy),) = swarm.backbone.disk.checkpoints
    swarm.world.run(30.0)
    volunteers = list(swarm.volunteers.values())
    ordered_back(swarm, copy)
    swarm.world.run(later_s)
    root = ordered_back(swarm, copy, lineage=second)
    swarm.world.run(60.0)
    for one in volunteers:
        assert went_back(one, swarm.world.now, second)
        assert epoch_of(one) > root.epoch
    run_until(swarm, lambda: kept_epoch(swarm) > root.epoch)
    assert swarm.backbone.disk.checkpoints[-1][0].name.origin == second[-ORIGIN_BYTES:]


def test_root_with_another_digest_is_not_taken() -> None:
    """A stranger gives a file of its own under the name of the root, and the backbone is gone."""
    swarm = world(2, peers=3, epoch_s=1.0)
    run_until(swarm, lambda: kept_epoch(swarm) > 3)
    ((_, copy),) = swarm.backbone.disk.checkpoints
    liar, *others = swarm.volunteers.values()
    back, _ = root_of(swarm, copy)
    model = ModelState.from_bytes(copy.data, swarm.worker_settings.parameters)
    false = replace(model, name=back.root, ancestors=b"", means=b"", parameters=model.parameters * 0 + 1e3)
    file = MemoryFile(false.to_bytes(0))
    liar.end(End.CRASH)
    told = {"epoch": back.root.epoch, "lineage": back.root.lineage, "digest": file.digest, "ancestors": b""}
    liar.lie = Lie(tells=lambda report: msgspec.structs.replace(report, in_step=True, **told), gives=file)
    liar.begin()
    swarm.world.run(20.0)
    for one in others:
        tell(swarm, one, back)
    swarm.world.run(60.0)
    for one in others:
        _, held = one.disk.checkpoints[-1]
        assert abs(ModelState.from_bytes(held.data, swarm.worker_settings.parameters).parameters).max() < 100
        assert not went_back(one, swarm.world.now)
    ordered_back(swarm, copy)
    run_until(swarm, lambda: all(went_back(one, swarm.world.now) for one in others))


def test_one_that_was_in_rounds_leads_nobody_from_the_root() -> None:
    """It says that it has gone on from there before anybody has come."""
    swarm = world(1, peers=4, epoch_s=1.5)
    run_until(swarm, lambda: kept_epoch(swarm) > 3)
    ((_, copy),) = swarm.backbone.disk.checkpoints
    swarm.world.run(30.0)
    liar, *honest = swarm.volunteers.values()
    back, _ = root_of(swarm, copy)
    name = StateName(back.root.epoch + 1, b"\xff" * 24 + back.root.origin)
    model = ModelState.from_bytes(copy.data, swarm.worker_settings.parameters)
    false = replace(model, name=name, ancestors=back.root.mark, means=b"", parameters=model.parameters * 0 + 1e3)
    file = MemoryFile(false.to_bytes(0))
    told = {"epoch": name.epoch, "lineage": name.lineage, "digest": file.digest, "ancestors": back.root.mark}
    liar.end(End.CRASH)
    liar.lie = Lie(tells=lambda report: msgspec.structs.replace(report, in_step=True, **told), gives=file)
    liar.begin()
    swarm.world.run(5.0)
    ordered_back(swarm, copy, but=[liar])
    swarm.world.run(60.0)
    for one in honest:
        held = ModelState.from_bytes(one.disk.checkpoints[-1][1].data, swarm.worker_settings.parameters)
        assert held.name.origin == back.root.origin
        assert abs(held.parameters).max() < 100


def test_strangers_lead_nobody_that_is_on_the_way_back() -> None:
    """States are large and lines slow, so nobody trains for minutes: strangers say that they have gone on already."""
    padding = 20_000_000
    churn = ChurnSettings(live=(2, 2), up_s=1e9, down_s=1.0, first_s=1.0)
    links = LinkSettings(uplink_bytes_per_s=(0.2e6, 0.2e6), downlink_bytes_per_s=(3e6, 3e6))
    settings = SwarmSettings(
        peers=5, epochs=1000, churn=churn, blank=0.0, copies=True, epoch_s=5.0, padding_bytes=padding, links=links
    )
    swarm = Swarm(1, settings)
    while not swarm.backbone.disk.checkpoints:
        swarm.world.run(1.0)
    ((_, copy),) = swarm.backbone.disk.checkpoints
    swarm.world.run(30.0)
    honest = [volunteer for volunteer in swarm.volunteers.values() if volunteer.node is not None]
    root = ordered_back(swarm, copy, padding)
    name = StateName(root.epoch + 1, b"\xff" * 24 + root.origin)
    model = ModelState.from_bytes(copy.data, swarm.worker_settings.parameters)
    false = replace(model, name=name, ancestors=root.mark, means=b"", parameters=model.parameters * 0 + 1e3)
    file = MemoryFile(false.to_bytes(padding))
    told = {"epoch": name.epoch, "lineage": name.lineage, "digest": file.digest, "ancestors": root.mark}
    for volunteer in swarm.volunteers.values():
        if volunteer not in honest:
            volunteer.lie = Lie(tells=lambda report: msgspec.structs.replace(report, in_step=True, **told), gives=file)
            volunteer.begin()
    swarm.world.run(300.0)
    for volunteer in honest:
        _, held = volunteer.disk.checkpoints[-1]
        went = ModelState.from_bytes(held.data, swarm.worker_settings.parameters)
        assert went.name.epoch > root.epoch
        assert abs(went.parameters).max() < 100


def test_member_that_stays_where_it_was_holds_up_nobody() -> None:
    swarm = world(2, peers=3, epoch_s=0.3)
    run_until(swarm, lambda: kept_epoch(swarm) > 3)
    ((_, copy),) = swarm.backbone.disk.checkpoints
    swarm.world.run(10.0)
    liar, *others = swarm.volunteers.values()
    old, file = liar.disk.checkpoints[-1]
    liar.end(End.CRASH)
    told = {"epoch": old.name.epoch, "lineage": old.name.lineage, "digest": file.digest}
    told |= {"in_step": True, "ancestors": b"".join(old.ancestors)}
    liar.lie = Lie(tells=lambda report: msgspec.structs.replace(report, **told), gives=file)
    liar.begin()
    swarm.world.run(5.0)
    root = ordered_back(swarm, copy)
    swarm.world.run(90.0)
    far = min(map(epoch_of, others))
    assert far > root.epoch + 2 * ANCESTORS_MAX
    assert swarm.backbone.participant is not None
    assert swarm.backbone.participant.report(swarm.world.now).epoch > far - ANCESTORS_MAX
