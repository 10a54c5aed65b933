import json

import pytest

from core.sim import __main__ as program
from core.sim.dht_run import DhtRun, DhtRunSettings


def ignore(what: str, share: float) -> None:
    del what, share


def test_a_run_is_repeated_to_the_byte_and_finds_every_key() -> None:
    settings = DhtRunSettings(peers=30, seed=3, stores=20, gets=40)
    one, other = (DhtRun(settings, latency=None, report=ignore).run() for _ in range(2))
    for said in (one, other):
        del said["wall_s"], said["memory_mib"]
    assert one == other
    assert one["join"]["joined"] == 30
    assert one["stores"]["stored"] == 20
    assert one["gets_cold"]["found_share"] == one["gets_after"]["found_share"] == 1.0
    assert one["gets_cold"]["hops_mean"] > 0


def test_keys_outlive_an_hour_of_churn() -> None:
    settings = DhtRunSettings(peers=30, seed=4, stores=10, gets=10, hours=1)
    (hour,) = DhtRun(settings, latency=None, report=ignore).run()["churn"]
    assert hour["found_share"] == 1.0


def test_the_command_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(["dht", "--peers", "20", "--stores", "5", "--gets", "5", "--latency", "circle", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["latency"] == "circle"
