"""A learner that computes nothing for a while, and gives its device's memory back meanwhile."""

import contextlib
from collections.abc import Iterable

import torch

from core.base.problems import WorkerProblem
from core.training.replicas import said
from core.training.round import Learner


class Standstill:
    """From now on the learner computes nothing, its data thread included, until `end`.

    A contribution that is out counts again: its round goes on without this worker.

    Args:
        learner: Stands still.
    """

    def __init__(self, learner: Learner) -> None:
        self._replicas = replicas = learner.replicas
        replicas.rest()
        learner.take_back()
        for replica in replicas.each:
            replica.data.stop()
        learner.data.rest()
        self._parked = Parked(_on_devices((*learner.parameters.memory, *learner.rule.vectors)))
        self._others = [(other, Parked(_on_devices(other.memory))) for other in replicas.others]

    def end(self) -> None:
        """Have the learner as it was; its data goes on with `start`.  Another device than the first may be gone.

        Raises:
            WorkerProblem: the first device cannot be used any more, or has no room.
        """
        for other, parked in self._others:
            try:
                parked.bring_back()
            except RuntimeError as error:
                self._replicas.leave(other, said(error))
        try:
            self._parked.bring_back()
        except RuntimeError as error:
            raise WorkerProblem(
                f"The device could not be used again: {str(error).splitlines()[0]}",
                hint="Training goes on from the last saved state.",
            ) from error


def _on_devices(tensors: Iterable[torch.Tensor]) -> Iterable[torch.Tensor]:
    """Those that are not in the computer's own memory, which the system swaps out by itself."""
    return (tensor for tensor in tensors if tensor.device.type != "cpu")


class Parked:
    """The numbers of some tensors, in the computer's memory, while their device's is given back.

    They leave in place: views of them stay views, and hold the same numbers after `bring_back`.

    Args:
        tensors: All that has memory on the device and is to come back; those that share memory are moved once.
    """

    def __init__(self, tensors: Iterable[torch.Tensor]) -> None:
        storages = {storage.data_ptr(): storage for storage in (tensor.untyped_storage() for tensor in tensors)}
        self._kept: list[tuple[torch.UntypedStorage, torch.UntypedStorage]] = []
        for storage in storages.values():
            copy = torch.UntypedStorage(storage.nbytes()).copy_(storage)  # type: ignore[no-untyped-call]
            with contextlib.suppress(RuntimeError):  # torch cannot empty it on every kind of device
                storage.resize_(0)
                self._kept.append((storage, copy))
        if torch.accelerator.is_available():
            torch.accelerator.empty_cache()

    def bring_back(self) -> None:
        """Have the tensors as they were, on their device.

        Raises:
            RuntimeError: it has no room for them now.
        """
        for storage, copy in self._kept:
            storage.resize_(copy.nbytes())
            storage.copy_(copy)
        self._kept = []
