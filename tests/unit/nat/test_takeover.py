"""A relay dies under a transfer: the second one takes over soon enough, wherever everybody is."""

import json
from random import Random
from typing import Any

import pytest

from core.base.machine import Send
from core.nat import opened_circuit as circuits_module
from core.nat.messages import (
    OpenCircuit,
)
from tests.sim.nat.homes import SimulatedHome
from tests.sim.nat.takeover import TARGET_S, Takeover, case, distribution, main
from tests.unit.nat.worlds import world_of

MARGIN_S = 0.25
SEEDS = range(40)


def test_second_relay_takes_over_in_time_without_loss() -> None:
    """Round trips up to 150 ms between any two; what 500 seeds say is in the simulator's README."""
    takeovers = [case(seed) for seed in SEEDS]
    assert [takeover for takeover in takeovers if not takeover.kept] == []
    assert [takeover for takeover in takeovers if (takeover.seconds or 99) > TARGET_S - MARGIN_S] == []
    assert {takeover.death for takeover in takeovers} == {"silent", "loud"}
    assert len({takeover.traffic for takeover in takeovers}) == 6


@pytest.mark.long
@pytest.mark.parametrize("waits_s", [0.0, 0.2])
def test_both_ends_may_look_for_a_relay_at_once(waits_s: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each finds another one: then both carry."""
    monkeypatch.setattr(circuits_module, "CALLED_WAITS_S", waits_s)
    takeovers = [case(seed) for seed in SEEDS[:20]]
    assert [takeover for takeover in takeovers if not takeover.ok] == []


def test_the_command_tells_the_distribution(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--cases", "4", "--seed", "3"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["cases"], figures["failed"], figures["bytes_lost"]) == (4, [], 0)
    assert figures["seconds"]["max"] >= figures["seconds"]["p50"] > 0


def test_slow_or_lossy_take_over_is_named() -> None:
    good = Takeover(seed=1, death="silent", traffic=("bulk", "none"), far=False, seconds=1.0, kept=True)
    late = Takeover(seed=2, death="silent", traffic=("bulk", "none"), far=False, seconds=2.5, kept=True)
    lossy = Takeover(seed=3, death="loud", traffic=("bulk", "none"), far=False, seconds=0.5, kept=False)
    never = Takeover(seed=4, death="loud", traffic=("bulk", "none"), far=False, seconds=None, kept=True)
    figures = distribution([good, late, lossy, never])
    assert (figures["failed"], figures["bytes_lost"]) == ([2, 3, 4], 1)
    assert figures["seconds"] == {"p50": 1.0, "p95": 2.5, "p99": 2.5, "max": 2.5}


def test_no_case_at_all_is_refused() -> None:
    with pytest.raises(SystemExit):
        main(["--cases", "0"])


@pytest.mark.parametrize("seed", range(8))
def test_a_relay_dies_and_the_other_takes_over_without_loss(seed: int) -> None:
    world, helpers, (a, b) = world_of("symmetric", "symmetric")
    world.dial(a, b)
    world.run(10)
    ((circuit, _),) = a.circuits.items()
    end = a.machine.circuits.opened[circuit].endpoint
    assert end is not None
    relay = world.homes[end.relay] if end.relay is not None else helpers[0]
    random = Random(seed)
    data = random.randbytes(400_000)
    before = len(b.got[circuit])
    world.use(a, circuit, lambda end: end.write(data[:200_000], world.now))
    world.run(random.uniform(0, 0.4))
    world.kill(relay)
    world.use(a, circuit, lambda end: end.write(data[200_000:], world.now))
    died_at = world.now
    while len(b.got[circuit]) < before + len(data) and world.now < died_at + 10:
        world.run(0.05)
    assert b.got[circuit][before:] == data
    assert a.machine.circuits.takeovers + b.machine.circuits.takeovers >= 1
    assert end.relay not in {None, relay.peer}


def test_silent_relay_is_left_within_two_seconds() -> None:
    world, helpers, (a, b) = world_of("symmetric", "symmetric")
    world.dial(a, b)
    world.run(10)
    ((circuit, _),) = a.circuits.items()
    end = a.machine.circuits.opened[circuit].endpoint
    assert end is not None
    relay = next(helper for helper in helpers if helper.peer == end.relay)
    relay.up = False
    world.use(a, circuit, lambda end: end.write(b"after", world.now))
    world.run(2.0)
    assert end.relay not in {None, relay.peer}
    assert b.got[circuit].endswith(b"after")


def test_circuit_with_a_vanished_end_asks_rarely() -> None:
    world, _, (a, b) = world_of("symmetric", "symmetric", public=1)
    world.dial(a, b)
    world.run(10)
    asked: list[OpenCircuit] = []
    perform = world.perform

    def watching(home: SimulatedHome, outputs: Any) -> None:
        asked.extend(out.message for out in outputs if isinstance(out, Send) and isinstance(out.message, OpenCircuit))
        perform(home, outputs)

    world.perform = watching  # type: ignore[method-assign]
    world.kill(b)
    ((circuit, _),) = a.circuits.items()
    world.use(a, circuit, lambda end: end.write(b"anybody?", world.now))
    world.run(30)
    assert 3 <= len(asked) <= 25
    assert len(a.machine.circuits.opened) == 0
