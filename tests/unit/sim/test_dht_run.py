import json

import pytest

from tests.sim.dht.run import DhtRun, DhtRunSettings
from tests.sim.program import main as simulate


def ignore(what: str, share: float) -> None:
    del what, share


def test_run_is_reproducible_and_finds_every_key() -> None:
    settings = DhtRunSettings(peers=30, seed=3, stores=20, gets=40)
    one, other = (DhtRun(settings, latency=None, report=ignore).run() for _ in range(2))
    for said in (one, other):
        del said["wall_s"], said["cpu_s"], said["memory_mib"]
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
    assert simulate(["dht", "--peers", "20", "--stores", "5", "--gets", "5", "--latency", "circle", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["latency"] == "circle"


def test_the_command_says_which_part_each_line_is_of(capsys: pytest.CaptureFixture[str]) -> None:
    assert simulate(["dht", "--peers", "20", "--stores", "5", "--gets", "5"]) == 0
    said = capsys.readouterr().out
    for part in ("Stores: 5 of 5", "First read: 5 of 5", "Read again: 5 of 5", "After 5 peers vanished: 5 of 5"):
        assert part in said
    assert "Every read found what was stored." in said


def test_nobody_goes_where_no_churn_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["dht", "--peers", "20", "--stores", "5", "--gets", "5", "--churn", "0", "--hours", "1", "--json"]
    assert simulate(words) == 0
    (hour,) = json.loads(capsys.readouterr().out)["churn"]
    assert (hour["came"], hour["went"], hour["live"]) == (0, 0, 20)


def test_more_stores_than_the_peers_have_room_for_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert simulate(["dht", "--peers", "4"]) == 2
    assert "--stores 600 at most" in capsys.readouterr().err


@pytest.mark.parametrize("words", ["--churn 0.5", "--hours 1 --vanish 0.5", "--churn s000 --hours 0"])
def test_options_that_would_have_no_effect_are_refused(capsys: pytest.CaptureFixture[str], words: str) -> None:
    assert simulate(["dht", "--peers", "20", "--stores", "5", "--gets", "5", *words.split()]) == 2
    assert capsys.readouterr().err
