import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from core.base.ids import Contact, Observed, PeerId
from core.base.machine import Lost, Received, Send, Tick
from core.dht.events import Learned
from tests.sim.checkers import Checker, CheckFailed, Violation
from tests.sim.world.computing import INBOX_MAX
from tests.sim.world.links import LinkSettings
from tests.sim.world.node import End, Node
from tests.sim.world.world import START, World
from tests.unit.sim.toys import CODEC, QUIET, Listener, Load, Rumour, Word, gossip_world, listeners, peer, say

ROUGH = LinkSettings(loss=0.2, duplicate=0.1, jitter_s=0.05)


class Sleeper(Listener):
    def handle(self, event: Any, now: float) -> list[Any]:
        super().handle(event, now)
        if isinstance(event, Tick):
            self.deadline = None
        return []


def test_a_rumour_reaches_everybody_through_loss() -> None:
    world, machines = gossip_world(3, links=ROUGH)
    world.run(20)
    assert all(machine.greatest == 42 for machine in machines)


def test_one_seed_one_history() -> None:
    digests = []
    for seed in (7, 7, 8):
        world, _ = gossip_world(seed, links=ROUGH)
        world.run(3)
        digests.append((world.digest.hex(), world.messages))
    assert digests[0] == digests[1]
    assert digests[0] != digests[2]


def test_one_seed_one_history_in_another_process() -> None:
    world, _ = gossip_world(7, links=ROUGH)
    world.run(2)
    program = (
        "from tests.unit.sim.test_world import *; w, _ = gossip_world(7, links=ROUGH); w.run(2); print(w.digest.hex())"
    )
    root = str(Path(__file__).parents[3])
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": root}
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, cwd=root, capture_output=True, check=True, text=True
        )
        assert done.stdout.strip() == world.digest.hex()


def test_a_sender_is_observed_before_its_first_datagram() -> None:
    world, (_, there) = listeners(2)
    say(world, 0, 1, Rumour(1))
    say(world, 0, 1, Rumour(2))
    world.run(1)
    assert [type(event) for event in there.got] == [Observed, Received, Received]
    assert there.got[0].peer == peer(0)
    assert there.got[0].host == world.nodes[peer(0)].host


def test_datagrams_are_lost_doubled_and_overtake_one_another() -> None:
    world, (_, there) = listeners(2, links=ROUGH)
    for number in range(500):
        say(world, 0, 1, Rumour(number))
    world.run(5)
    assert 300 < len(set(there.words)) < 480
    assert len(there.words) > len(set(there.words))
    assert there.words != sorted(there.words)


def test_a_machine_is_woken_at_its_deadline_and_not_before() -> None:
    world = World(1, CODEC, links=QUIET)
    sleeper = Sleeper()
    sleeper.deadline = START + 5
    world.add(peer(0), sleeper)
    world.run(2)
    assert not sleeper.got
    sleeper.deadline = START + 7  # moved: the earlier plan must not wake it
    world.run(10)
    assert sleeper.times == [START + 7]


def test_clocks_may_be_skewed() -> None:
    world = World(1, CODEC, links=QUIET)
    ahead = Listener()
    ahead.deadline = START + 12
    node = world.add(peer(0), ahead, skew_s=10.0)

    def once(event: Any, now: float) -> list[Any]:
        Listener.handle(ahead, event, now)
        ahead.deadline = None
        return []

    ahead.handle = once  # type: ignore[method-assign]
    world.run(5)
    assert ahead.times == [START + 12]
    assert node.local(world.now) == world.now + 10


def test_a_machine_that_spins_is_caught() -> None:
    world = World(1, CODEC)
    spinner = Listener()
    spinner.deadline = START
    world.add(peer(0), spinner)
    with pytest.raises(CheckFailed, match="again and again"):
        world.run(1)


