"""Simulated collaborations to which passes come that name the true newest state, and give another file for it.

python -m tests.attacks.same_name
python -m tests.attacks.same_name --seeds 8 --honest 5 --passes 6
python -m tests.attacks.same_name --undefended           everybody's word counts, as if all had been in rounds

Equal states have equal files, so a member takes its own for damaged where most have another one.  The passes were in no
round; each names the honest members' newest state with the digest of a file of theirs, anew after each step.
"""

import argparse
import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, Final
from unittest.mock import patch

import msgspec
import numpy as np

from core.swarm.words.answers import StateOffered
from core.swarm.words.progress import ProgressReport
from core.swarm.words.states import StateName
from tests.sim.churn import ChurnSettings
from tests.sim.swarm.disk import MemoryFile, ModelState
from tests.sim.swarm.liars import Lie
from tests.sim.swarm.settings import SwarmSettings
from tests.sim.swarm.swarm import Swarm, state_of
from tests.sim.world.links import LOCAL

SPOILED: Final = 77.0
"""What each parameter of a false file is."""
BEFORE_S, AFTER_S, LOOK_S = 150.0, 120.0, 0.25


class Impostors:
    """Passes that follow the honest members' newest state.

    Args:
        swarm: The collaboration, in which honest members train already.
    """

    def __init__(self, swarm: Swarm) -> None:
        self._swarm = swarm
        self.honest = [one for one in swarm.volunteers.values() if one.node is not None]
        self._passes = [one for one in swarm.volunteers.values() if one.node is None]
        self._name: StateName | None = None
        self._file = MemoryFile(b"")

    def follow(self) -> None:
        """Offer a false file for the newest state, if it is another one now."""
        name = max(state for one in self.honest if (state := state_of(one)) is not None)
        if name == self._name:
            return
        self._name = name
        true = self._read(self.honest[0].disk.checkpoints[-1][1].data)
        false = replace(true, name=name, parameters=np.full_like(true.parameters, SPOILED), ancestors=b"", means=b"")
        self._file = MemoryFile(false.to_bytes(0))
        for one in self._passes:
            if one.node is None:
                one.lie = Lie(tells=self._tells, gives=self._file)
                one.begin()
            else:
                assert one.participant is not None
                told = one.participant.handle(StateOffered(self._file), one.node.local(self._swarm.world.now))
                self._swarm.world.driver.perform(one.node, told)

    def _tells(self, report: ProgressReport) -> ProgressReport:
        assert self._name is not None
        epoch, lineage, digest = self._name.epoch, self._name.lineage, self._file.digest
        return msgspec.structs.replace(report, epoch=epoch, lineage=lineage, digest=digest, in_step=True, ancestors=b"")

    def is_spoiled(self, data: bytes) -> bool:
        """Whether a file is a false one, or goes on from it."""
        return bool(np.mean(self._read(data).parameters) > SPOILED / 2)

    def _read(self, data: bytes) -> ModelState:
        return ModelState.from_bytes(data, self._swarm.worker_settings.parameters)


def played(seed: int, honest: int, passes: int) -> bool:
    """One world; returns whether nobody holds a false file in the end."""
    churn = ChurnSettings(live=(honest, honest), up_s=1e9, down_s=1.0, first_s=1.0)
    settings = SwarmSettings(peers=honest + passes, epochs=10_000, churn=churn, links=LOCAL, blank=0.0, copies=True)
    swarm = Swarm(seed, settings)
    swarm.world.run(BEFORE_S)
    impostors = Impostors(swarm)
    ends = swarm.world.elapsed_s + AFTER_S
    while swarm.world.elapsed_s < ends:
        impostors.follow()
        swarm.world.run(LOOK_S)
    disks = [one.disk for one in impostors.honest] + [swarm.backbone.disk]
    spoiled = [impostors.is_spoiled(disk.checkpoints[-1][1].data) for disk in disks]
    said = f"seed {seed}: {passes} against {honest}: {sum(spoiled[:-1])} of these hold a false file"
    sys.stdout.write(f"{said}, the backbone's copy is {'false' if spoiled[-1] else 'true'}\n")
    sys.stdout.flush()
    return not any(spoiled)


def main() -> int:
    """Play the worlds.

    Returns:
        0 where nobody holds a false file in the end; else 1.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1, help="the first")
    parser.add_argument("--honest", type=int, default=2)
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--undefended", action="store_true")
    asked = parser.parse_args()
    all_known: AbstractContextManager[Any] = patch("core.swarm.presence.branches.Branches.met", lambda *_: True)
    with all_known if asked.undefended else nullcontext():
        good = [played(seed, asked.honest, asked.passes) for seed in range(asked.seed, asked.seed + asked.seeds)]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
