"""How each kind of fault is made."""

import contextlib
import signal
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Final

import psutil

from tests.faults.drawing import Fault, Kind
from tests.faults.processes import ProcessRole, role_of
from tests.faults.scene import PLACES, Scene
from tests.process.small_disk import fill

AHEAD_S: Final = (90.0, 600.0, -86_400.0, 2 * 365 * 86_400.0)
"""By how much a wrong clock is ahead."""


class CannotBeMade(Exception):
    """The machine has no means for this kind of fault."""


def inject(scene: Scene, fault: Fault) -> None:
    """Make a fault, and end it.

    Raises:
        CannotBeMade: this machine cannot do it.
    """
    INJECTORS[fault.kind](scene, fault)


def _kill_worker(scene: Scene, fault: Fault) -> None:
    for worker in _workers(scene, fault):
        worker.kill()


def _kill_engine(scene: Scene, fault: Fault) -> None:
    _kill(scene, [fault.victim])
    time.sleep(fault.lasts_s)
    scene.start(fault.victim)


def _kill_backbone(scene: Scene, fault: Fault) -> None:
    assert scene.swarm.backbone is not None
    scene.swarm.backbone.kill()
    scene.swarm.backbone.communicate()
    time.sleep(fault.lasts_s)
    scene.start_backbone()


def _kill_everything(scene: Scene, fault: Fault) -> None:
    """As a power cut of all of them: nothing is left that knows anything."""
    assert scene.swarm.backbone is not None
    scene.swarm.backbone.kill()
    _kill(scene, scene.computers)
    scene.swarm.backbone.communicate()
    time.sleep(fault.lasts_s)
    scene.start_backbone()
    for name in scene.computers:
        scene.start(name)


def _freeze_worker(scene: Scene, fault: Fault) -> None:
    _freeze(_workers(scene, fault), fault.lasts_s)


def _freeze_engine(scene: Scene, fault: Fault) -> None:
    _freeze([_engine(scene, fault)], fault.lasts_s)


def _freeze_computer(scene: Scene, fault: Fault) -> None:
    _freeze([_engine(scene, fault), *_workers(scene, fault)], fault.lasts_s)


def _freeze_backbone(scene: Scene, fault: Fault) -> None:
    assert scene.swarm.backbone is not None
    _freeze([psutil.Process(scene.swarm.backbone.pid)], fault.lasts_s)


def _cut_link(scene: Scene, fault: Fault) -> None:
    """Two volunteers and the backbone go on without the third one."""
    _cut(scene, [fault.victim], fault.lasts_s)


def _cut_all_links(scene: Scene, fault: Fault) -> None:
    """Each volunteer is alone."""
    _cut(scene, scene.computers, fault.lasts_s)


def _set_clock(scene: Scene, fault: Fault) -> None:
    clock = scene.computers[fault.victim].clock
    clock.set(AHEAD_S[int(fault.chance * len(AHEAD_S))])
    time.sleep(fault.lasts_s)
    clock.set(0.0)


def _flip_bit(scene: Scene, fault: Fault) -> None:
    """One bit of the newest checkpoint, while the engine is not running."""
    _kill(scene, [fault.victim])
    computer = scene.computers[fault.victim]
    path = computer.states / computer.newest[-1]
    data = bytearray(path.read_bytes())
    bit = int(fault.chance * 8 * len(data))
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)
    time.sleep(fault.lasts_s)
    scene.start(fault.victim)


def _fill_disk(scene: Scene, fault: Fault) -> None:
    computer = scene.computers[fault.victim]
    if not computer.has_disk:
        raise CannotBeMade("File systems cannot be mounted here.")
    ballast = computer.volunteer.home.directory / "ballast"
    fill(ballast)
    time.sleep(fault.lasts_s)
    ballast.unlink()


INJECTORS: Final[Mapping[Kind, Callable[[Scene, Fault], None]]] = MappingProxyType(
    {
        Kind.WORKER_KILLED: _kill_worker,
        Kind.ENGINE_KILLED: _kill_engine,
        Kind.BACKBONE_KILLED: _kill_backbone,
        Kind.EVERYTHING_KILLED: _kill_everything,
        Kind.WORKER_FROZEN: _freeze_worker,
        Kind.ENGINE_FROZEN: _freeze_engine,
        Kind.COMPUTER_FROZEN: _freeze_computer,
        Kind.BACKBONE_FROZEN: _freeze_backbone,
        Kind.LINK_CUT: _cut_link,
        Kind.ALL_LINKS_CUT: _cut_all_links,
        Kind.CLOCK_WRONG: _set_clock,
        Kind.BIT_FLIPPED: _flip_bit,
        Kind.DISK_FULL: _fill_disk,
    }
)


def _engine(scene: Scene, fault: Fault) -> psutil.Process:
    return psutil.Process(scene.computers[fault.victim].volunteer.process.pid)


def _workers(scene: Scene, fault: Fault) -> list[psutil.Process]:
    return [child for child in _engine(scene, fault).children() if role_of(child) is ProcessRole.WORKER]


def _kill(scene: Scene, names: Iterable[str]) -> None:
    processes = [scene.computers[name].volunteer.process for name in names]
    for process in processes:
        process.kill()
    for process in processes:
        process.communicate()


def _cut(scene: Scene, names: Collection[str], seconds: float) -> None:
    if scene.ground is None:
        raise CannotBeMade("There are no network namespaces here.")
    for name in names:
        scene.ground.cut(PLACES[name], plugged=False)
    time.sleep(seconds)
    for name in names:
        scene.ground.cut(PLACES[name], plugged=True)


def _freeze(processes: list[psutil.Process], seconds: float) -> None:
    """Stop processes for a time; one that was killed meanwhile is as good as any."""
    for process in processes:
        process.send_signal(signal.SIGSTOP)
    time.sleep(seconds)
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGCONT)
