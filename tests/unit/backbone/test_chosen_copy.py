"""Going back to a copy of the model."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors import safe_open
from safetensors.torch import load_file

from core.backbone.chosen_copy import go_back
from core.backbone.kept_states import LOSSES, STATES, KeptStates, chosen_copy, kept_copies, losses_of
from core.base.content import chunk_digests, digest, root_digest
from core.base.problems import BadInput, Busy, Damaged
from core.base.state_header import HEADER_BYTES_MAX, header_of, names_digest
from core.swarm.words.orders import Keep
from core.swarm.words.states import StateName
from core.system.file_chunks import file_chunks
from core.training.optimizers import optimizer_of
from core.training.states.checkpoint import Checkpoints
from core.training.vectors.flat import FlatParameters
from tests.unit.training.small import MANIFEST, SmallTask, learner


@pytest.fixture
def charter(tmp_path: Path) -> Path:
    """A charter's folder with the copies of two states of a model that was trained."""
    trained = learner(tmp_path / "trained")
    kept = KeptStates(tmp_path, manifest=MANIFEST.id)
    for epoch in (1, 2):
        assert trained.accumulate()
        trained.absorb(trained.hand_over(), epoch=epoch, lineage=digest(bytes([epoch])), ledger=b"who")
        keep(kept, trained.state.saved.path, StateName(epoch, digest(bytes([epoch]))))
    return tmp_path


KILLED = """
import os, sys
from pathlib import Path
from core.backbone import chosen_copy
done = getattr(chosen_copy, sys.argv[2])
setattr(chosen_copy, sys.argv[2], lambda *args: (done(*args), os._exit(9)))
chosen_copy.go_back(Path(sys.argv[1]), 1)
"""
"""The command, which is killed after a step."""


def keep(kept: KeptStates, path: Path, name: StateName, loss: float | None = None) -> None:
    fetched = Path(shutil.copy(path, path.with_name("fetched")))
    kept.keep(Keep(str(fetched), name, root_digest(chunk_digests(file_chunks(fetched)))), loss)


def keep_second(kept: KeptStates, charter: Path, loss: float | None = None) -> None:
    """The second state comes once more."""
    second = next(copy.path for copy in kept_copies(charter / STATES) if copy.epoch == 2)
    keep(kept, Path(shutil.copy(second, charter / "another")), StateName(2, digest(bytes([2]))), loss)


def test_derived_root_has_the_numbers_and_another_name(charter: Path) -> None:
    source = kept_copies(charter / STATES)[0].path
    made = go_back(charter / STATES, 1)
    assert (made.number, made.epoch) == (3, 1)
    one, other = load_file(source), load_file(made.path)
    assert one.keys() == other.keys()
    assert all(one[name].equal(other[name]) for name in one)
    headers = [header_of(path.read_bytes()[:HEADER_BYTES_MAX]) for path in (source, made.path)]
    assert headers[0].lineage != headers[1].lineage
    assert (headers[1].ancestors, headers[1].means, headers[1].ledger) == ("", "", b"who")
    again = go_back(charter / STATES, 1)
    assert again.path.read_bytes() != made.path.read_bytes(), "each has a name of its own"


def test_trainer_that_loads_the_derived_root_writes_the_same_file(charter: Path, tmp_path: Path) -> None:
    made = go_back(charter / STATES, 1).path
    parameters = FlatParameters(SmallTask().model(0))
    optimizer = optimizer_of(MANIFEST.optimizer, parameters)
    folder = tmp_path / "other"
    files = Checkpoints(folder, manifest=MANIFEST.id, parameters=parameters, state=optimizer.state)
    name = files.load(made)
    saved = files.save(name.epoch, bytes.fromhex(name.lineage), ledger=name.ledger)
    assert saved.path.read_bytes() == made.read_bytes()
    assert names_digest(made.name.partition("-")[2], saved.digest)


def test_backbone_finds_the_chosen_copy_once(charter: Path) -> None:
    kept = KeptStates(charter, manifest=MANIFEST.id)
    newest = kept.newest()
    assert newest is not None
    assert (newest.name.epoch, newest.chosen, kept.chosen()) == (2, False, None)
    go_back(charter / STATES, 1)
    with pytest.raises(Busy):
        keep(kept, kept_copies(charter / STATES)[1].path, newest.name)
    chosen = kept.chosen()
    assert chosen is not None
    assert (chosen.name.epoch, chosen.chosen) == (1, True)
    assert kept.chosen() is None
    again = KeptStates(charter, manifest=MANIFEST.id).newest()
    assert again is not None
    assert again.chosen, "also after a restart"


