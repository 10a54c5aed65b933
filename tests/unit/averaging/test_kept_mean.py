"""A round's mean in a file: the bits that all members have, and nothing else."""

import io

import numpy as np
import pytest

from core.averaging.codecs.registry import CODEC_NAMES, codec_of
from core.averaging.kept_mean import MeanForm
from core.base.problems import RemoteProblem

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
    expected = b"".join(len(part).to_bytes(4, "little") + part for part in parts)
    assert b"".join(form("raw").pieces(mean)) == expected


def test_mean_that_no_round_has_made_is_not_kept() -> None:
    with pytest.raises(ValueError, match="changes"):
        list(form("u8").pieces(np.random.default_rng(1).standard_normal(NUMEL).astype(np.float32)))


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
            data = b"\xff\xff\xff\x7f" + data[4:]
        case "other model":
            numel = NUMEL + CHUNK
        case "empty":
            data = b""
    with pytest.raises(RemoteProblem):
        form(codec, numel).read(io.BytesIO(data).read, np.empty(numel, dtype=np.float32))
