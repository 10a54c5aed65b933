"""When silence means that a relay has failed."""

import pytest

from core.nat.circuit_endpoint import (
    HEARTBEAT_S,
    RTT_SURE_S,
    RTT_UNKNOWN_MAX_S,
    RTT_UNKNOWN_S,
    SILENT_S,
    CircuitLiveness,
)

PROMISED_S = 2.0
LEG_RTT_S = 0.150
CALL_ROUND_TRIPS = 2.5


def test_the_timers_keep_the_promise() -> None:
    """Detection, a call to the next relay, the agreement with the other end, and the first byte's way."""
    last_word_s, through_s = LEG_RTT_S / 2, 2 * LEG_RTT_S
    total_s = last_word_s + SILENT_S + CALL_ROUND_TRIPS * LEG_RTT_S + 1.5 * through_s
    assert total_s == pytest.approx(1.7)
    assert total_s + (RTT_UNKNOWN_S - RTT_SURE_S) < PROMISED_S - 0.09, "not measured yet"
    assert SILENT_S - HEARTBEAT_S >= 0.5, "what a beat may be late"
    assert SILENT_S - RTT_SURE_S >= 0.5, "what a first answer may be late"


def test_nothing_under_way_is_no_silence() -> None:
    pulse = CircuitLiveness(0.0)
    assert pulse.silent_at(under_way=False) is None
    assert pulse.silent_at(under_way=True) == SILENT_S
    pulse.awaits = True
    assert pulse.silent_at(under_way=False) == SILENT_S


def test_each_word_counts() -> None:
    pulse = CircuitLiveness(0.0)
    pulse.asked(1.0, least_s=0.1)
    assert (pulse.peer_unaware, pulse.silent_at(under_way=True)) == (True, 1.0 + SILENT_S)
    pulse.heard(1.5)
    assert (pulse.peer_unaware, pulse.silent_at(under_way=True)) == (False, 1.5 + SILENT_S)


def test_a_long_way_has_more_time_for_its_first_answer() -> None:
    pulse = CircuitLiveness(0.0)
    pulse.asked(0.0, least_s=1.3)
    assert pulse.silent_at(under_way=True) == pytest.approx(1.0 + SILENT_S)


def test_unmeasured_relay_gets_more_time_up_to_a_limit() -> None:
    pulse, patience = CircuitLiveness(0.0), []
    for _ in range(6):
        pulse.asked(0.0, least_s=None)
        patience.append(pulse.silent_at(under_way=True))
        pulse.left(least_s=None)
    assert patience == sorted(patience)
    assert patience[0] == pytest.approx(SILENT_S + RTT_UNKNOWN_S - RTT_SURE_S)
    assert patience[-1] == pytest.approx(SILENT_S + RTT_UNKNOWN_MAX_S - RTT_SURE_S)
    pulse.left(least_s=0.1)
    pulse.asked(0.0, least_s=0.1)
    assert pulse.silent_at(under_way=True) == SILENT_S
