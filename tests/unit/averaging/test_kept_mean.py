"""A round's mean in a file: the bits that all members have, and nothing else."""

import io
from random import Random

import msgspec
import numpy as np
import pytest

from core.averaging.bandwidth.known import UNKNOWN, KnownLines
from core.averaging.butterfly import Butterfly, RoundInput
from core.averaging.kept_mean import MeanForm
from core.averaging.matchmaking.plans import PlanRequest
from core.averaging.matchmaking.plans import make_plan as publish
from core.averaging.outcome import RoundFinished
from core.averaging.plan import Member, Rates
from core.base.machine import Trace
from core.base.manifest import AveragingNumbers
from core.base.problems import RemoteProblem
from core.codecs.registry import CODEC_NAMES, FEEDBACK, codec_of
from tests.unit.averaging.pump import Pump, peer_ids

NUMEL, CHUNK = 5000, 1024
LAYOUT = (3000, 2000)


def form(codec: str, numel: int = NUMEL) -> MeanForm:
    return MeanForm(codec_of(codec, LAYOUT), chunk_numel=CHUNK, numel=numel)


def sent(codec: str) -> np.ndarray:
    """A mean as it is after its way through a round: each chunk encoded and decoded once."""
    numbers = np.random.default_rng(7).standard_normal(NUMEL).astype(np.float32)
    used = codec_of(codec, LAYOUT)
    for start in range(0, NUMEL, CHUNK):
        part = numbers[start : start + CHUNK]
        used.decode_into(used.encode(part.copy(), start), part, start)
    return numbers


@pytest.mark.parametrize("codec", CODEC_NAMES)
def test_mean_has_the_same_bits_after_its_file(codec: str) -> None:
    mean, again = sent(codec), np.full(NUMEL, np.nan, dtype=np.float32)
    data = b"".join(form(codec).pieces(mean))
    assert len(data) <= form(codec).bytes_max
    form(codec).read(io.BytesIO(data).read, again)
    assert again.tobytes() == mean.tobytes()
    assert b"".join(form(codec).pieces(again)) == data


def test_file_of_a_raw_mean_is_lengths_and_numbers() -> None:
    mean = sent("raw")
    parts = [mean[start : start + CHUNK].astype("<f4").tobytes() for start in range(0, NUMEL, CHUNK)]
    expected = CHUNK.to_bytes(4, "little") + b"".join(len(part).to_bytes(4, "little") + part for part in parts)
    assert b"".join(form("raw").pieces(mean)) == expected


def test_mean_that_no_round_has_made_is_not_kept() -> None:
    with pytest.raises(ValueError, match="changes"):
        list(form("u8").pieces(np.random.default_rng(1).standard_normal(NUMEL).astype(np.float32)))


def uneven(numel: int, seed: int) -> np.ndarray:
    """Numbers whose size differs from one stretch to the next: a codec's scale for each chunk tells these apart."""
    sizes = np.repeat(10.0 ** np.arange(-6, 6, 12 / (numel / 1000)), 1000)[:numel]
    return (np.random.default_rng(seed).standard_normal(numel) * sizes).astype(np.float32)


@pytest.mark.parametrize("codec", sorted(set(CODEC_NAMES) - FEEDBACK))
@pytest.mark.parametrize("lines", [0, 10**5], ids=["lines unknown", "links paced"])
@pytest.mark.parametrize("case", ["alone", "two", "helper", "partial"])
def test_mean_of_a_round_is_kept_whatever_its_plan(codec: str, lines: int, case: str) -> None:
    """Plans of a slow fleet cut smaller chunks than the manifest, and each has a scale of its own."""
    numel, most = 30_000, 16_384
    peers = peer_ids(1 if case == "alone" else 2)
    members = [Member(peer, 8, 1.0) for peer in peers]
    if case == "helper":
        members[0] = Member(peers[0], 0, 0.0, receives=False)
    numbers = AveragingNumbers(codec=codec, chunk_numel=most, weight_share=1.0)
    request = PlanRequest(round=bytes(32), epoch=3, lineage=bytes(32), numel=numel, numbers=numbers)
    known = KnownLines({peer: Rates(lines, lines) for peer in peers}, {}) if lines else UNKNOWN
    plan = publish(request, members, peers, known=known)
    assert (plan.chunk_numel < most) == bool(lines)
    if case == "partial":
        plan = msgspec.structs.replace(plan, portions=(64, 64))  # most chunks are of one member, or of none
    used = codec_of(codec, (numel,))
    given = [uneven(numel, seed) for seed in range(len(peers))]
    means = [np.full(numel, np.nan, dtype=np.float32) for _ in peers]
    machines = {
        peer: Butterfly(
            peer, plan, RoundInput(own if row.samples else None, out if row.receives else None, used), trace=Trace()
        )
        for peer, row, own, out in zip(peers, members, given, means, strict=True)
    }
    pump = Pump(machines, Random(1))
    for peer, machine in machines.items():
        pump.say(peer, machine.start(pump.now))
    pump.run()
    assert all(isinstance(events[-1], RoundFinished) for events in pump.events.values())
    kept, again = MeanForm(used, chunk_numel=most, numel=numel), np.empty(numel, dtype=np.float32)
    data = b"".join(kept.pieces(means[-1]))
    assert len(data) <= kept.bytes_max
    kept.read(io.BytesIO(data).read, again)
    assert again.tobytes() == means[-1].tobytes()


@pytest.mark.parametrize("size", [0, 1, CHUNK - 1, 2 * CHUNK, 2**32 - 1])
def test_chunks_that_no_plan_has_are_refused(size: int) -> None:
    data = size.to_bytes(4, "little") + b"".join(form("raw").pieces(sent("raw")))[4:]
    with pytest.raises(RemoteProblem, match="no plan"):
        form("raw").read(io.BytesIO(data).read, np.empty(NUMEL, dtype=np.float32))


@pytest.mark.parametrize("codec", ["raw", "u8", "topk"])
@pytest.mark.parametrize("change", ["cut", "cut in a length", "more", "long chunk", "other model", "empty"])
def test_damaged_file_is_refused(codec: str, change: str) -> None:
    data, numel = b"".join(form(codec).pieces(sent(codec))), NUMEL
    match change:
        case "cut":
            data = data[:-1]
        case "cut in a length":
            data = data[:2]
        case "more":
            data += b"\0"
        case "long chunk":
            data = data[:4] + b"\xff\xff\xff\x7f" + data[8:]
        case "other model":
            numel = NUMEL + CHUNK
        case "empty":
            data = b""
    with pytest.raises(RemoteProblem):
        form(codec, numel).read(io.BytesIO(data).read, np.empty(numel, dtype=np.float32))
