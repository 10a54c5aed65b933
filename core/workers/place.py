"""Where a worker finds and leaves its things, and what it may use of this computer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from core.base.ids import PeerId
from core.base.manifest import Manifest
from core.workers import frames
from core.workers.data_frames import DataAccess


@dataclass(frozen=True, slots=True)
class WorkerShare:
    """What a worker may use of this computer."""

    device: str
    """ "auto", "all", or devices as torch calls them, with commas between them."""
    threads: int
    """At its start; `core.workers.frames.Throttle` changes it."""
    compile: bool = False
    memory_bytes: int | None = None
    disk_gigabytes: int = 0
    """For text (`core.engine.text.data_access`)."""

    def needs_another(self, other: "WorkerShare") -> bool:
        """Whether a worker that was started with this cannot go on with the other."""
        compiled = other.compile and self.threads != other.threads
        return compiled or replace(self, threads=0) != replace(other, threads=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerPlace:
    """Where a worker finds and leaves its things, and how it runs."""

    peer: PeerId
    """This computer."""
    manifest: Manifest
    manifest_path: Path
    blobs: Path
    states: Path
    arena: Path
    """A folder."""
    log: Path
    residuals: Path
    """The file of what a coarse codec loses; made when the codec is one."""
    means: Path
    """A folder."""
    seed: int
    share: Callable[[], WorkerShare]
    """Asked at each start of a worker."""
    last_epoch: int | None = None
    metrics: frames.MetricFiles = frames.NO_METRICS
    data: Callable[[], DataAccess] = DataAccess
    """Asked at each start of a worker."""
    command: Sequence[str] | None = None
    """The worker program; None: this program's own."""
