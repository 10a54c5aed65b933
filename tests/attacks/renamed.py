"""Simulated collaborations in which passes call the newest state otherwise, for a member that has missed a round.

python -m tests.attacks.renamed
python -m tests.attacks.renamed --seeds 8

A report names a state, and states that led there by their marks, the first bytes of their names.  Five passes that were
in no round take the mark of the newest state of three members for a state of noise, anew after each step, while one of
the three goes and comes back.  Each world is played with what holds this (`core/swarm/presence/branches.py`), and
without it.
"""

import argparse
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Final
from unittest.mock import patch

import msgspec
import numpy as np

from core.swarm.presence import branches
from core.swarm.words.answers import StateOffered
from core.swarm.words.progress import ProgressReport
from core.swarm.words.states import StateName
from tests.attacks.passes import Watched, settings_of
from tests.sim.swarm.disk import MemoryFile, ModelState
from tests.sim.swarm.liars import Lie
from tests.sim.swarm.swarm import Swarm, Volunteer, state_of
from tests.sim.world.node import End

HONEST, PASSES = 3, 5
BEFORE_S, AWAY_S, BACK_S, LOOK_S = 60.0, 15.0, 25.0, 0.25
TIMES: Final = 4
"""How often a member goes and comes back."""
FALSE_EPOCH: Final = 10**6


class Renaming:
    """Passes that name the newest state otherwise.

    Args:
        swarm: The collaboration.
        honest: Its members.
        passes: Those that come.
    """

    def __init__(self, swarm: Swarm, honest: Sequence[Volunteer], passes: Sequence[Volunteer]) -> None:
        self._swarm, self._honest, self._passes = swarm, honest, passes
        self._name = self._true = StateName(0, bytes(32))
        self._file, self._ancestors = MemoryFile(b""), b""

    def run(self, seconds: float) -> None:
        """Let time pass."""
        ends = self._swarm.world.elapsed_s + seconds
        while self._swarm.world.elapsed_s < ends:
            self._follow()
            self._swarm.world.run(LOOK_S)

    def _follow(self) -> None:
        held = {one: state for one in self._honest if (state := state_of(one)) and state.epoch < FALSE_EPOCH}
        newest = max(held, key=held.__getitem__, default=None)
        if newest is None or held[newest] == self._true:
            return
        true = ModelState.from_bytes(newest.disk.checkpoints[-1][1].data, self._swarm.worker_settings.parameters)
        self._true, self._name = held[newest], StateName(FALSE_EPOCH, held[newest].mark + b"\xff" * 24)
        noise = np.full_like(true.parameters, 77.0)
        self._file = MemoryFile(replace(true, name=self._name, parameters=noise, means=b"").to_bytes(0))
        self._ancestors = true.ancestors
        for one in self._passes:
            if one.node is None:
                one.lie = Lie(tells=self._tells, gives=self._file)
                one.begin()
            elif one.participant is not None:
                told = one.participant.handle(StateOffered(self._file), one.node.local(self._swarm.world.now))
                self._swarm.world.driver.perform(one.node, told)

    def _tells(self, report: ProgressReport) -> ProgressReport:
        named = {"epoch": FALSE_EPOCH, "lineage": self._name.lineage, "digest": self._file.digest}
        return msgspec.structs.replace(report, in_step=True, ancestors=self._ancestors, **named)


def followed(seed: int) -> int:
    """One world; returns how many members were to load the false state, or hold it."""
    watched = Watched(FALSE_EPOCH)
    swarm = Swarm(seed, settings_of(HONEST + PASSES, HONEST, "noise"), [watched])
    swarm.world.run(BEFORE_S)
    honest = [one for one in swarm.volunteers.values() if one.node is not None]
    said = Renaming(swarm, honest, [one for one in swarm.volunteers.values() if one not in honest])
    watched.others = honest
    for _ in range(TIMES):
        honest[-1].end(End.CRASH)
        said.run(AWAY_S)
        honest[-1].begin()
        said.run(BACK_S)
        watched.look()
    return len(watched.followed)


def main() -> int:
    """Play the worlds.

    Returns:
        0 where nobody followed the passes; else 1.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1, help="the first")
    asked = parser.parse_args()
    all_count = patch.object(branches, "weightiest", lambda said: max(said, key=lambda one: (said[one].trains, one)))
    bad = 0
    for seed in range(asked.seed, asked.seed + asked.seeds):
        for name, defence in (("", nullcontext()), (" without the defence", all_count)):
            with defence:
                found = followed(seed)
            bad += bool(found and not name)
            sys.stdout.write(f"seed {seed}{name}: {found} of {HONEST} followed {PASSES} passes\n")
            sys.stdout.flush()
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
