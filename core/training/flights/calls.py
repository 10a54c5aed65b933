"""What flights say to those who carry their calls to experts, and what they hear; and experts in the own process.

Letters of shapes: R rows of a flight, r rows of a call, W numbers of a row, G numbers of a gate, K experts that a row
is given to.
"""

# ruff: noqa: N803, N806, N815 - names of arrays end in their shapes

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from core.base.content import digest
from core.base.mixture import ExpertNumbers
from core.codecs.registry import codec_of
from core.experts.grid import ExpertGrid
from core.experts.queue import CallKind
from core.system.atomic_files import set_aside, write_atomic
from core.tasks.experts.blocks import new_expert
from core.tasks.experts.gate import PlaceScores
from core.training.experts.bounds import Rows, UsualNorm
from core.training.experts.hosted_expert import GradientCall, HostedExpert, NotFiniteRows
from core.workers.flight_frames import FlightNews


@dataclass(frozen=True, slots=True)
class SeekPlaces:
    """Which living experts suit these rows best?  ExpertAnswered by `PlacesSought`."""

    flight: int
    layer: int
    scores_RG: torch.Tensor


@dataclass(frozen=True, slots=True)
class PlacesSought:
    """The experts that the rows are given to: numbers of places in the layer's grid."""

    flight: int
    places_RK: torch.Tensor
    """The best of each row comes first; -1: there are no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskExpert:
    """Have an expert compute rows.  Answered by `ExpertAnswered` or `ExpertLapsed`, unless its flight is forgotten."""

    call: int
    flight: int
    layer: int
    place: int
    kind: CallKind
    rows_r: torch.Tensor
    """Which rows of the flight these are."""
    x_rW: torch.Tensor
    gradient_rW: torch.Tensor | None = None
    """Backward: the gradient of the answers, of the sum of the samples' losses."""
    seen: int = 0
    """Backward: version of the expert that answered forward."""


@dataclass(frozen=True, slots=True)
class ExpertAnswered:
    """What an expert has computed: answers, or the gradient of the rows.  They may be a stranger's."""

    call: int
    found_rW: torch.Tensor
    version: int


@dataclass(frozen=True, slots=True)
class ExpertLapsed:
    """Nobody will answer a call any more."""

    call: int


CallNews = PlacesSought | ExpertAnswered | ExpertLapsed


class CallCarrier(Protocol):
    """Carries calls to experts, wherever they live, and their answers back."""

    def seek(self, seek: SeekPlaces) -> None:
        """Find out which experts are to be asked."""

    def ask(self, ask: AskExpert) -> None:
        """Have one of them compute rows of a flight."""

    def forget(self, flight: int) -> None:
        """The flight waits for no answer any more."""

    def blame(self, call: int) -> None:
        """What was answered to a call has done harm."""

    def heard(self) -> Iterable[CallNews]:
        """Answers since the last time, without waiting for any."""

    def take(self, frame: FlightNews) -> None:
        """The engine has told something, where it carries the calls."""


