"""The fault suite, short: two faults and one kill of the demo; and a seed draws the same faults each time."""

import json
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path
from typing import Any

import psutil
import pytest

from core.system.child_process import own_command
from tests.faults.drawing import RULES, Kind, draw
from tests.faults.inject import INJECTORS
from tests.faults.processes import ProcessRole, role_of
from tests.lab.ground import ROOT

pytestmark = pytest.mark.process
PATIENCE = "8"
"""Other tests compute on the same cores."""


def command(*words: str) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults", "--patience", PATIENCE, *words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        timeout=400,
        check=False,
    )
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert told[-1]["event"] == "verdict"
    assert told[-1]["problems"] == []
    assert done.returncode == 0
    return told


def test_a_seed_draws_the_same_faults_and_all_kinds() -> None:
    drawn = list(islice(draw(7), 2 * len(Kind)))
    assert drawn == list(islice(draw(7), 2 * len(Kind)))
    assert drawn != list(islice(draw(8), 2 * len(Kind)))
    assert [fault.number for fault in drawn] == list(range(1, len(drawn) + 1))
    assert {fault.kind for fault in drawn[: len(Kind)]} == set(Kind) == RULES.keys() == INJECTORS.keys()


def test_growth_compares_a_reader_with_readers() -> None:
    with psutil.Popen(own_command("reader", "core.reading"), stdin=subprocess.PIPE) as reader:
        end = time.monotonic() + 10
        while role_of(reader) is ProcessRole.OTHER and time.monotonic() < end:
            time.sleep(0.01)  # a child begins with its parent's words
        assert role_of(reader) is ProcessRole.READER
        reader.stdin.close()


@pytest.mark.long
def test_a_collaboration_outlives_a_kill_and_a_flipped_bit(tmp_path: Path) -> None:
    kinds = {Kind.BACKBONE_KILLED, Kind.BIT_FLIPPED}
    told = command("--kinds", *kinds, "--number", "2", "--keep", str(tmp_path / "run"))
    assert {line["kind"] for line in told[:-1]} == kinds
    assert told[-1]["faults"] == len(kinds)


@pytest.mark.long
def test_a_killed_demo_goes_on_and_leaves_no_process(tmp_path: Path) -> None:
    told = command("trees", "--number", "1", "--keep", str(tmp_path / "run"))
    assert told[0]["event"] == "tree"
