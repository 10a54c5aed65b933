"""A small collaboration to which faults happen: a backbone and three volunteers with real workers.

Each volunteer's computer has a clock that can be set, and where the system allows it (Linux, root) a disk that can fill
up and a cable that can be pulled.  Somebody starts a program again that was killed, as the window or a service would.
"""

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from core.base.manifest import PAPER_LAMB
from tests.faults.drawing import VOLUNTEERS
from tests.faults.observer import Observer
from tests.faults.processes import MARK
from tests.lab.ground import Ground, missing
from tests.process.false_clock import FalseClock
from tests.process.small_disk import small_disk
from tests.process.swarm import CORE, ENVIRONMENT, Collaboration, Volunteer, end, found

TARGET_SAMPLES: Final = 768
"""An epoch of one to two seconds on two cores: one computer alone does not fill it between two reports."""
ENDLESS: Final = {**PAPER_LAMB, "learning_rate": 0.01, "warmup_epochs": 2, "total_epochs": 1_000_000}
"""A schedule that no run comes to the end of, for there nobody contributes any more."""
DISK_MIB: Final = 16
PLACES: Final = {"backbone": "p1", "ada": "p2", "bob": "p3", "eve": "a"}
"""Where in the lab's internet each computer is."""


@dataclass
class Computer:
    """A volunteer's computer."""

    name: str
    clock: FalseClock
    has_disk: bool
    volunteer: Volunteer
    observer: Observer

    @property
    def newest(self) -> list[str]:
        """The names of its checkpoints, newest last: epoch, lineage and digest."""
        return sorted(path.name for path in self.states.glob("state-*.safetensors"))

    @property
    def states(self) -> Path:
        (states,) = self.volunteer.home.directory.glob("state/*/states")
        return states

    @property
    def epoch_on_disk(self) -> int:
        return int(self.newest[-1].split("-")[1]) if self.newest else 0


@dataclass
class Scene:
    """The collaboration, its computers, and what they stand on."""

    folder: Path
    swarm: Collaboration
    ground: Ground | None
    computers: dict[str, Computer] = field(default_factory=dict)

    def start_backbone(self) -> None:
        address = self._address("backbone")
        self.swarm.start_backbone(*self._where(address), program=self._program("backbone"))

    def start(self, name: str, *extra: str) -> Volunteer:
        """Start a volunteer's engine, or start it again."""
        clock = self.computers[name].clock if name in self.computers else FalseClock(self.folder, name)
        where = self._where(self._address(name))
        program = self._program(name, clock.program)
        volunteer = self.swarm.join(name, "--stay", *where, *extra, program=program)
        if name in self.computers:
            self.computers[name].volunteer = volunteer
        return volunteer

    def end_volunteers(self) -> None:
        for computer in self.computers.values():
            end(computer.volunteer.process)

    @property
    def volunteers(self) -> list[Computer]:
        return list(self.computers.values())

    def _address(self, name: str) -> str | None:
        return self.ground.address(PLACES[name]) if self.ground is not None else None

    def _where(self, address: str | None) -> tuple[str, ...]:
        return ("--bind", "0.0.0.0", "--host", address) if address is not None else ()

    def _program(self, name: str, program: tuple[str, ...] = CORE) -> list[str]:
        return list(program) if self.ground is None else self.ground.inside(PLACES[name], program)


@contextlib.contextmanager
def scene(folder: Path) -> Iterator[Scene]:
    """The collaboration, running; everything ends with the context."""
    ENVIRONMENT[MARK] = str(folder)
    with contextlib.ExitStack() as stack:
        ground = stack.enter_context(Ground()) if missing(delay=False) is None else None
        disks = {name: stack.enter_context(small_disk(folder / name, mib=DISK_MIB)) for name in VOLUNTEERS}
        stack.callback(_keep_logs, folder)
        charter = found(folder, target_samples=TARGET_SAMPLES, optimizer=ENDLESS)
        made = Scene(folder, Collaboration(folder, charter, share=100), ground)
        stack.callback(made.swarm.close)
        made.start_backbone()
        for name in VOLUNTEERS:
            volunteer = made.start(name)
            namespace = ground.namespace(PLACES[name]) if ground is not None else None
            observer = Observer(volunteer.home, volunteers=len(VOLUNTEERS), namespace=namespace)
            stack.callback(observer.close)
            clock = FalseClock(folder, name)
            made.computers[name] = Computer(name, clock, disks[name], volunteer, observer)
        yield made


def _keep_logs(folder: Path) -> None:
    """The disks go, and what they said stays."""
    for name in VOLUNTEERS:
        with contextlib.suppress(OSError):
            shutil.copytree(folder / name / "logs", folder / f"{name}-logs")
