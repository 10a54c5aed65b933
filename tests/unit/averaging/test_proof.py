"""A mean that is not that of its parts is not committed, and whose word is false pays for it."""

from typing import Any

import msgspec
import numpy as np
import pytest

from core.averaging.messages import Part
from core.averaging.penalties import Kind
from core.base.machine import Received
from tests.unit.averaging.clipped import CHUNK, LIAR, LIES, Lying, clipped_round, honest_ends, others, true_means
from tests.unit.averaging.liars import corrupt


@pytest.mark.parametrize("members", [2, 3, 4, 8, 16])
@pytest.mark.parametrize("codec", ["raw", "fp16", "bf16", "u8", "b8"])
def test_honest_members_prove_their_means(members: int, codec: str) -> None:
    round_ = clipped_round(members, codec=codec)
    round_.run()
    for end in honest_ends(round_, frozenset()):
        assert not any(end.outcome.versions)
        assert not end.outcome.seen.get(Kind.DOUBTED)
    assert not any(trace["averaging.not_proven"] or trace["averaging.drop.radius"] for trace in round_.traces)


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("members", [3, 4, 8])
@pytest.mark.parametrize("codec", ["raw", "fp16"])
@pytest.mark.parametrize("liar", [0, 1])
def test_a_false_mean_is_made_anew(members: int, lie: str, codec: str, liar: int) -> None:
    round_ = clipped_round(members, codec=codec, aggregators={liar: Lying(LIES[lie])})
    round_.run()
    exact = true_means(round_)
    for place, end in zip(others(round_, liar), honest_ends(round_, frozenset({liar})), strict=True):
        assert end.outcome.versions[liar]
        assert len(end.outcome.contributors) == members
        np.testing.assert_allclose(round_.results[place], exact, rtol=0, atol=0.05)


def test_without_the_proof_everybody_takes_a_turned_mean() -> None:
    round_ = clipped_round(4, aggregators={LIAR: Lying(LIES["turned"])}, signed=False)
    round_.run()
    share = slice(round_.plan.span(round_.plan.first_chunk(LIAR)).start, None)
    assert honest_ends(round_, frozenset({LIAR}))
    exact = true_means(round_)[share][:CHUNK]
    assert float(round_.results[0][share][:CHUNK] @ exact) < 0


def nothing_readable(event: Received[Any]) -> Received[Any]:
    """What a reducer hears that leaves everybody's part out."""
    word = event.message
    if not isinstance(word, Part) or not word.payload.nbytes:
        return event
    payload = memoryview(np.full(word.payload.nbytes // 4, np.nan, dtype="<f4").tobytes())
    return Received(event.sender, msgspec.structs.replace(word, payload=payload))


@pytest.mark.parametrize("members", [3, 4, 8])
@pytest.mark.parametrize("liar", [0, 1])
def test_a_share_that_leaves_the_others_out_is_made_anew(members: int, liar: int) -> None:
    round_ = clipped_round(members)
    corrupt(round_, liar, hears=nothing_readable)
    round_.run()
    exact = true_means(round_)
    for place, end in zip(others(round_, liar), honest_ends(round_, frozenset({liar})), strict=True):
        assert end.outcome.versions[liar]
        np.testing.assert_allclose(round_.results[place], exact, rtol=0, atol=0.05)


@pytest.mark.parametrize(
    ("chunks", "liars"), [((0, 12, 0, 0), {1}), ((0, 18, 0, 0, 0, 0), {1}), ((0, 6, 6, 6, 0, 0), {1, 3})]
)
def test_few_that_reduce_do_not_leave_most_out(chunks: tuple[int, ...], liars: set[int]) -> None:
    """One of any number that alone could be reached directly had the mean be its own part, and it was committed."""
    members = len(chunks)
    round_ = clipped_round(members, chunks=chunks)
    for liar in liars:
        corrupt(round_, liar, hears=nothing_readable)
    round_.run()
    exact = true_means(round_)
    for end in honest_ends(round_, frozenset(liars)):
        assert all(end.outcome.versions[liar] for liar in liars)
    honest = [place for place in range(members) if place not in liars]
    np.testing.assert_allclose(round_.results[honest[0]], exact, rtol=0, atol=0.05)


def test_without_the_proof_a_share_is_the_reducers_own() -> None:
    round_ = clipped_round(4, signed=False)
    corrupt(round_, LIAR, hears=nothing_readable)
    round_.run()
    own = round_.plan.span(round_.plan.first_chunk(LIAR))
    assert honest_ends(round_, frozenset({LIAR}))
    np.testing.assert_array_equal(round_.results[0][own], round_.vectors[LIAR][own])


@pytest.mark.parametrize("members", [3, 4, 8])
@pytest.mark.parametrize("chunk", [0, 2])
def test_no_chunk_of_a_share_is_the_reducers_own(members: int, chunk: int) -> None:
    round_ = clipped_round(members, chunks=8)

    def only_one(event: Received[Any]) -> Received[Any]:
        word = event.message
        return nothing_readable(event) if isinstance(word, Part) and word.chunk == chunk else event

    corrupt(round_, LIAR, hears=only_one)
    round_.run()
    for end in honest_ends(round_, frozenset({LIAR})):
        assert end.outcome.versions[LIAR]
