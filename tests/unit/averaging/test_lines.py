"""Lines: estimated, told and doubted."""

import contextlib
import statistics
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.averaging.bandwidth.book import LineBook
from core.averaging.bandwidth.estimate import GROWTH, LACKING, LOST, MORE, PROBE, PROBE_ROUNDS, Estimate
from core.averaging.bandwidth.known import ALIKE, Witnessed, alike, believed, slow_pairs
from core.averaging.bandwidth.proven import TRUST, Proven
from core.averaging.bandwidth.records import (
    HELD_MAX,
    RATE_LEAST,
    SEEN_MAX,
    LineFacts,
    decode_facts,
    encode_facts,
    facts_of,
    from_level,
    to_level,
)
from core.averaging.plan import Rates
from core.base.ids import PeerId, hashed_key
from core.base.meter import TRIPS_KEPT, Glance
from core.base.problems import WireProblem
from core.dht.messages import VALUE_BYTES_MAX

MEGA = 1e6


def peer(number: int) -> PeerId:
    return PeerId(hashed_key(b"line", number.to_bytes(4, "big")))


# --- the estimate ---


def live_with(estimate: Estimate, true: float, *, rounds: int, sees_limit: bool) -> list[float]:
    """Rounds in which the plan asks for all that is offered, and nothing but this line can be late."""
    offers = []
    for number in range(rounds):
        asked = estimate.offer
        moved = min(asked or true / 3, true)
        probes = (number + 1) % PROBE_ROUNDS == 0
        estimate.learn(moved, pressed=sees_limit and asked > true / LACKING, asked=asked, probes=probes)
        offers.append(estimate.offer)
    return offers


@pytest.mark.parametrize("sees_limit", [True, False])
@pytest.mark.parametrize("true", [3e4, 1e6, 7e7])
def test_estimate_exceeds_its_line_only_in_probing_rounds(true: float, *, sees_limit: bool) -> None:
    offers = live_with(Estimate(), true, rounds=40, sees_limit=sees_limit)
    assert max(offers) <= GROWTH * true
    for number, offer in enumerate(offers[8:], 8):
        probes = (number + 1) % PROBE_ROUNDS == 0
        assert offer == pytest.approx(true * (PROBE if probes else 1.0), rel=0.01)


def test_an_estimate_comes_down_at_once_and_up_again() -> None:
    estimate = Estimate()
    live_with(estimate, 8 * MEGA, rounds=10, sees_limit=True)
    live_with(estimate, 2 * MEGA, rounds=1, sees_limit=True)
    assert estimate.offer == pytest.approx(2 * MEGA, rel=0.01)
    offers = live_with(estimate, 8 * MEGA, rounds=2 * PROBE_ROUNDS, sees_limit=False)
    assert max(offers) <= GROWTH * 8 * MEGA
    assert offers[-1] == pytest.approx(8 * MEGA, rel=PROBE - 1)


def test_without_a_test_the_estimate_stays() -> None:
    estimate = Estimate()
    estimate.learn(4 * MEGA, pressed=True)
    for _ in range(100):
        estimate.learn(MEGA, asked=MEGA)
    assert estimate.offer == 4 * MEGA


def test_line_stays_limited_when_a_probing_round_brings_no_more() -> None:
    estimate = Estimate()
    estimate.learn(4 * MEGA, pressed=True, probes=True)
    assert estimate.offer == PROBE * 4 * MEGA
    estimate.learn(4 * MEGA, asked=PROBE * 4 * MEGA, probes=True)
    assert estimate.offer == PROBE * 4 * MEGA, "less came than was asked for, which in such a round is no wonder"
    estimate.learn(1.01 * MORE * 4 * MEGA, asked=PROBE * 4 * MEGA)
    assert estimate.offer == GROWTH * estimate.level, "it has more to give"


# --- facts ---


@given(st.floats(min_value=RATE_LEAST, max_value=2.5e9))
def test_a_rate_survives_as_one_byte(rate: float) -> None:
    assert from_level(to_level(rate)) == pytest.approx(rate, rel=0.034)


def test_round_trips_to_the_last_peers_are_kept() -> None:
    book = LineBook(peer(0))
    for number in range(1, TRIPS_KEPT + 20):
        flow = Glance(number, peer(number), 0, 0, waiting=False, trip_s=number / 1000)
        book.own.meter.look(50.0 + number, [flow])
    assert len(book.own.meter.trips) == TRIPS_KEPT
    assert book.own.trip_s == pytest.approx((20 + TRIPS_KEPT + 19) / 2 / 1000)


def test_levels_at_their_ends() -> None:
    assert to_level(0.0) == to_level(float("nan")) == to_level(RATE_LEAST / 2) == 0
    assert to_level(float("inf")) == to_level(1e18) == 255
    assert from_level(0) == 0.0


