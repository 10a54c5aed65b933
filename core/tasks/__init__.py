"""What a swarm can learn: each task is a module that satisfies `TaskModule`.

A new task is a module here, and one line in `core.base.tasks`; it gets its tests from `tests/contracts/test_tasks.py`.
"""

from importlib import import_module
from typing import cast

from core.base.manifest import Manifest
from core.base.problems import unknown_name
from core.base.tasks import TASKS
from core.tasks.task import Blobs, Task, TaskModule


def module_of(name: str) -> TaskModule:
    """The task of that name, not yet any one collaboration's.

    Raises:
        BadInput: this release does not know it.
    """
    if name not in TASKS:
        raise unknown_name("task", name, TASKS)
    return cast("TaskModule", import_module(TASKS[name]))


def task_of(manifest: Manifest, blobs: Blobs) -> Task:
    """The task that a manifest names.

    Args:
        manifest: Verified already.
        blobs: Reads the manifest's blobs.

    Raises:
        BadInput: this release does not know the task, or its numbers or blobs cannot be used.
    """
    return module_of(manifest.task).open_task(manifest, blobs)
