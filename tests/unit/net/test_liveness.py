from core.base.wire import FRAGMENT_BYTES_MAX
from core.net.links.liveness import FRAGMENT_BYTES_MIN, FRAGMENT_S, HEARTBEAT_S, SILENCE_S, DrainRate, Liveness


def send_over(rate_bytes_per_s: float, *, fragments: int = 400) -> DrainRate:
    drain, now = DrainRate(), 100.0
    drain.begin(now)
    for _ in range(fragments):
        count = drain.fragment_bytes
        drain.wrote(count)
        drain.hindered()
        now += count / rate_bytes_per_s
        drain.resumed(now)
    return drain


def test_fragments_leave_in_about_five_milliseconds():
    for rate in (2e6, 1e7, 2.5e7):
        assert 0.8 <= send_over(rate).fragment_bytes / (rate * FRAGMENT_S) <= 1.2


def test_fragments_stay_within_their_limits():
    assert send_over(1e4).fragment_bytes == FRAGMENT_BYTES_MIN
    assert send_over(1e9, fragments=4000).fragment_bytes == FRAGMENT_BYTES_MAX


def test_a_link_that_never_hinders_gets_large_fragments():
    drain = DrainRate()
    drain.begin(0.0)
    for _ in range(60):
        drain.wrote(drain.fragment_bytes)
    assert drain.fragment_bytes == FRAGMENT_BYTES_MAX


def test_a_link_that_became_slow_gets_small_fragments_again():
    drain = send_over(1e9)
    now = 1000.0
    drain.begin(now)
    for _ in range(12):
        drain.wrote(drain.fragment_bytes)
        drain.hindered()
        now += drain.fragment_bytes / 1e5
        drain.resumed(now)
    assert drain.fragment_bytes <= 2 * FRAGMENT_BYTES_MIN


def test_a_quiet_link_beats_and_a_silent_one_is_dead():
    liveness = Liveness(0.0)
    assert liveness.verdict(HEARTBEAT_S - 1) == "fine"
    assert liveness.verdict(HEARTBEAT_S) == "beat"
    liveness.sent_at = HEARTBEAT_S
    assert liveness.verdict(HEARTBEAT_S + 1) == "fine"
    assert liveness.verdict(SILENCE_S + 0.1) == "dead"
    liveness.heard_at = SILENCE_S
    assert liveness.verdict(SILENCE_S + 0.1) != "dead"