class LocalExperts:
    """Experts in the own process, which answer all calls at once (`CallCarrier`); otherwise they are as at a host.

    Args:
        numbers: The mixture's.
        seed: First numbers of the experts follow from it, 32 bytes.
        device: Where they compute, as torch calls it.
        clock: Seconds that only go forward.
    """

    def __init__(self, numbers: ExpertNumbers, seed: bytes, *, device: str, clock: Callable[[], float]) -> None:
        self._numbers = numbers
        self._seed = seed
        self._device = device
        self._clock = clock
        self._codec = codec_of(numbers.codec)
        self._scores = PlaceScores(ExpertGrid(numbers.grid, numbers.live))
        self._usual = [UsualNorm() for _ in range(numbers.layers)]
        self._experts: dict[tuple[int, int], HostedExpert] = {}
        """By layer and place, those that were asked."""
        self._news: list[CallNews] = []

    @property
    def all(self) -> Iterable[HostedExpert]:
        """The experts that were asked before, in any order."""
        return self._experts.values()

    def seek(self, seek: SeekPlaces) -> None:
        """Name the best of all places, all of which have an expert."""
        self.name_best(seek, count=self._numbers.top)

    def name_best(self, seek: SeekPlaces, *, count: int) -> None:
        """Name so many of the best places for each row; `heard` gives them."""
        scores_RP = self._scores.of_all(seek.scores_RG)
        self._news.append(PlacesSought(seek.flight, scores_RP.topk(count, dim=1).indices.cpu()))

    def ask(self, ask: AskExpert) -> None:
        """Compute what is asked for; `heard` gives it."""
        expert, x_rW = self.expert(ask.layer, ask.place), self._sent(ask.x_rW)
        version = expert.version
        try:
            if ask.gradient_rW is None:
                found_rW = expert.forward(x_rW)
            else:
                call = GradientCall(slice(0, len(x_rW)), b"", counted=True, seen=ask.seen)
                found_rW = expert.backward(x_rW, self._sent(ask.gradient_rW), [call], now=self._clock())
        except NotFiniteRows:
            self._news.append(ExpertLapsed(ask.call))
            return
        answer_rW = self._sent(torch.from_numpy(found_rW))
        self._news.append(ExpertAnswered(ask.call, torch.from_numpy(answer_rW).to(self._device), version))

    def forget(self, flight: int) -> None:
        """Nothing is under way here that could be forgotten."""

    def blame(self, call: int) -> None:
        """Ignore it: these experts are this process's own."""

    def heard(self) -> Iterable[CallNews]:
        """All answers since the last time."""
        news, self._news = self._news, []
        return news

    def take(self, frame: FlightNews) -> None:
        """Ignore it: no engine carries these calls."""

    def expert(self, layer: int, place: int) -> HostedExpert:
        """The expert of a place, which begins when it is first asked."""
        if (layer, place) not in self._experts:
            numbers, own = self._numbers, digest(self._seed + b"expert %d %d" % (layer, place))
            seed = int.from_bytes(own[:8], "big")
            block = new_expert(numbers.block, width=numbers.width, factor=numbers.factor, seed=seed)
            usual = self._usual[layer]
            self._experts[layer, place] = HostedExpert(block, numbers, device=self._device, usual=usual)
        return self._experts[layer, place]

    def save(self, path: Path) -> None:
        """Write the experts' numbers and versions to a file.

        Raises:
            NoSpace: the disk is full.
        """
        named = {f"{layer}.{place}": expert for (layer, place), expert in self._experts.items()}
        tensors = {
            f"{own}.{name}": tensor for own, expert in named.items() for name, tensor in expert.tensors().items()
        }
        write_atomic(path, save(tensors, {own: str(expert.version) for own, expert in named.items()}))

    def load(self, path: Path) -> None:
        """Take over what `save` has written, if it has; a file that cannot be used is set aside."""
        if not path.exists():
            return
        try:
            with safe_open(path, framework="pt", device=self._device) as file:
                for own, version in file.metadata().items():
                    layer, place = map(int, own.split("."))
                    expert = self.expert(layer, place)
                    tensors = {name: file.get_tensor(f"{own}.{name}") for name in expert.tensors()}
                    expert.set_to(tensors, int(version))
        except (SafetensorError, OSError, ValueError, RuntimeError, LookupError, AttributeError) as error:
            self._experts.clear()
            kept = set_aside(path, why="damaged").name
            sys.stderr.write(f"The file of the experts cannot be read ({error}); it was kept as {kept}.\n")

    def _sent(self, rows_rW: torch.Tensor) -> Rows:
        """Rows as they come out of the codec."""
        numbers = rows_rW.detach().cpu().contiguous().view(-1).numpy()
        arrived = np.empty_like(numbers)
        self._codec.decode_into(self._codec.encode(numbers), arrived)
        return arrived.reshape(rows_rW.shape)
