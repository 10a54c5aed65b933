"""The table `[experts]` of a recipe or manifest: a mixture of experts on volunteers' computers (Learning@home).

Its layers stand within the model, which is called the trunk; a grid of places names the experts of each of them
(`core.experts.grid`).
"""

from math import prod
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

PLACES_MAX: Final = 65_536
"""Number of experts of a layer."""
ROWS_OF_ALL_MAX: Final = 16_384
"""Number of rows of all layers: each is a key of its own that all hosts and trainers know, and holders have room for
20,000 records (`core.swarm.experts.records`)."""
EXPERT_BYTES_MAX: Final = 512 * 1024 * 1024
"""Upper bound on the parameters of one expert, bytes of float32: a volunteer's computer holds them."""
NUMBER_BYTES: Final = 4
VECTORS: Final = {"adamw": 4, "sgd": 3}
"""Vectors of an expert's size in its host's memory: parameters, gradients, and the optimiser's own."""

Size = Annotated[int, Meta(ge=2, le=256)]
Decay = Annotated[float, Meta(ge=0, lt=1)]


class ExpertOptimizer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a host takes the steps of an expert.  Each expert counts its own, and no two computers need equal bits."""

    name: Literal["adamw", "sgd"] = "adamw"
    learning_rate: Annotated[float, Meta(gt=0, le=10)] = 0.001
    warmup_updates: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
    """Updates in which the rate rises by as much each, up to the full rate."""
    beta1: Decay = 0.9
    beta2: Decay = 0.999
    epsilon: Annotated[float, Meta(gt=0, le=1)] = 1e-8
    momentum: Decay = 0.0
    """For sgd, in the place of `beta1` and `beta2`."""
    weight_decay: Annotated[float, Meta(ge=0, le=100)] = 0.0
    max_grad_norm: Annotated[float, Meta(gt=0, le=1e12)] = 1.0
    """A gradient of a larger norm is scaled down to it."""


class ExpertNumbers(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Sizes of the mixture, and how trainers and hosts work together."""

    layers: Annotated[int, Meta(ge=1, le=64)] = 4
    """Layers of experts in the model."""
    grid: Annotated[tuple[Size, ...], Meta(min_length=1, max_length=3)] = (4, 4)
    """Number of coordinates in each dimension of a layer's grid."""
    live: Annotated[int, Meta(ge=2, le=PLACES_MAX)]
    """Number of places of a layer that are to have an expert."""
    top: Annotated[int, Meta(ge=1, le=8)] = 4
    """Experts that a sample is given to in each layer."""
    spare: Annotated[int, Meta(ge=0, le=4)] = 1
    """Experts that are asked beyond these, where many do not answer."""
    block: Literal["ffn"] = "ffn"
    """What an expert computes (`core.tasks.experts.blocks`)."""
    width: Annotated[int, Meta(ge=8, le=8192)] = 64
    """Numbers of a sample that go into an expert, and come out of it."""
    factor: Annotated[int, Meta(ge=1, le=8)] = 4
    """Times as many numbers stand between an expert's layers."""
    codec: Literal["u8", "fp16", "raw"] = "u8"
    """How samples and gradients look on the wire."""
    optimizer: ExpertOptimizer = ExpertOptimizer()
    step_rows: Annotated[int, Meta(ge=1, le=65_536)] = 32
    """An expert takes a step after gradients of so many samples ..."""
    step_calls: Annotated[int, Meta(ge=1, le=1000)] = 10
    """... or after so many calls since the first of them."""
    staleness: Annotated[int, Meta(ge=1, le=10_000)] = 64
    """Steps that an expert may have taken since its answer; gradients that come later give it nothing."""
    balance: Annotated[float, Meta(ge=0, le=1)] = 0.01
    """Weight in the objective of how unevenly the gate chooses."""
    patience_s: Annotated[float, Meta(ge=0.1, le=120)] = 30.0
    """How long a trainer waits for an expert's answer."""
    flights: Annotated[int, Meta(ge=1, le=512)] = 256
    """Upper bound on the batches of one trainer that are under way at once."""
    owner_share: Annotated[float, Meta(gt=0, le=1)] = 0.25
    """Upper bound on the share of a layer's experts that one volunteer counts for."""

    def __post_init__(self) -> None:
        """Refuse what no mixture can be.

        Raises:
            ValueError: so it is, in a sentence; msgspec makes a `ValidationError` of it where it decodes.
        """
        places = prod(self.grid)
        if self.live > places:
            raise ValueError(f"live must be at most {places:,}, the places of grid, not {self.live:,}.")
        if self.top + self.spare > self.live:
            both = self.top + self.spare
            raise ValueError(f"top and spare must together be at most {self.live:,}, the number live, not {both}.")
        rows = self.layers * (-(-self.live // self.grid[-1]) if len(self.grid) > 1 else 1)
        if rows > ROWS_OF_ALL_MAX:
            raise ValueError(f"all layers must have at most {ROWS_OF_ALL_MAX:,} rows of the last size, not {rows:,}.")
        if self.expert_bytes > EXPERT_BYTES_MAX:
            most, size = EXPERT_BYTES_MAX >> 20, self.expert_bytes / 2**20
            raise ValueError(f"width and factor must make experts of at most {most} MiB, not {size:,.0f}.")

    @property
    def expert_numel(self) -> int:
        """Number of an expert's parameters (`core.tasks.experts.blocks`)."""
        inner = self.factor * self.width
        return 2 * self.width * inner + inner * inner + 6 * inner + self.width

    @property
    def expert_bytes(self) -> int:
        """Bytes of an expert's parameters in float32."""
        return NUMBER_BYTES * self.expert_numel

    @property
    def hosting_bytes(self) -> int:
        """Bytes of memory that an expert takes at its host."""
        return VECTORS[self.optimizer.name] * self.expert_bytes

    @property
    def owner_most(self) -> int:
        """Number of places of a layer at which one volunteer counts."""
        return max(1, int(self.owner_share * self.live))
