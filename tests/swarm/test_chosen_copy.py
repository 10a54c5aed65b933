"""The organiser has everybody go back to an earlier copy of the model."""

from dataclasses import replace

import pytest

from core.base.state_header import ANCESTORS_MAX
from core.swarm.standby import Standby
from core.swarm.words.facts import Help, StateKept
from core.swarm.words.states import StateName, marks_in
from tests.sim.disk import MemoryFile, ModelState
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
