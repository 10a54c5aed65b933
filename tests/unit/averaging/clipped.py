"""Rounds of members that train one model, with clipped means, and reducers that lie about these."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from core.averaging.aggregators import Aggregator, CenteredClip
from core.averaging.butterfly import Butterfly, RoundInput
from core.averaging.messages import Members
from core.averaging.outcome import RoundFinished
from core.base.signing import Ed25519Verifier, Signing
from core.codecs.registry import codec_of
from tests.unit.averaging.liars import ends
from tests.unit.averaging.pump import Round, make_plan, with_keys

Rows = NDArray[np.float32]
CHUNK = 512
LIAR = 1


def clipped_round(
    members: int | Sequence[int],
    *,
    codec: str = "raw",
    seed: int = 0,
    aggregators: dict[int, Aggregator] | None = None,
    signed: bool = True,
    chunks: int | Sequence[int] = 3,
) -> Round:
    """A round of members, so many or with so many samples each, that train one model: as much noise as gradient.

    Each reduces so many chunks, or as many as are named for it.
    """
    samples = [10] * members if isinstance(members, int) else [*members]
    shares = (chunks,) * len(samples) if isinstance(chunks, int) else tuple(chunks)
    plan, keys = with_keys(make_plan(samples, sum(shares) * CHUNK, chunk_numel=CHUNK, codec=codec))
    plan = msgspec.structs.replace(plan, chunks=shares)
    random = np.random.default_rng(seed)
    gradient = random.standard_normal(plan.numel).astype(np.float32)
    vectors = gradient + random.standard_normal((len(samples), plan.numel)).astype(np.float32)
    norms = np.linalg.norm(vectors, axis=1)
    rows = tuple(msgspec.structs.replace(row, norm=float(norm)) for row, norm in zip(plan.members, norms, strict=True))
    round_ = Round(msgspec.structs.replace(plan, members=rows), seed=seed)
    round_.vectors = vectors
    for place, peer in enumerate(plan.peers):
        work = RoundInput(
            vectors[place],
            round_.results[place],
            codec_of(codec, (plan.numel,)),
            aggregator=(aggregators or {}).get(place, CenteredClip()),
            secret=bytes([place]),
            identity=Signing(keys[place], Ed25519Verifier()) if signed else None,
        )
        round_.machines[peer] = Butterfly(peer, round_.plan, work, trace=round_.traces[place])
    return round_


class Lying(CenteredClip):
    """A reducer that makes something else of the mean, of its own part and the mean."""

    def __init__(self, lie: Callable[[Rows], Rows]) -> None:
        super().__init__()
        self.lie = lie

    def aggregate(self, weights: Any, parts: Any, out: Rows, *known: Any) -> float:
        radius = super().aggregate(weights, parts, out, *known)
        out[:] = self.lie(out.copy())
        return radius


def noise(mean: Rows) -> Rows:
    random = np.random.default_rng(7).standard_normal(mean.size).astype(np.float32)
    return random * np.float32(np.linalg.norm(mean) / np.linalg.norm(random))


LIES: dict[str, Callable[[Rows], Rows]] = {
    "x1000": lambda mean: mean * np.float32(1000),
    "1e38": lambda mean: np.full_like(mean, 1e38),
    "turned": lambda mean: -mean,
    "zeros": np.zeros_like,
    "noise": noise,
    "a tenth more": lambda mean: mean * np.float32(1.1),
}


def true_means(round_: Round) -> Rows:
    """What honest members come to, on their own."""
    honest = clipped_round(len(round_.plan.members), codec=round_.plan.codec)
    honest.run()
    return honest.results[0]


def honest_ends(round_: Round, liars: Members) -> list[RoundFinished]:
    of, found = ends(round_), []
    for peer in (peer for place, peer in enumerate(round_.plan.peers) if place not in liars):
        end = of[peer]
        assert isinstance(end, RoundFinished), end
        found.append(end)
    return found


def others(round_: Round, liar: int) -> list[int]:
    return [place for place in range(len(round_.plan.peers)) if place != liar]
