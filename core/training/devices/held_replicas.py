"""The devices of one worker: which of them hold a replica of the model, which are left out, and which have left."""

import gc
import sys
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import torch

from core.api.settings import CPU
from core.base.problems import Sentence, WorkerProblem
from core.system.usage import return_unused_memory
from core.training.devices.replica import Replica
from core.training.devices.replica_thread import ReplicaThread, said
from core.training.rules import Rule
from core.training.samples.samples import RowsInHand
from core.training.vectors.flat import move


class HeldReplicas:
    """Holds a replica of the model on each device that computes, and lets a device leave that fails.

    A device that is left out holds nothing.  Where it is the first one, its numbers lie in the computer's memory, and
    the next one computes in its place.

    A device that fails leaves, with a sentence in the log; that the first one fails is its caller's problem.

    Args:
        first: Has the parameters.
        rule: Holds vectors on the first device.
        rows: Told whose batches are given up.
        clock: Seconds that only go forward.
        others: All other devices that are to compute; one that cannot has left.
    """

    def __init__(
        self, first: Replica, rule: Rule, rows: RowsInHand, clock: Callable[[], float], others: Iterable[str]
    ) -> None:
        self.first = first
        self._rule = rule
        self._rows = rows
        self._clock = clock
        self._names: list[str] = []
        """Names of all other devices; empty where one has left."""
        self._others: dict[int, ReplicaThread] = {}
        """Those that are not left out, by their places among the names."""
        self._share = 100
        self.left_out: Collection[str] = ()
        """Devices, as torch calls them, that compute nothing while the others do, from the next `arrange` on."""
        self.left: list[Sentence] = []
        """A sentence for each device that has left."""
        weakref.finalize(self, _stop, self._others)
        for place, name in enumerate(others):
            self._names.append(name)
            self._bring(place)

    @property
    def devices(self) -> list[str]:
        """All that have not left, also those that are left out."""
        return [self.first.device, *filter(None, self._names)]

    @property
    def others(self) -> Sequence[ReplicaThread]:
        """All devices except the first and those that are left out, in their order."""
        return tuple(self._others[place] for place in sorted(self._others))

    @property
    def each(self) -> list[Replica]:
        """Replicas of the first device, and of every other one that is not left out."""
        return [self.first, *(other.replica for other in self.others)]

    @property
    def lead(self) -> Replica | None:
        """The replica that computes in the caller's thread: the first that is not left out; None: all are."""
        if self.first.device not in self.left_out:
            return self.first
        return next((other.replica for other in self.others), None)

    def set_share(self, percent: int) -> None:
        """From now on have all devices compute in this percentage of the time, beside the caller; they stand still."""
        self._share = percent
        for other in self.others:
            other.duty.set_share(percent)

    def arrange(self, *, withdrawn: bool = False) -> None:
        """Have each device hold what it needs: nothing where it is left out.  All stand still.

        Args:
            withdrawn: No device needs anything until the next call: what it holds lies in the computer's memory.

        Raises:
            WorkerProblem: the first device cannot be used any more, or has no room.
        """
        before = self._lies()
        for place, name in enumerate(self._names):
            if place in self._others:
                self._place(place, withdrawn=withdrawn)
            elif name and name not in self.left_out and not withdrawn:
                self._bring(place)
        self._place_first(withdrawn=withdrawn)
        if self._lies() != before and torch.accelerator.is_available():
            gc.collect()
            torch.accelerator.empty_cache()
        if withdrawn:
            return_unused_memory()

    def leave(self, other: ReplicaThread, why: str) -> None:
        """Go on without a device that stands still.

        Args:
            other: Place of the device.
            why: A sentence.
        """
        place = next(place for place, one in self._others.items() if one is other)
        self._drop(place)
        self._leaves(place, why)

    def _lies(self) -> tuple[list[str], list[tuple[str, str]]]:
        """The devices that have not left, and in which memory each of those that compute has its numbers."""
        return self.devices, [(one.device, one.parameters.values_N.device.type) for one in self.each]

    def _bring(self, place: int) -> None:
        try:
            other = self._others[place] = ReplicaThread(self.first.another(self._names[place]), self._clock)
            other.duty.set_share(self._share)
        except (RuntimeError, MemoryError) as error:  # torch has no narrower kind for what drivers say
            self._leaves(place, said(error))

    def _place(self, place: int, *, withdrawn: bool) -> None:
        other = self._others[place]
        if other.replica.device in self.left_out:
            self._drop(place)
            return
        try:
            if to := _goes_to(other.replica, CPU if withdrawn else other.replica.device):
                other.move(to)
        except RuntimeError as error:
            self.leave(other, said(error))

    def _place_first(self, *, withdrawn: bool) -> None:
        first = self.first
        try:
            if to := _goes_to(first, CPU if withdrawn or first.device in self.left_out else first.device):
                first.parameters.move(to)
                move(self._rule.vectors, to)
        except RuntimeError as error:
            message = "The device could not be used again: {error}"
            raise WorkerProblem(message, said(error), hint="Training goes on from the last saved state.") from error

    def _drop(self, place: int) -> None:
        """Hold nothing on a device; what it has computed is with the rule."""
        other = self._others.pop(place)
        self._rows.give_up([drawn.rows for drawn in other.replica.data.close()])

    def _leaves(self, place: int, why: str) -> None:
        self.left.append(Sentence("The device {name} trains no more: {why}", self._names[place], why))
        self._names[place] = ""
        rest = ", ".join(self.devices)
        sys.stderr.write(f"{self.left[-1]} Training goes on with {rest}.\n")


def _goes_to(replica: Replica, device: str) -> str:
    """The device to which a replica has to be moved, to be in this one's memory; empty: it is there."""
    return "" if torch.device(device).type == replica.parameters.values_N.device.type else device


def _stop(others: Mapping[int, ReplicaThread]) -> None:
    """Have no thread within a library's code when the program ends: that would abort it."""
    for other in others.values():
        other.ask_to_stop()
    for other in others.values():
        other.stop()
