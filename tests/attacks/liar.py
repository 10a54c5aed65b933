"""Runs the program as a member that lies, among engines that do not know it.

python -m tests.attacks.liar LIE WORDS...     as `python -m core WORDS...`

FILE       with `engine --helper`: it says that it trains at epoch 1,000,000, and gives this file to all that ask
samples    it claims as many samples as a message may, for contributions of large noise
noise      it gives noise of its gradient's norm, for as many samples as it has computed
turn       it gives its gradient times -8 and claims as many samples, to turn around everybody's step
mean       it multiplies the means of its share by -1000
sign       it turns the means of its share around
"""

import json
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar
from unittest.mock import patch

import msgspec
import numpy as np
from msgspec.structs import replace
from safetensors import safe_open
from safetensors.numpy import load_file, save

from core.api.snapshot import VOLUNTEER, Activity
from core.averaging.allreduce.vectors import Vectors
from core.averaging.messages import Members
from core.base.bounds import SAMPLES_MAX
from core.base.work import Collected, Progress
from core.session import participant as in_session
from core.swarm.participant import Participant
from core.swarm.words.answers import StateOffered, TrainerReady
from core.swarm.words.progress import ProgressReport
from core.swarm.words.states import StateName
from tests.attacks.undefended import without_proof
from tests.sim.swarm.disk import MemoryFile

FALSE = StateName(10**6, b"\xff" * 32)
TIMES = np.float32(1e15)
TURNED = np.float32(-8.0)
MULTIPLIED = {"mean": np.float32(-1000.0), "sign": np.float32(-1.0)}
LIED = "a false mean\n"
"""In the liar's log, for each of them."""
GIVEN = "noise given\n"
"""In the log of a giver of noise, for each round."""


class FalseState(Participant):
    """A helper, which trains nothing, and says that it does."""

    file: ClassVar[MemoryFile]

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, tells=self._lie)

    def start(self, *args: Any, now: float, **options: Any) -> Sequence[Any]:
        return [*super().start(*args, now=now, **options), *self.handle(StateOffered(self.file), now)]

    def _lie(self, report: ProgressReport) -> ProgressReport:
        said = {"role": VOLUNTEER, "activity": Activity.TRAINING.value, "in_step": True}
        false = {"epoch": FALSE.epoch, "lineage": FALSE.lineage, "digest": self.file.digest}
        return msgspec.structs.replace(report, **said, **false)


def noise_like(state: Path) -> bytes:
    """A checkpoint that every trainer of the collaboration loads, with the name that is told; normal, deviation 3.

    Only its parameters are noise: what an optimizer's steps cannot lead to is refused for that.
    """
    random = np.random.default_rng(0)
    noise = {
        name: random.normal(0.0, 3.0, one.shape).astype(np.float32) if name.startswith("parameters/") else one
        for name, one in load_file(state).items()
    }
    with safe_open(state, framework="numpy") as file:
        name = json.loads(file.metadata()["potluck"])
    name |= {"epoch": FALSE.epoch, "lineage": FALSE.lineage.hex()}
    return save(noise, metadata={"potluck": json.dumps(name, sort_keys=True)})


class FalseSamples(Participant):
    """It computes like others, and gives something else."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._random = np.random.default_rng(0)

    def handle(self, event: Any, now: float) -> Any:
        match event:
            case TrainerReady():
                self._vector = event.contribution
            case Progress():
                event = replace(event, samples=SAMPLES_MAX, samples_per_s=1e12)
            case Collected():
                self._vector[:] = self._random.standard_normal(self._vector.size, dtype=np.float32) * TIMES
                event = replace(event, samples=SAMPLES_MAX)
        return super().handle(event, now)


class Noise(Participant):
    """It computes like others, and gives noise that is as large as what it has computed."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._random = np.random.default_rng(0)

    def handle(self, event: Any, now: float) -> Any:
        match event:
            case TrainerReady():
                self._vector = event.contribution
            case Collected():
                norm = np.linalg.norm(self._vector)
                self._vector[:] = self._random.standard_normal(self._vector.size, dtype=np.float32)
                self._vector *= norm / np.linalg.norm(self._vector)
                sys.stderr.write(GIVEN)
        return super().handle(event, now)


class Turned(Participant):
    """It computes like others, and gives the opposite."""

    def handle(self, event: Any, now: float) -> Any:
        match event:
            case TrainerReady():
                self._vector = event.contribution
            case Collected():
                self._vector *= TURNED
                event = replace(event, samples=SAMPLES_MAX)
        return super().handle(event, now)


def lie_in_means(times: np.float32) -> None:
    """Make means so many times what parts lead to, and commit them whatever sums prove."""
    without_proof()
    sealed = Vectors.seal

    def seal(self: Vectors, number: int, contributors: Members) -> memoryview:
        mean = self.mean(number)
        mean *= times
        sys.stderr.write(LIED)
        return sealed(self, number, contributors)

    patch.object(Vectors, "seal", seal).start()


if __name__ == "__main__":
    lie = sys.argv.pop(1)
    if lie in MULTIPLIED:
        lie_in_means(MULTIPLIED[lie])
    elif lie in (lies := {"samples": FalseSamples, "noise": Noise, "turn": Turned}):
        patch.object(in_session, "Participant", lies[lie]).start()
    else:
        FalseState.file = MemoryFile(Path(lie).read_bytes())
        patch.object(in_session, "Participant", FalseState).start()
    runpy.run_module("core", run_name="__main__")
