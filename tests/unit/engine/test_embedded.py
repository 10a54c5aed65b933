"""Where embedded collaborations are kept, and what their engines are told."""

import hashlib
import os
import platform
from itertools import combinations
from pathlib import Path

import pytest

from core.base.tasks import TASKS
from core.cli.demo import engine_arguments
from core.cli.program import parser
from core.engine.embedded import EmbeddedOptions, newest_epoch, volunteer_homes
from core.storage.paths import Home


def test_the_folder_of_a_collaboration_founded_earlier_keeps_its_name() -> None:
    assert EmbeddedOptions().folder_name == f"python-{platform.python_version()}-2"
    assert EmbeddedOptions(delayed=True).folder_name == f"python-{platform.python_version()}-2-delayed"
    text = Path("/a/b").absolute()
    hashed = hashlib.sha256(os.fsencode(text)).hexdigest()[:12]
    assert EmbeddedOptions(text=text).folder_name == f"text-{hashed}-2"


def test_each_collaboration_has_a_folder_of_its_own() -> None:
    chosen = [
        EmbeddedOptions(text=text, delayed=delayed, task=task)
        for text in (None, Path("/a"), Path("/b"))
        for delayed in (False, True)
        for task in TASKS
    ]
    assert all(one.folder_name != other.folder_name for one, other in combinations(chosen, 2))


@pytest.mark.parametrize("task", TASKS)
def test_the_engine_of_a_demo_gets_every_option(task: str, tmp_path: Path) -> None:
    options = EmbeddedOptions(peers=2, text=tmp_path, epochs=4, delayed=True, task=task)
    told = parser().parse_args(engine_arguments(Home(tmp_path / "home"), options))
    assert (told.peers, told.text, told.epochs, told.delayed, told.task) == (2, tmp_path, 4, True, task)
    assert told.embedded


def test_the_newest_epoch_is_read_from_the_names_of_checkpoints(tmp_path: Path) -> None:
    assert newest_epoch(tmp_path / "absent") == 0
    for name in (
        "state-00000003-0a0a0a0a.safetensors",
        "state-00000012-ffffffff.safetensors",
        "state-x.safetensors",
        "other",
    ):
        (tmp_path / name).touch()
    assert newest_epoch(tmp_path) == 12


def test_the_first_home_is_the_owner_s(tmp_path: Path) -> None:
    homes = volunteer_homes(Home(tmp_path), EmbeddedOptions(peers=3))
    assert homes[0] == Home(tmp_path)
    assert len({home.directory for home in homes}) == 3
