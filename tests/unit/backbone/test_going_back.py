"""Going back to a copy of the model."""

import errno
import shutil
from pathlib import Path

import msgspec
import pytest
from safetensors import safe_open
from safetensors.torch import load_file

from core.authority.decisions import GoBack
from core.backbone.kept_states import LOSSES, STATES, KeptCopy, KeptStates, kept_copies, losses_of, way_back
from core.base.content import chunk_digests, digest, root_digest
from core.base.manifest import Manifest
from core.base.problems import BadInput, Damaged, NoSpace
from core.base.state_header import HEADER_BYTES_MAX, ORIGIN_BYTES, header_of, names_digest
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
    return with_copies(tmp_path)


def with_copies(folder: Path, manifest: Manifest = MANIFEST) -> Path:
    trained = learner(folder / "trained", manifest=manifest)
    kept = KeptStates(folder, manifest=manifest.id)
    for epoch in (1, 2):
        assert trained.accumulate()
        trained.absorb(trained.hand_over(), epoch=epoch, lineage=digest(bytes([epoch])), ledger=b"who")
        keep(kept, trained.state.saved.path, StateName(epoch, digest(bytes([epoch]))))
    return folder


def keep(kept: KeptStates, path: Path, name: StateName, loss: float | None = None) -> None:
    fetched = Path(shutil.copy(path, path.with_name("fetched")))
    kept.keep(Keep(str(fetched), name, root_digest(chunk_digests(file_chunks(fetched)))), loss)


def keep_second(kept: KeptStates, charter: Path, loss: float | None = None) -> None:
    """The second state comes once more."""
    second = next(copy.path for copy in kept_copies(charter / STATES) if copy.epoch == 2)
    keep(kept, Path(shutil.copy(second, charter / "another")), StateName(2, digest(bytes([2]))), loss)


def gone_back(charter: Path, number: int) -> tuple[KeptCopy, GoBack]:
    """A backbone has made the derived root of a copy that moderators have chosen."""
    back = way_back(charter / STATES, number, MANIFEST.id)
    root = KeptStates(charter, manifest=MANIFEST.id).go_back(back)
    assert root is not None
    assert (root.name, root.file.digest) == (StateName(back.epoch, back.root), back.digest)
    return kept_copies(charter / STATES)[-1], back


def test_derived_root_has_the_numbers_and_another_name(charter: Path) -> None:
    source = kept_copies(charter / STATES)[0].path
    made, back = gone_back(charter, 1)
    assert (made.number, made.epoch) == (3, 1)
    one, other = load_file(source), load_file(made.path)
    assert one.keys() == other.keys()
    assert all(one[name].equal(other[name]) for name in one)
    headers = [header_of(path.read_bytes()[:HEADER_BYTES_MAX]) for path in (source, made.path)]
    assert headers[0].lineage != headers[1].lineage
    assert (headers[1].ancestors, headers[1].means, headers[1].ledger) == ("", "", b"who")
    again = way_back(charter / STATES, 1, MANIFEST.id, back)
    assert again.root[-ORIGIN_BYTES:] != back.root[-ORIGIN_BYTES:], "each has an origin of its own"


def test_trainer_that_loads_the_derived_root_writes_the_same_file(charter: Path, tmp_path: Path) -> None:
    made = gone_back(charter, 1)[0].path
    parameters = FlatParameters(SmallTask().model(0))
    optimizer = optimizer_of(MANIFEST.optimizer, parameters)
    folder = tmp_path / "other"
    files = Checkpoints(folder, manifest=MANIFEST.id, parameters=parameters, state=optimizer.state)
    name = files.load(made)
    saved = files.save(name.epoch, bytes.fromhex(name.lineage), ledger=name.ledger).result()
    assert saved.path.read_bytes() == made.read_bytes()
    assert names_digest(made.name.partition("-")[2], saved.digest)


def test_backbones_with_one_copy_make_the_same_root(charter: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(charter / STATES, other / STATES)
    made, back = gone_back(charter, 1)
    KeptStates(other, manifest=MANIFEST.id).go_back(back)
    assert kept_copies(other / STATES)[-1].path.read_bytes() == made.path.read_bytes()


def test_backbone_goes_back_once(charter: Path) -> None:
    _, back = gone_back(charter, 1)
    kept = KeptStates(charter, manifest=MANIFEST.id)
    assert kept.go_back(back) is None
    newest = kept.newest()
    assert newest is not None
    assert newest.name == StateName(back.epoch, back.root), "also after a restart"
    undone = way_back(charter / STATES, 2, MANIFEST.id, back)
    assert kept.go_back(undone) is not None, "what was undone can be gone back to"


def test_backbone_without_the_copy_makes_no_root(charter: Path) -> None:
    back = way_back(charter / STATES, 1, MANIFEST.id)
    kept_copies(charter / STATES)[0].path.unlink()
    assert KeptStates(charter, manifest=MANIFEST.id).go_back(back) is None


def test_root_that_was_signed_otherwise_is_not_made(charter: Path) -> None:
    back = msgspec.structs.replace(way_back(charter / STATES, 1, MANIFEST.id), digest=digest(b"another"))
    with pytest.raises(Damaged):
        KeptStates(charter, manifest=MANIFEST.id).go_back(back)
    assert len(kept_copies(charter / STATES)) == 2
    assert not list((charter / STATES).glob("root.part"))


def test_root_larger_than_the_disk_is_told_and_leaves_nothing(charter: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    back = way_back(charter / STATES, 1, MANIFEST.id)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shutil, "copyfileobj", full)
    before = sorted((charter / STATES).iterdir())
    for making in (
        lambda: KeptStates(charter, manifest=MANIFEST.id).go_back(back),
        lambda: way_back(charter / STATES, 1, MANIFEST.id),
    ):
        with pytest.raises(NoSpace):
            making()
        assert sorted((charter / STATES).iterdir()) == before


@pytest.mark.parametrize("wanted", [True, False])
def test_copy_that_is_proposed_outlives_later_ones(charter: Path, *, wanted: bool) -> None:
    kept = KeptStates(charter, manifest=MANIFEST.id)
    back = way_back(charter / STATES, 1, MANIFEST.id)
    first = shutil.copy(kept_copies(charter / STATES)[0].path, charter / "another")
    keep(kept, Path(first), StateName(1, digest(bytes([1]))))
    kept.wanted = frozenset({back.source} if wanted else ())
    for _ in range(6):
        keep_second(kept, charter)
    assert (3 in [copy.number for copy in kept_copies(charter / STATES)]) is wanted


def test_loss_is_noted_for_a_copy_and_its_root(charter: Path) -> None:
    states = charter / STATES
    keep_second(KeptStates(charter, manifest=MANIFEST.id), charter, 1.5)
    assert losses_of(states) == {3: 1.5}
    gone_back(charter, 3)
    assert losses_of(states) == {3: 1.5, 4: 1.5}
    (states / LOSSES).write_text("{")
    assert losses_of(states) == {}


def test_copy_that_is_none_is_not_chosen(charter: Path) -> None:
    states = charter / STATES
    with pytest.raises(BadInput):
        way_back(states, 7, MANIFEST.id)
    with pytest.raises(BadInput, match="another collaboration"):
        way_back(states, 1, b"another")
    first = kept_copies(states)[0].path
    first.write_bytes(first.read_bytes()[:-1])
    with pytest.raises(Damaged):
        way_back(states, 1, MANIFEST.id)
    assert len(kept_copies(states)) == 2
    with safe_open(kept_copies(states)[1].path, framework="pt") as file:
        assert file.keys()
