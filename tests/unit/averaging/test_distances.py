"""Who looks after a collaboration sees whose parts lie far from the others', by what a reducer measures itself."""

import msgspec
import numpy as np
import pytest

from core.averaging.aggregators import AGGREGATORS
from core.averaging.butterfly import Butterfly, RoundInput
from core.averaging.distances import (
    LOOKED_OF,
    PEERS_MAX,
    RATIO_MAX,
    ROUNDS_MAX,
    DistanceBook,
    PartsSeen,
    apart,
)
from core.base.ids import PeerId
from core.base.machine import Trace
from core.codecs.registry import CODECS
from tests.unit.averaging.pump import Round, make_plan

CHUNK = 256
MEMBERS = 5
LIAR = 1


def round_with(times: float, *, shared: float = 1.0, members: int = MEMBERS) -> Round:
    """A round of parts with something in common, in which one member's are so many times what it computed."""
    round_ = Round(make_plan([10] * members, CHUNK * LOOKED_OF * members, chunk_numel=CHUNK))
    round_.vectors.flags.writeable = True
    common = np.random.default_rng(9).standard_normal(round_.plan.numel)
    round_.vectors += (shared * common).astype(np.float32)
    with np.errstate(over="ignore"):
        round_.vectors[LIAR] *= np.float32(times)
    return round_.run()


def seen_by(round_: Round, reducer: int) -> dict[int, PartsSeen]:
    rows = round_.books[reducer].rows
    return {place: rows[peer] for place, peer in enumerate(round_.plan.peers) if peer in rows}


def test_reducers_see_who_gives_the_opposite_of_all() -> None:
    round_ = round_with(-3.0)
    for reducer in range(MEMBERS):
        seen = seen_by(round_, reducer)
        assert seen.keys() == set(range(MEMBERS))
        assert all(one.looks == 1 and one.rounds == 1 for one in seen.values())
        assert seen[LIAR].ratios == pytest.approx(3.0, rel=0.2)
        assert seen[LIAR].cosines < -0.4
        for place in seen.keys() - {LIAR}:
            assert seen[place].ratios == pytest.approx(1.0, rel=0.2)
            assert seen[place].cosines > 0.1


def test_distances_equal_their_definitions() -> None:
    numpy_random = np.random.default_rng(3)
    rows = numpy_random.standard_normal((4, 64)).astype(np.float32) * np.array([[1], [2], [5], [0.5]], np.float32)
    weights = [(0, 0.1), (1, 0.2), (2, 0.3), (3, 0.4)]
    mean = rows.mean(axis=0)
    found = apart(lambda member: rows[member].copy(), weights, mean)
    for member, _ in weights:
        others = [(rows[one].astype(float), weight) for one, weight in weights if one != member]
        middle = sorted(np.linalg.norm(row) for row, _ in others)[1]
        direction = sum(weight * row / np.linalg.norm(row) for row, weight in others)
        own = rows[member].astype(float)
        cosine = own @ direction / np.linalg.norm(own) / np.linalg.norm(direction)
        assert found[member].ratio == pytest.approx(np.linalg.norm(own) / middle, rel=1e-4)
        assert found[member].cosine == pytest.approx(cosine, abs=1e-4)
        assert found[member].away == pytest.approx(np.linalg.norm(own - mean), rel=1e-4)


def test_wild_part_does_not_make_honest_ones_look_wild() -> None:
    honest = seen_by(round_with(1.0), 0)
    beside = seen_by(round_with(1e6), 0)
    assert beside[LIAR].ratios == RATIO_MAX
    assert beside[LIAR].clipped == 1
    for place in honest.keys() - {LIAR}:
        assert beside[place].cosines == pytest.approx(honest[place].cosines, abs=1e-3)
        assert beside[place].ratios == pytest.approx(honest[place].ratios, rel=0.2)
        assert beside[place].clipped == 0


@pytest.mark.parametrize("bad", [np.inf, np.nan, 1e38])
def test_unusable_parts_are_counted_as_dropped(bad: float) -> None:
    seen = seen_by(round_with(bad), 0)
    assert (seen[LIAR].looks, seen[LIAR].rounds, seen[LIAR].dropped) == (0, 1, LOOKED_OF)
    assert all(one.dropped == 0 and one.looks == 1 for place, one in seen.items() if place != LIAR)


def test_clipping_reducer_tells_whose_parts_are_beyond_its_radius() -> None:
    plan = make_plan([10] * MEMBERS, CHUNK * MEMBERS, chunk_numel=CHUNK)
    round_ = Round(plan)
    round_.vectors.flags.writeable = True
    round_.vectors[LIAR] *= np.float32(4)
    for place, peer in enumerate(plan.peers):
        work = RoundInput(
            round_.vectors[place],
            round_.results[place],
            CODECS["raw"],
            aggregator=AGGREGATORS["centered_clip"](clip=2.0),
            distances=round_.books[place],
        )
        round_.pump.machines[peer] = round_.machines[peer] = Butterfly(peer, plan, work, trace=Trace())
    round_.run()
    clipped = {place: one.clipped for place, one in seen_by(round_, 0).items()}
    assert clipped == {place: int(place == LIAR) for place in range(MEMBERS)}


def test_two_members_are_compared_with_each_other() -> None:
    seen = seen_by(round_with(4.0, members=2), 0)
    assert seen[LIAR].ratios == pytest.approx(1 / seen[0].ratios, rel=1e-3)
    assert seen[LIAR].ratios > 3


def test_book_forgets_those_seen_longest_ago() -> None:
    book = DistanceBook(b"secret")
    for number in range(PEERS_MAX + 5):
        book.note(PeerId(number.to_bytes(32, "big")), b"1", PartsSeen(looks=1))
        book.note(PeerId(bytes(32)), b"1", PartsSeen(looks=1))
    assert len(book.rows) == PEERS_MAX
    assert PeerId(bytes(32)) in book.rows
    again = DistanceBook(b"secret")
    again.restore(msgspec.json.decode(msgspec.json.encode({"a": PartsSeen(rounds=3)}), type=dict[str, PartsSeen]))
    assert again.rows["a"].rounds == 3


def test_old_rounds_fade() -> None:
    book, peer = DistanceBook(b"secret"), PeerId(bytes(32))
    for number in range(3 * ROUNDS_MAX):
        cosine = 1.0 if number < 2 * ROUNDS_MAX else -1.0
        book.note(peer, str(number).encode(), PartsSeen(looks=1, cosines=cosine))
    row = book.rows[peer]
    assert row.rounds < ROUNDS_MAX
    assert row.cosines / row.looks < -0.3, "what it gives now outweighs what it gave long ago"


def test_looked_chunks_cannot_be_guessed_from_a_round() -> None:
    book, other = DistanceBook(b"secret"), DistanceBook(b"another")
    rounds = [bytes([number]) * 16 for number in range(32)]
    drawn = [book.looked(one, 0, 64) for one in rounds]
    assert {len(chunks) for chunks in drawn} == {64 // LOOKED_OF}
    assert len({chunks.start for chunks in drawn}) > 8
    assert drawn != [other.looked(one, 0, 64) for one in rounds]
    assert (len(book.looked(rounds[0], 0, 3)), len(book.looked(rounds[0], 0, 0))) == (1, 0)
