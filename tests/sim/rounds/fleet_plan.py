"""Plans for fleets of lines, and the vectors that their members bring."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray

from core.averaging.balance.shares import apportion
from core.averaging.balance.traffic import Line
from core.averaging.plan import Member, Plan, Rates, chunk_count
from core.base.ids import PeerId, hashed_key
from core.codecs.registry import CODECS


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundTask:
    """The vector that a round averages."""

    numel: int
    """Numbers in the vector that is simulated."""
    chunk_numel: int = 65_536
    codec: str = "raw"
    scale: int = 1
    """Vectors are really shorter by this factor; chunks stay as many, and as long on the line, as they would be."""
    stall_timeout_s: float = 600.0
    round_timeout_s: float = 3600.0

    @property
    def chunk_total(self) -> int:
        """Number of chunks in the vector."""
        return chunk_count(self.numel, self.chunk_numel)

    @property
    def real_chunk_numel(self) -> int:
        """Numbers in a chunk of the vectors that really are there."""
        return max(1, self.chunk_numel // self.scale)

    @property
    def real_numel(self) -> int:
        """Numbers in the vectors that really are there."""
        last = self.numel - (self.chunk_total - 1) * self.chunk_numel
        real_last = max(1, min(self.real_chunk_numel, last // self.scale))
        return (self.chunk_total - 1) * self.real_chunk_numel + real_last

    def chunk_bytes(self) -> list[int]:
        """Bytes of each chunk's payload on a line."""
        codec = CODECS[self.codec]
        starts = range(0, self.numel, self.chunk_numel)
        return [codec.max_bytes(min(self.chunk_numel, self.numel - start), start) for start in starts]


def shares(lines: Sequence[Line], task: RoundTask, weights: Sequence[int] | None) -> tuple[int, ...]:
    """Chunks that each member reduces: by `weights`, or as many for each that reduces."""
    return apportion(task.chunk_total, weights or [int(line.reduces) for line in lines])


def fleet_plan(
    lines: Sequence[Line],
    task: RoundTask,
    *,
    seed: int,
    chunks: Sequence[int],
    portions: Sequence[int] | None = None,
    samples: Sequence[int] | None = None,
) -> Plan:
    """Plan a round of members with these lines, in this order.

    Args:
        lines: The members' lines.
        task: The vector to average.
        seed: Decides the members' keys, the round's name and the order of the leaders.
        chunks: Number of chunks that each member reduces.
        portions: Number of 256ths of its chunks that each member contributes; None: all, where the line contributes at
            all.
        samples: Each member's weight; None: 1 where its line contributes, else 0.
    """
    name = seed.to_bytes(8, "big")
    peers = sorted(PeerId(hashed_key(b"member", name, index.to_bytes(4, "big"))) for index in range(len(lines)))
    weights = samples or [int(line.gives) for line in lines]
    leaders = list(range(len(lines)))
    Random(seed).shuffle(leaders)
    return Plan(
        round=hashed_key(b"round", name),
        epoch=1,
        lineage=bytes(32),
        numel=task.real_numel,
        chunk_numel=task.real_chunk_numel,
        codec=task.codec,
        stall_timeout_s=task.stall_timeout_s,
        round_timeout_s=task.round_timeout_s,
        members=tuple(
            Member(peer, weight, 1.0, line.reduces, line.receives)
            for peer, weight, line in zip(peers, weights, lines, strict=True)
        ),
        chunks=tuple(chunks),
        leaders=tuple(leaders),
        lines=tuple(Rates(*_scaled(line, task.scale)) for line in lines),
        portions=tuple(portions or ()),
    )


def _scaled(line: Line, scale: int) -> tuple[int, int]:
    """Bandwidth that carries the real vectors in the time of the simulated ones, bytes per second."""
    return max(1, int(line.up_bytes_per_s / scale)), max(1, int(line.down_bytes_per_s / scale))


def vectors(plan: Plan, seed: int) -> NDArray[np.float32]:
    """A contribution for each member: shape (members, numel), normally distributed, read only."""
    drawn = np.random.default_rng(seed).standard_normal((len(plan.members), plan.numel), dtype=np.float32)
    drawn.flags.writeable = False
    return drawn
