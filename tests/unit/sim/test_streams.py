import pytest

from tests.sim.world.links import LinkSettings
from tests.sim.world.node import End
from tests.sim.world.world import START
from tests.unit.sim.toys import QUIET, Listener, Load, Word, listeners, peer, say

SLOW = LinkSettings(
    loss=0.0, duplicate=0.0, jitter_s=0.0, uplink_bytes_per_s=(100_000, 100_000), downlink_bytes_per_s=(50_000, 50_000)
)


def test_words_arrive_in_order_and_whole_whatever_is_lost() -> None:
    world, (_, there) = listeners(2, links=LinkSettings(loss=0.3, jitter_s=0.1))
    for number in range(300):
        say(world, 0, 1, Word(number))
        world.run(0.01)
    world.run(30)
    assert there.words == list(range(300))


def test_opening_takes_two_round_trips_for_one_stream() -> None:
    world, (here, there) = listeners(2)
    one_way_s = world.links.distance_s(world.links.place(peer(0)), world.links.place(peer(1)))
    say(world, 0, 1, Word(1))
    world.run(3)
    assert there.times == [pytest.approx(START + 5 * one_way_s)]
    began = world.now
    say(world, 1, 0, Word(2))
    world.run(3)
    assert here.times == [pytest.approx(began + one_way_s)]


def test_simultaneous_calls_end_with_one_stream_without_loss() -> None:
    world, (here, there) = listeners(2)
    for number in range(5):
        say(world, 0, 1, Word(number))
        say(world, 1, 0, Word(10 + number))
    world.run(5)
    assert there.words == [0, 1, 2, 3, 4]
    assert here.words == [10, 11, 12, 13, 14]
    assert world.nodes[peer(0)].streams[peer(1)] is world.nodes[peer(1)].streams[peer(0)]


def test_bulk_occupies_both_lines_and_control_does_not_wait() -> None:
    world, (_, there) = listeners(2, links=SLOW)
    say(world, 0, 1, Word(0))
    world.run(3)
    for number in range(3):
        say(world, 0, 1, Load(number, memoryview(bytes(100_000))))
    say(world, 0, 1, Word(99))
    began = world.now
    world.run(30)
    assert there.words == [0, 99, 0, 1, 2]
    at = dict(zip(there.words[1:], (time - began for time in there.times[1:]), strict=True))
    assert at[99] < 0.3
    assert 3.0 < at[0] < 3.4  # one second up, two seconds down
    assert 7.0 < at[2] < 7.5  # the downlink is the narrow one


def test_two_senders_share_a_downlink() -> None:
    world, (there, _, _) = listeners(3, links=SLOW)
    for sender in (1, 2):
        say(world, sender, 0, Load(sender, memoryview(bytes(100_000))))
    world.run(30)
    assert 4.9 < there.times[-1] - START < 6.5


@pytest.mark.parametrize("how", [End.LEAVE, End.CRASH])
def test_an_open_stream_breaks_soon_when_the_other_process_ends(how: End) -> None:
    world, (_, there) = listeners(2)
    say(world, 0, 1, Word(1))
    world.run(3)
    world.stop(peer(0), how)
    world.run(1)
    assert there.lost == ["ended"]


def test_a_power_cut_is_noticed_when_the_heartbeats_stay_away() -> None:
    world, (_, there) = listeners(2)
    say(world, 0, 1, Word(1))
    world.run(3)
    world.stop(peer(0), End.POWER_CUT)
    world.run(14)
    say(world, 1, 0, Word(2))
    assert not there.lost
    world.run(5)
    assert there.lost == ["silent"]


def test_a_crash_loses_what_has_not_left() -> None:
    world, (_, there) = listeners(2, links=SLOW)
    say(world, 0, 1, Word(0))
    world.run(3)
    say(world, 0, 1, Load(1, memoryview(bytes(200_000))))
    world.run(1)
    world.stop(peer(0), End.CRASH)
    world.run(20)
    assert there.words == [0]
    assert there.lost == ["ended"]


@pytest.mark.parametrize(
    ("how", "reason", "seconds"), [(End.CRASH, "refused", 1.0), (End.POWER_CUT, "no answer", 11.0)]
)
def test_call_to_a_gone_peer_fails(how: End, reason: str, seconds: float) -> None:
    world, (_, there) = listeners(2)
    world.stop(peer(0), how)
    say(world, 1, 0, Word(1))
    say(world, 1, 0, Word(2))
    world.run(seconds)
    assert there.lost == [reason]


def test_calls_back_off_after_failures_but_incoming_calls_pass() -> None:
    world, (_, there) = listeners(2)
    world.stop(peer(0), End.CRASH)
    for _ in range(8):
        say(world, 1, 0, Word(1))
        world.run(40)
    rests = [b - a for a, b in zip(there.times, there.times[1:], strict=False)]
    assert len(there.lost) == 8
    assert rests[-1] == pytest.approx(40, abs=1)
    say(world, 1, 0, Word(2))  # waits for its rest
    back = Listener()
    world.add(peer(0), back)
    say(world, 0, 1, Word(3))
    world.run(2)
    assert there.words == [3]
    assert back.words == [2]


def test_returning_peer_calls_anew_without_its_old_stream() -> None:
    world, (_, there) = listeners(2)
    say(world, 0, 1, Word(1))
    world.run(3)
    world.stop(peer(0), End.POWER_CUT)
    back = Listener()
    world.add(peer(0), back)
    say(world, 0, 1, Word(2))
    world.run(30)
    say(world, 1, 0, Word(3))
    world.run(3)
    assert there.words == [1, 2]
    assert not there.lost
    assert back.words == [3]


def test_message_on_a_forgotten_stream_brings_a_reset() -> None:
    world, (_, there) = listeners(2)
    say(world, 0, 1, Word(1))
    world.run(3)
    world.stop(peer(0), End.POWER_CUT)
    world.add(peer(0), Listener())
    say(world, 1, 0, Word(2))
    world.run(2)
    assert there.lost == ["reset"]


def test_a_short_partition_only_delays() -> None:
    world, (here, there) = listeners(2)
    say(world, 0, 1, Word(1))
    world.run(3)
    world.divide([peer(0)])
    say(world, 0, 1, Word(2))
    world.run(10)
    assert there.words == [1]
    world.heal()
    say(world, 0, 1, Word(3))
    world.run(20)
    assert there.words == [1, 2, 3]
    assert not here.lost
    assert not there.lost


def test_a_long_partition_breaks_streams_on_both_sides() -> None:
    world, (here, there, third) = listeners(3)
    say(world, 0, 1, Word(1))
    say(world, 1, 2, Word(2))
    world.run(3)
    world.divide([peer(0)])
    say(world, 0, 1, Word(3))
    world.run(20)
    assert here.lost == ["silent"]
    assert there.lost == ["silent"]
    say(world, 0, 1, Word(4))
    world.run(15)
    assert here.lost == ["silent", "no answer"]
    world.heal()
    say(world, 1, 2, Word(5))
    say(world, 0, 1, Word(6))
    world.run(20)
    assert there.words == [1, 6]
    assert third.words == [2, 5]


def test_links_default_is_quiet_enough_for_these_tests() -> None:
    assert QUIET.loss == 0
