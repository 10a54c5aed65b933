"""What a swarm can learn: a plain dict from the name that stands in a manifest to what makes the task.

To add a task, write a class with the methods of `core.tasks.task.Task` and add a line to TASKS.
"""

from collections.abc import Callable, Mapping
from typing import Final

from core.base.manifest import Manifest
from core.base.problems import BadInput
from core.tasks.task import Blobs, Task


def _albert(manifest: Manifest, blobs: Blobs) -> Task:
    from core.tasks.albert.task import Albert  # noqa: PLC0415 - brings torch, which preparing does not need

    return Albert.from_manifest(manifest, blobs)


TASKS: Final[Mapping[str, Callable[[Manifest, Blobs], Task]]] = {"albert": _albert}


def task_of(manifest: Manifest, blobs: Blobs) -> Task:
    """The task that a manifest names.

    Args:
        manifest: Verified already.
        blobs: Reads the manifest's blobs.

    Raises:
        BadInput: this release does not know the task, or its numbers or blobs cannot be used.
    """
    if manifest.task not in TASKS:
        raise BadInput(f"This version of Potluck does not know the task {manifest.task!r}.", hint="Update Potluck.")
    return TASKS[manifest.task](manifest, blobs)