def test_machine_exception_ends_the_run_with_seed_and_time() -> None:
    world, (_, there) = listeners(2, seed=99)

    def fails(event: Any, now: float) -> list[Any]:
        raise KeyError("oh")

    there.handle = fails  # type: ignore[method-assign]
    say(world, 0, 1, Word(1))
    with pytest.raises(CheckFailed, match="KeyError") as caught:
        world.run(5)
    assert caught.value.seed == 99
    assert 0 < caught.value.time < 5


def test_wire_limits_hold() -> None:
    world, _ = listeners(2)
    say(world, 0, 1, Load(1, memoryview(bytes(1_000_000))))
    with pytest.raises(Violation, match="limit"):
        say(world, 0, 1, Load(1, memoryview(bytes(3_000_000))))
    with pytest.raises(Violation, match="itself"):
        say(world, 0, 0, Word(1))


def test_sent_messages_do_not_change_afterwards() -> None:
    world, (_, there) = listeners(2)
    data = bytearray(b"before")
    say(world, 0, 1, Load(1, memoryview(data)))
    data[:] = b"after!"
    world.run(5)
    assert bytes(there.got[-1].message.data) == b"before"


def test_the_owner_hears_what_is_no_send_and_answers() -> None:
    world = World(1, CODEC, links=QUIET)
    heard: list[Any] = []

    def on_event(event: Any, now: float) -> list[Any]:
        heard.append((event, now))
        return [Send(peer(1), Word(5))]

    node = world.add(peer(0), Listener(), on_event=on_event)
    there = Listener()
    world.add(peer(1), there)
    world.driver.perform(node, ["news"])
    world.run(3)
    assert heard == [("news", START)]
    assert there.words == [5]


def test_only_learned_addresses_can_be_reached() -> None:
    world = World(1, CODEC, links=QUIET, addresses_known=False)
    here, there = Listener(), Listener()
    node = world.add(peer(0), here)
    world.add(peer(1), there)
    say(world, 0, 1, Rumour(1))
    say(world, 0, 1, Word(1))
    world.run(2)
    assert not there.got
    assert here.lost == ["no address is known"]
    world.driver.perform(node, [Learned(Contact(peer(1), "sim-2", 1)), Send(peer(1), Word(2))])
    world.run(2)
    assert there.words == [2]
    say(world, 1, 0, Rumour(3))  # who was called knows the caller
    world.run(2)
    assert here.words == [3]


def test_timers_of_a_node_die_with_it() -> None:
    world, _ = listeners(1)
    called: list[float] = []

    def action(now: float) -> list[Any]:
        called.append(now)
        return []

    node = world.nodes[peer(0)]
    world.driver.when(node, 1.0, action)
    world.driver.when(node, 3.0, action)
    world.run(2)
    world.stop(peer(0), End.CRASH)
    world.add(peer(0), Listener())
    world.run(5)
    assert called == [START + 1]


def test_nobody_lives_twice() -> None:
    world, _ = listeners(1)
    with pytest.raises(ValueError, match="up already"):
        world.add(peer(0), Listener())


def test_checkers_see_everything() -> None:
    class Witness(Checker):
        def __init__(self) -> None:
            self.seen: list[str] = []

        def started(self, node: Node, now: float) -> None:
            self.seen.append("started")

        def delivered(self, node: Node, event: Any, now: float) -> None:
            self.seen.append(type(event).__name__)

        def said(self, node: Node, output: Any, now: float) -> None:
            self.seen.append(f"said {output}")

        def stopped(self, node: Node, how: End, now: float) -> None:
            self.seen.append(f"stopped {how}")

        def looked(self, nodes: Any, now: float) -> None:
            self.seen.append(f"looked at {len(list(nodes))}")

    witness = Witness()
    world = World(1, CODEC, links=QUIET, checkers=[witness])
    node = world.add(PeerId(peer(0)), Listener())
    world.driver.perform(node, ["hello"])
    world.run(1)
    world.stop(peer(0), End.LEAVE)
    assert witness.seen == ["started", "said hello", "looked at 1", "stopped leave"]


