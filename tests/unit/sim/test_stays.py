import json
import lzma
from pathlib import Path
from random import Random

import pytest

from core.base.problems import BadInput
from tests.sim.dht.run import DhtRun, DhtRunSettings
from tests.sim.program import main as simulate
from tests.sim.stays import S000, S003, Pattern, Replaced, Stays, read_pattern

DAY_S = 86_400.0
TRACE = "\n".join(
    [
        "100 60 -nan 3600 -nan 86400 -nan 604800 -nan onlinetimes1",
        "200 60 0.99 3600 0.2 86400 0 604800 0 onlinetimes1",
        *["300 60 0.99 3600 0.95 86400 0.60 604800 0.10 onlinetimes1"] * 3,
    ]
)
"""A monitor that has just begun, then one that has run for long."""


def test_churn_is_parsed_from_a_rate_or_a_pattern_name() -> None:
    assert read_pattern("0.25") == Replaced(0.25)
    assert read_pattern("S000") is S000
    assert read_pattern("s003") is S003


def test_the_papers_computers_stay_as_long_as_they_say() -> None:
    random = Random(1)
    runs = [S000.stays.whole_s(random) / 3600 for _ in range(20_000)]
    assert 3.8 < sum(runs) / len(runs) < 4.2
    assert max(runs) == 21
    failed = sum(S003.stays.rest_s(random) < DAY_S for _ in range(20_000)) / 20_000
    assert 0.11 < failed < 0.14


def test_measured_stays_give_the_rest_of_a_stay(tmp_path: Path) -> None:
    file = tmp_path / "N_ot10-v.gpd.xz"
    file.write_bytes(lzma.compress(TRACE.encode()))
    pattern = read_pattern(str(tmp_path))
    assert isinstance(pattern, Pattern)
    random = Random(1)
    rests = [pattern.stays.rest_s(random) for _ in range(20_000)]
    for age, share in ((3600, 0.95 / 0.99), (DAY_S, 0.6 / 0.99), (7 * DAY_S, 0.1 / 0.99)):
        assert abs(sum(rest > age for rest in rests) / 20_000 - share) < 0.05
    wholes = [pattern.stays.whole_s(random) for _ in range(20_000)]
    assert sorted(wholes)[10_000] < sorted(rests)[10_000]  # who stays long is met more often


def test_peer_met_at_random_is_drawn_in_proportion_to_stays() -> None:
    stays = Stays(means_s=(1.0, 99.0), weights=(0.5, 0.5))
    assert stays.mean_s == 50
    random = Random(1)
    assert sum(stays.rest_s(random) > 10 for _ in range(1000)) > 850


@pytest.mark.parametrize(
    "text",
    [
        "1.5",
        "-0.1",
        "nan",
        "nowhere.gpd",
        "empty",
        "words here and there are no numbers at all\n",
        "1 60 0.5 30 0.4 20 0.1\n",
        "1 60 0.9 3600 0\n",
        "1 60 0.9 3600 0.5 86400 0.1\n1 61 0.9 3600 0.5 86400 0.1\n",
    ],
)
def test_unknown_pattern_is_refused_in_a_sentence(tmp_path: Path, text: str) -> None:
    if text.endswith("\n") or text == "empty":
        file = tmp_path / "trace.txt"
        file.write_text("" if text == "empty" else text)
        text = str(file)
    with pytest.raises(BadInput, match=r"says nothing|cannot be") as caught:
        read_pattern(text)
    assert caught.value.hint


def test_the_command_ends_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert simulate(["dht", "--churn", str(tmp_path / "none")]) == 2
    assert "Give a share" in capsys.readouterr().err


@pytest.mark.long
def test_devices_come_back_and_their_number_stays_within_the_limits() -> None:
    settings = DhtRunSettings(peers=91, seed=2, stores=5, gets=5, hours=3, churn=S000)
    run = DhtRun(settings, latency=None, report=lambda what, share: None)
    said = run.run()
    assert said["pattern"] == "s000"
    assert sum(hour["came"] + hour["went"] for hour in said["churn"]) > 10
    assert all(hour["found_share"] == 1.0 for hour in said["churn"])
    later = [moment.live for moment in run.moments if moment.at_s > 60]
    assert 15 <= min(later) < max(later) <= 35
    assert len(run.swarm.signers) == 91


@pytest.mark.long
def test_a_pattern_is_repeated_to_the_byte(capsys: pytest.CaptureFixture[str]) -> None:
    digests = set()
    words = ["--peers", "20", "--stores", "3", "--gets", "3", "--hours", "2", "--seed", "1", "--json"]
    for _ in range(2):
        simulate(["dht", "--churn", "s003", *words])
        said = json.loads(capsys.readouterr().out)
        digests.add(said["digest"])
        assert said["latency"] == "circle"
        assert [hour["live"] for hour in said["churn"]] == [20, 20]
    assert len(digests) == 1