def test_the_largest_record_fits_and_survives() -> None:
    seen = {peer(i): (1e9 * (i + 1), 3e5) for i in range(2 * SEEN_MAX)}
    slow = [(peer(i), 1e5 * (1 + i)) for i in range(40)]
    facts = facts_of(Rates((1 << 50) - 1, (1 << 50) - 1), Rates((1 << 50) - 1, (1 << 50) - 1), seen, slow)
    data = encode_facts(facts)
    assert len(data) <= VALUE_BYTES_MAX
    assert decode_facts(data) == facts
    assert len(facts.seen) == SEEN_MAX
    assert [held.peer for held in facts.held] == [peer(i)[:4] for i in range(HELD_MAX)], "the slowest first"


def test_half_a_peer_is_no_facts() -> None:
    with pytest.raises(WireProblem):
        decode_facts(encode_facts(LineFacts(Rates(), packed_seen=b"12345")))
    with pytest.raises(WireProblem):
        decode_facts(encode_facts(LineFacts(Rates(), packed_held=b"123456")))


@given(st.binary(max_size=200))
def test_garbage_is_no_facts(data: bytes) -> None:
    with contextlib.suppress(WireProblem):
        assert isinstance(decode_facts(data), LineFacts)


# --- doubt ---


def rates(*all_of_them: Witnessed) -> tuple[int, ...]:
    return tuple(believed(all_of_them))


def test_a_word_counts_up_to_twice_what_was_seen() -> None:
    seen = Witnessed(claim=5 * MEGA, proven=Proven(best=4 * MEGA))
    assert rates(seen, Witnessed(claim=1e11, proven=Proven(best=3 * MEGA))) == (5 * MEGA, TRUST * 3 * MEGA)
    assert rates(seen, Witnessed(claim=1e11, proven=Proven(best=3 * MEGA, doubts=1, last_doubts=1))) == (
        5 * MEGA,
        3 * MEGA,
    )
    assert rates(seen, Witnessed(claim=1e11)) == (5 * MEGA, 4 * MEGA), "a stranger is no better than the best"
    nobody_seen = [Witnessed(claim=claim) for claim in (1e11, 3e6, 2e6, 1e6)]
    assert rates(*nobody_seen) == (2e6, 2e6, 2e6, 1e6), "where nothing is seen, up to the lower middle of all words"
    assert rates(Witnessed(claim=1e11), Witnessed()) == (0, 0), "one alone says nothing"


def test_too_modest_a_word_does_not_count_either() -> None:
    assert rates(Witnessed(claim=10, proven=Proven(best=4 * MEGA, floor=3 * MEGA))) == (3 * MEGA,)
    assert rates(Witnessed(claim=0, proven=Proven(best=4 * MEGA, floor=MEGA))) == (4 * MEGA,)


@given(
    st.lists(st.floats(min_value=1e3, max_value=1e9), min_size=2, max_size=12),
    st.floats(min_value=0, max_value=1e12),
)
def test_no_single_witness_talks_a_line_up_or_down(honest: list[float], lie: float) -> None:
    """With one liar among the witnesses the line lies between the honest ones' least and greatest word."""
    claim = 1e13
    [with_lie] = rates(Witnessed(claim=claim, told=[*honest, lie]))
    assert TRUST * min(honest) * 0.999 - 1 <= with_lie <= TRUST * max(honest) * 1.001
    [own] = rates(Witnessed(claim=claim, proven=Proven(best=5 * MEGA), told=[lie]))
    assert own == TRUST * 5 * MEGA, "one alone counts for nothing"


def test_pairs_are_slow_where_both_say_so() -> None:
    a, b, c = peer(1), peer(2), peer(3)
    lines = {p: Rates(int(8 * MEGA), int(8 * MEGA)) for p in (a, b, c)}
    slow = {a: told_slow({b: MEGA}), b: told_slow({a: 0.5 * MEGA})}
    found = {(a, b): pytest.approx(MEGA, rel=0.04), (b, a): pytest.approx(0.5 * MEGA, rel=0.04)}
    assert slow_pairs(slow, lines) == found
    assert slow_pairs({a: slow[a]}, lines) == {}, "one alone may lie"
    fair = {a: told_slow({b: 4 * MEGA}), b: told_slow({a: 4 * MEGA})}
    assert slow_pairs(fair, lines) == {}, "each has its part of the other's line"
    stranger = peer(9)
    absent = {a: told_slow({b: MEGA, stranger: 1.0}), stranger: told_slow({a: 1.0})}
    assert slow_pairs({**slow, **absent}, lines) == found


def told_slow(held: dict[PeerId, float]) -> LineFacts:
    """The record of a peer whose bytes had to wait for these."""
    return facts_of(Rates(), Rates(), {}, held.items())


