"""The organiser has everybody go back to an earlier copy of the model."""

from dataclasses import replace

import msgspec
import pytest

from core.base.state_header import ANCESTORS_MAX
from core.swarm.standby import Standby
from core.swarm.words.facts import Help, StateKept
from core.swarm.words.states import StateName, marks_in
from tests.sim.churn import ChurnSettings
from tests.sim.swarm.disk import MemoryFile, ModelState
from tests.sim.swarm.liars import Lie
from tests.sim.swarm.settings import SwarmSettings
from tests.sim.swarm.swarm import Swarm
from tests.sim.world.links import LinkSettings
from tests.sim.world.node import End
from tests.swarm.test_kept_model import epoch_of, kept_epoch, run_until, world


@pytest.mark.parametrize("stands", [True, False])
@pytest.mark.parametrize(("peers", "seed"), [(1, 1), (2, 2), (8, 2)])
def test_everybody_goes_back_to_the_chosen_copy(
    monkeypatch: pytest.MonkeyPatch, peers: int, seed: int, *, stands: bool
) -> None:
    """All of them train meanwhile.  Nobody goes back where the backbone does not stand on the copy."""
    if not stands:
        monkeypatch.setattr(Standby, "choose", lambda *_: [])
    swarm = world(seed, peers=peers, epoch_s=1.5)
    node, backbone = swarm.backbone.node, swarm.backbone.participant
    assert node is not None
    assert backbone is not None
    swarm.world.driver.perform(node, backbone.handle(Help(2**20), swarm.world.now))
    run_until(swarm, lambda: kept_epoch(swarm) > 3)
    ((_, copy),) = swarm.backbone.disk.checkpoints
    swarm.world.run(45.0)
    before = min(map(epoch_of, swarm.volunteers.values()))
    model = ModelState.from_bytes(copy.data, swarm.worker_settings.parameters)
    root = StateName(model.name.epoch, b"\xab" * 32)
    file = MemoryFile(replace(model, name=root, ancestors=b"", means=b"").to_bytes(0))
    told = backbone.handle(StateKept(root, file, chosen=True), node.local(swarm.world.now))
    swarm.world.driver.perform(node, told)
    seen: set[int] = set()

    def all_came() -> bool:
        seen.update(map(epoch_of, swarm.volunteers.values()))
        here = [volunteer.participant for volunteer in swarm.volunteers.values() if volunteer.participant is not None]
        reports = [participant.report(swarm.world.now) for participant in here]
        return all(root.mark in (report.state.mark, *marks_in(report.ancestors)) for report in reports)

    if not stands:
        swarm.world.run(30.0)
        assert not all_came()
        assert min(seen) >= before
        return
    run_until(swarm, all_came)
    assert min(seen) == root.epoch < before
    run_until(swarm, lambda: min(map(epoch_of, swarm.volunteers.values())) > before)
    assert all_came() or min(map(epoch_of, swarm.volunteers.values())) > root.epoch + ANCESTORS_MAX
    run_until(swarm, lambda: kept_epoch(swarm) > root.epoch)


def ordered_back(swarm: Swarm, copy: MemoryFile, padding_bytes: int = 0) -> StateName:
    """The organiser has everybody go back to a copy; returns the name of its derived root."""
    node, backbone = swarm.backbone.node, swarm.backbone.participant
    assert node is not None
    assert backbone is not None
    model = ModelState.from_bytes(copy.data, swarm.worker_settings.parameters)
    root = StateName(model.name.epoch, b"\xab" * 32)
    file = MemoryFile(replace(model, name=root, ancestors=b"", means=b"").to_bytes(padding_bytes))
    told = backbone.handle(StateKept(root, file, chosen=True), node.local(swarm.world.now))
    swarm.world.driver.perform(node, told)
    return root


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
    name = StateName(root.epoch + 1, b"\xff" * 32)
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