def test_a_lost_event_is_a_lost_event() -> None:
    world, (here,) = listeners(1)
    say(world, 0, 5, Word(1))
    world.run(30)
    assert [type(event) for event in here.got] == [Lost]


def test_a_frozen_node_gets_everything_afterwards() -> None:
    world, (here, there) = listeners(2)
    say(world, 0, 1, Word(1))
    world.run(3)
    world.freeze(peer(1), 10)
    thawed_at = world.now + 10
    say(world, 0, 1, Word(2))
    say(world, 0, 1, Rumour(3))
    called: list[float] = []

    def action(now: float) -> list[Any]:
        called.append(now)
        return []

    world.driver.when(world.nodes[peer(1)], 1.0, action)
    there.deadline = world.now + 2
    world.run(9)
    assert there.words == [1]
    there.deadline = None
    world.run(3)
    assert sorted(there.words) == [1, 2, 3]
    assert called == [thawed_at]
    assert set(there.times[1:]) == {thawed_at}
    assert not here.lost


def test_a_node_that_is_frozen_for_long_loses_its_streams() -> None:
    world, (here, there) = listeners(2)
    say(world, 0, 1, Word(1))
    world.run(3)
    world.freeze(peer(1), 40)
    world.run(20)
    assert here.lost == ["silent"]
    assert not there.lost
    world.run(25)
    assert there.lost == ["reset"]


SLOW = LinkSettings(loss=0.0, duplicate=0.0, jitter_s=0.0, slow=1.0, compute_s=(0.5, 0.5))


def test_a_slow_computer_handles_one_message_after_the_other() -> None:
    world, (_, there) = listeners(2, links=SLOW)
    for number in range(4):
        say(world, 0, 1, Rumour(number))
    world.run(5)
    assert sorted(there.words) == [0, 1, 2, 3]
    times = [at for event, at in zip(there.got, there.times, strict=True) if isinstance(event, Received)]
    assert [round(b - a, 6) for a, b in pairwise(times)] == [0.5, 0.5, 0.5]
    assert there.times[0] + 0.5 == pytest.approx(times[0])


def test_slow_computer_wakes_between_messages_only() -> None:
    world = World(1, CODEC, links=SLOW)
    world.add(peer(0), Listener())
    sleeper = Sleeper()
    world.add(peer(1), sleeper)
    for number in range(4):
        say(world, 0, 1, Rumour(number))
    sleeper.deadline = START + 0.7
    world.driver.perform(world.nodes[peer(1)], [])
    world.run(5)
    kinds = [type(event) for event in sleeper.got]
    assert kinds.index(Tick) == 3  # Observed, two messages, then the wake
    assert kinds.count(Received) == 4


def test_flooded_slow_computer_loses_datagrams_and_still_wakes() -> None:
    world, (_, there) = listeners(2, links=SLOW)
    for number in range(INBOX_MAX + 100):
        say(world, 0, 1, Rumour(number))
    there.deadline = START + 30
    world.driver.perform(world.nodes[peer(1)], [])
    world.run(31)
    there.deadline = None
    assert 55 <= len(there.words) <= 62
    assert any(isinstance(event, Tick) for event in there.got)
    world.run(1000)
    assert len(there.words) <= INBOX_MAX + 1


def test_a_slow_computer_freezes_and_dies_like_any_other() -> None:
    world, (_, there) = listeners(2, links=SLOW)
    say(world, 0, 1, Rumour(1))
    say(world, 0, 1, Rumour(2))
    world.run(0.3)
    world.freeze(peer(1), 10)
    world.run(9)
    assert not there.words
    world.run(1.1)
    assert len(there.words) == 1
    world.stop(peer(1), End.POWER_CUT)
    world.run(5)
    assert len(there.words) == 1