def test_chosen_copy_is_one_of_many_once_another_is_kept(charter: Path) -> None:
    go_back(charter / STATES, 1)
    kept = KeptStates(charter, manifest=MANIFEST.id)
    assert kept.newest() is not None
    keep(kept, kept_copies(charter / STATES)[1].path, StateName(2, digest(bytes([2]))))
    newest = KeptStates(charter, manifest=MANIFEST.id).newest()
    assert newest is not None
    assert (newest.name.epoch, newest.chosen) == (2, False)


def test_going_back_that_has_ended_is_not_begun_again(charter: Path) -> None:
    kept = KeptStates(charter, manifest=MANIFEST.id)
    kept.newest()
    go_back(charter / STATES, 1)
    assert kept.chosen() is not None
    kept.followed()
    assert kept.chosen() is None
    again = KeptStates(charter, manifest=MANIFEST.id)
    newest = again.newest()
    assert newest is not None
    assert (newest.name.epoch, newest.chosen) == (1, False)
    go_back(charter / STATES, 2)
    anew = again.chosen()
    assert anew is not None
    assert (anew.name.epoch, anew.chosen) == (2, True)


def test_chosen_copy_stays_when_later_copies_are_kept(charter: Path) -> None:
    kept = KeptStates(charter, manifest=MANIFEST.id)
    go_back(charter / STATES, 1)
    assert kept.newest() is not None
    for _ in range(3):
        keep_second(kept, charter)
    assert 3 in [copy.number for copy in kept_copies(charter / STATES)]


def test_choice_that_cannot_be_read_is_none(charter: Path, caplog: pytest.LogCaptureFixture) -> None:
    kept = KeptStates(charter, manifest=MANIFEST.id)
    (charter / STATES / "chosen").mkdir()
    newest = kept.newest()
    assert newest is not None
    assert (newest.chosen, kept.chosen()) == (False, None)
    assert "which copy of the model was chosen cannot be read" in caplog.text


def test_choice_that_was_unreadable_for_a_moment_orders_nothing_anew(charter: Path) -> None:
    go_back(charter / STATES, 1)
    kept = KeptStates(charter, manifest=MANIFEST.id)
    newest = kept.newest()
    assert newest is not None
    kept.followed()
    choice = charter / STATES / "chosen"
    aside = choice.rename(charter / "aside")
    choice.mkdir()
    assert kept.chosen() is None
    choice.rmdir()
    aside.rename(choice)
    assert kept.chosen() is None
    keep_second(kept, charter)


@pytest.mark.parametrize(("step", "chosen"), [("write_atomic", False), ("move_synced", True)])
def test_command_that_is_killed_leaves_no_copy_unchosen(charter: Path, step: str, *, chosen: bool) -> None:
    states = charter / STATES
    kept = KeptStates(charter, manifest=MANIFEST.id)
    kept.newest()
    assert subprocess.run([sys.executable, "-c", KILLED, str(states), step], check=False).returncode == 9
    assert [copy.epoch for copy in kept_copies(states)] == ([1, 2, 1] if chosen else [1, 2])
    newest = KeptStates(charter, manifest=MANIFEST.id).newest()
    assert newest is not None
    assert (newest.name.epoch, newest.chosen) == ((1, True) if chosen else (2, False))
    assert (kept.chosen() is not None) is chosen
    keep_second(kept, charter)
    numbers = [copy.number for copy in kept_copies(states)]
    assert numbers[-1] == 4, "nobody takes the number of the choice"
    assert (KeptStates(charter, manifest=MANIFEST.id).chosen() is not None) is chosen


def test_choice_without_its_copy_is_heeded_when_that_comes(charter: Path) -> None:
    """A backbone starts while the command writes."""
    made = go_back(charter / STATES, 1).path
    aside = made.rename(charter / "aside")
    kept = KeptStates(charter, manifest=MANIFEST.id)
    newest = kept.newest()
    assert newest is not None
    assert (newest.chosen, kept.chosen()) == (False, None)
    aside.rename(made)
    assert kept.chosen() is not None


def test_loss_is_noted_for_a_copy_and_its_root(charter: Path) -> None:
    states = charter / STATES
    keep_second(KeptStates(charter, manifest=MANIFEST.id), charter, 1.5)
    assert losses_of(states) == {3: 1.5}
    go_back(states, 3)
    assert losses_of(states) == {3: 1.5, 4: 1.5}
    (states / LOSSES).write_text("{")
    assert losses_of(states) == {}


def test_copy_that_is_none_is_not_chosen(charter: Path) -> None:
    states = charter / STATES
    with pytest.raises(BadInput):
        go_back(states, 7)
    first = kept_copies(states)[0].path
    first.write_bytes(first.read_bytes()[:-1])
    with pytest.raises(Damaged):
        go_back(states, 1)
    assert chosen_copy(states) == (0, False)
    assert len(kept_copies(states)) == 2
    with safe_open(kept_copies(states)[1].path, framework="pt") as file:
        assert file.keys()
