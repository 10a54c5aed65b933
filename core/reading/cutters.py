"""The cutter of a manifest's task, without torch."""

from importlib import import_module
from typing import Protocol, cast

from core.base.manifest import Manifest
from core.base.problems import unknown_name
from core.base.tasks import CUTTERS
from core.tasks.cutter import Cutter
from core.tasks.task import Blobs


class _CutterModule(Protocol):
    """A module, one of those that `core.base.tasks.CUTTERS` names."""

    def open_cutter(self, manifest: Manifest, blobs: Blobs) -> Cutter: ...


def open_cutter(manifest: Manifest, blobs: Blobs) -> Cutter:
    """The cutter of a manifest's task.

    Raises:
        BadInput: this version does not know the task, or its numbers or blobs cannot be used.
    """
    if manifest.task not in CUTTERS:
        raise unknown_name("task", manifest.task, CUTTERS)
    return cast("_CutterModule", import_module(CUTTERS[manifest.task])).open_cutter(manifest, blobs)