# --- limits ---


def test_line_asked_for_more_than_it_carries_shows_its_limit() -> None:
    """A fleet whose other lines are the slow ones asks this one for little of what it offers."""
    estimate = Estimate()
    estimate.learn(MEGA)
    assert estimate.offer == GROWTH * MEGA
    estimate.learn(MEGA, asked=1.2 * MEGA)
    assert estimate.offer == MEGA


def test_a_limit_measured_twice_is_the_middle_of_both() -> None:
    estimate = Estimate()
    estimate.learn(4 * MEGA, pressed=True)
    estimate.learn(5 * MEGA, pressed=True)
    assert estimate.offer == 4.5 * MEGA
    estimate.learn(MEGA, pressed=True)
    assert estimate.offer == MEGA, "that is another line"


def test_a_limit_measured_often_is_known_better_than_once() -> None:
    """Measured with an error of a tenth; in the long run each measurement counts half as much as the next one."""
    random = Random(7)
    errors = []
    for _ in range(200):
        estimate = Estimate()
        for _ in range(12):
            estimate.learn(random.gauss(MEGA, MEGA / 10), pressed=True)
        errors.append(estimate.level / MEGA - 1)
    assert statistics.pstdev(errors) < 0.07
    assert abs(statistics.fmean(errors)) < 0.01


def test_limits_that_may_be_equal_are_treated_as_equal() -> None:
    assert alike([36, 40, 44, 20, 0], [True] * 5) == [36, 42, 42, 20, 0]
    assert alike([36, 40, 42, 88], [True, True, False, False]) == [38, 38, 42, 88], "others may carry more"
    assert alike([10, 11, 12, 13, 14], [True] * 5) == [10, 10, 13, 13, 13], "no chain of small steps"
    random = Random(3)
    rates = [random.randint(1, 10**6) for _ in range(60)]
    found = alike(rates, [True] * 60)
    assert all(rate / ALIKE <= one <= rate * ALIKE for rate, one in zip(rates, found, strict=True))
    assert sorted(found) == [one for _, one in sorted(zip(rates, found, strict=True))], "no line overtakes another"


def proven(*, line: float, carried: float, times: int = 1) -> Proven:
    found = Proven(best=carried)
    for _ in range(times):
        found.learn(carried, usual=1.0, line=line, asked=line, late=True, trusted=True)
    return found


def test_one_late_round_is_chance_and_two_are_not() -> None:
    assert proven(line=1.4 * MEGA, carried=MEGA).trust == TRUST
    assert proven(line=1.4 * MEGA, carried=MEGA, times=2).trust == 1.0
    assert proven(line=1.9 * MEGA, carried=MEGA).trust == 1.0, "so far from its word no chance takes a line"
    found = proven(line=1.4 * MEGA, carried=MEGA)
    found.learn(MEGA, usual=1.0, line=1.4 * MEGA, asked=1.4 * MEGA, late=False, trusted=False)
    found.learn(MEGA, usual=1.0, line=1.4 * MEGA, asked=1.4 * MEGA, late=True, trusted=True)
    assert found.trust == TRUST, "a round in time lies between"


def test_probing_rounds_restore_what_a_failed_one_took() -> None:
    """By others' fault, say."""
    estimate = Estimate()
    estimate.learn(8 * MEGA)
    before = estimate.offer
    estimate.failed(MEGA / 10)
    assert estimate.offer == pytest.approx(before * LOST)
    live_with(estimate, before, rounds=PROBE_ROUNDS + 2, sees_limit=True)
    assert estimate.offer >= before
    estimate.failed(MEGA / 10)
    estimate.failed(MEGA / 10)
    assert estimate.offer == MEGA / 10, "two in a row"


def test_failed_round_leaves_the_rate_it_has_shown() -> None:
    estimate = Estimate()
    estimate.learn(8 * MEGA, pressed=True)
    estimate.failed(5 * MEGA)
    assert estimate.offer == 5 * MEGA
    estimate.learn(6 * MEGA)
    assert estimate.offer >= 6 * MEGA, "what it shows, it is offered for"


@pytest.mark.parametrize("true", [0.8 * MEGA, 4.1 * MEGA])
def test_line_that_got_slower_makes_two_rounds_fail_at_most(true: float) -> None:
    """Where every round fails that asks it for more than a probing round does."""
    estimate = Estimate()
    estimate.learn(8 * MEGA, pressed=True)
    failed = 0
    for number in range(200):
        asked = estimate.offer
        if asked > PROBE * true:
            estimate.failed(true)
            failed += 1
        else:
            estimate.learn(min(asked, true), asked=asked, probes=(number + 1) % PROBE_ROUNDS == 0)
    assert failed <= 2
