import errno
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
import torch
from safetensors.torch import load, save

from core.base.bounds import EPOCH_MAX
from core.base.content import chunk_digests, digest, root_digest
from core.base.problems import BadInput, Damaged, NoSpace, UserProblem
from core.base.state_header import LEDGER_BYTES_MAX
from core.system.file_chunks import file_chunks
from core.training.states.checkpoint import Checkpoints
from core.training.states.state_image import state_image
from core.training.vectors.flat import FlatParameters
from core.workers.frames import FRAME_BYTES_MAX, Loaded, encode_frame
from tests.unit.training.small import SmallTask

MANIFEST = digest(b"manifest")
LINEAGES = [digest(bytes([n])) for n in range(9)]
MARKS = LINEAGES[6][:8] + LINEAGES[5][:8]


class Place:
    def __init__(self, folder: Path, *, seed: int = 0, manifest: bytes = MANIFEST) -> None:
        self.folder = folder
        self.flat = FlatParameters(SmallTask().model(seed))
        self.m = torch.rand(self.flat.numel)
        self.v = torch.rand(self.flat.numel)
        state = {"m": self.m, "v": self.v}
        self.files = Checkpoints(folder, manifest=manifest, parameters=self.flat, state=state)

    def numbers(self) -> torch.Tensor:
        return torch.stack([self.flat.values_N, self.m, self.v]).clone()

    def names(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())


def test_round_trip_with_name_and_digest(tmp_path: Path) -> None:
    one, two = Place(tmp_path), Place(tmp_path / "other", seed=4)
    saved = one.files.save(7, LINEAGES[7], ancestors=MARKS, ledger=b"who").result()
    assert saved.path.name == f"state-00000007-{LINEAGES[7].hex()[:8]}-{saved.digest.hex()[:32]}.safetensors"
    assert saved.digest == root_digest(chunk_digests(file_chunks(saved.path)))
    name = two.files.load(saved.path)
    assert (name.epoch, bytes.fromhex(name.lineage), bytes.fromhex(name.manifest)) == (7, LINEAGES[7], MANIFEST)
    assert torch.equal(one.numbers(), two.numbers())
    assert (bytes.fromhex(name.ancestors), name.ledger) == (MARKS, b"who")
    again = two.files.save(7, LINEAGES[7], ancestors=MARKS, ledger=b"who").result()
    assert again.path.read_bytes() == saved.path.read_bytes()


def test_the_file_is_plain_safetensors_with_parameters_by_name(tmp_path: Path) -> None:
    place = Place(tmp_path)
    tensors = load(place.files.save(1, LINEAGES[1]).result().path.read_bytes())
    assert torch.equal(tensors["parameters/0.weight"].flatten(), place.flat.values_N[:96])
    assert {key.split("/")[0] for key in tensors} == {"parameters", "m", "v"}


def test_tensors_of_any_shape_and_type_round_trip_by_name(tmp_path: Path) -> None:
    """As an optimiser with eight bits a number would keep them: codes for each number, a scale for each block."""
    flat = FlatParameters(SmallTask().model(0))
    codes, scales = torch.randint(256, (flat.numel,), dtype=torch.uint8), torch.rand(3)
    kept = Checkpoints(tmp_path, manifest=MANIFEST, parameters=flat, state={"m": codes, "m_scale": scales})
    path = kept.save(1, LINEAGES[1]).result().path
    assert {"m_scale", "m/0.weight", "m/0.bias"} <= load(path.read_bytes()).keys()
    state = {"m": torch.zeros_like(codes), "m_scale": torch.zeros_like(scales)}
    Checkpoints(tmp_path / "other", manifest=MANIFEST, parameters=flat, state=state).load(path)
    assert torch.equal(state["m"], codes)
    assert torch.equal(state["m_scale"], scales)


def test_file_has_the_bytes_that_the_library_gives(tmp_path: Path) -> None:
    """Equal states have equal files, also those of versions that let the library write them."""
    tensors = {
        "b": torch.rand(3, 2),
        "a/1": torch.randint(256, (5,), dtype=torch.uint8),
        "é": torch.rand(7).half(),
        "a/0": torch.rand(1, 4).bfloat16(),
        "z": torch.arange(3),
        "y": torch.rand(2, dtype=torch.float64),
        "x": torch.arange(3, dtype=torch.int8),
        "w": torch.arange(3, dtype=torch.int16),
        "v": torch.arange(3, dtype=torch.int32),
        "single": torch.tensor(0.5),
    }
    metadata = {"potluck": json.dumps({"quoted": '"', "control": "\n\t", "letters": "é"})}
    assert state_image(tensors, metadata) == save(tensors, metadata=metadata)
    flat = state_image({"t": torch.arange(6.0).view(2, 3).T.contiguous()}, metadata)
    assert torch.equal(load(bytes(flat))["t"], torch.arange(6.0).view(2, 3).T)


def test_state_is_saved_as_it_was_when_asked(tmp_path: Path) -> None:
    place = Place(tmp_path)
    before = place.numbers()
    saving = place.files.save(1, LINEAGES[1])
    place.flat.values_N.add_(1)
    place.m.zero_()
    other = Place(tmp_path / "other", seed=1)
    other.files.load(saving.result().path)
    assert torch.equal(other.numbers(), before)
    assert saving.result().digest == digest(saving.result().chunks)


def test_states_are_written_one_after_the_other(tmp_path: Path) -> None:
    place = Place(tmp_path)
    first = place.files.save(1, LINEAGES[1])
    second = place.files.save(2, LINEAGES[2])
    assert first.done(), "at most one is on its way"
    assert [first.result().path, second.result().path] == sorted(tmp_path.iterdir())


def test_the_newest_two_are_kept(tmp_path: Path) -> None:
    place = Place(tmp_path)
    for epoch in range(5):
        place.files.save(epoch, LINEAGES[epoch]).result()
    assert [name[6:14] for name in place.names()] == ["00000003", "00000004"]


def test_abandoned_later_states_go_when_an_earlier_one_is_saved(tmp_path: Path) -> None:
    place = Place(tmp_path)
    for epoch in (3, 4):
        place.files.save(epoch, LINEAGES[epoch]).result()
    place.files.save(3, LINEAGES[8]).result()
    assert sorted(name[6:14] for name in place.names()) == ["00000003", "00000003"]
    found = Place(tmp_path).files.load_newest()
    assert found is not None
    assert bytes.fromhex(found[0].lineage) == LINEAGES[8]


@pytest.mark.parametrize("keep", [0, 1, 7, 8, 100, 2000])
def test_a_torn_file_is_set_aside(tmp_path: Path, keep: int) -> None:
    place = Place(tmp_path)
    place.files.save(1, LINEAGES[1]).result()
    path = place.files.save(2, LINEAGES[2]).result().path
    path.write_bytes(path.read_bytes()[:keep])
    again = Place(tmp_path, seed=3)
    found = again.files.load_newest()
    assert found is not None
    assert found[0].epoch == 1
    assert [damaged.name.rpartition("-")[0] for damaged in again.files.damaged] == [f"{path.name}.damaged"]
    assert len(again.files.damaged[0].read_bytes()) == keep


def test_state_of_an_impossible_epoch_is_set_aside(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.files.save(1, LINEAGES[1]).result()
    place.files.save(EPOCH_MAX + 1, LINEAGES[2]).result()
    found = place.files.load_newest()
    assert found is not None
    assert found[0].epoch == 1
    assert len(place.files.damaged) == 1


def test_all_files_damaged_means_none(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.files.save(1, LINEAGES[1]).result().path.write_bytes(b"nothing")
    again = Place(tmp_path)
    before = again.numbers()
    assert again.files.load_newest() is None
    assert torch.equal(again.numbers(), before)
    assert all(".damaged-" in name for name in place.names())
    assert Place(tmp_path / "absent").files.load_newest() is None


def test_file_that_fits_no_frame_is_refused(tmp_path: Path) -> None:
    """A stranger's file becomes our own: what its header says has to reach the engine at every start."""
    place = Place(tmp_path)
    wrong = ["ancestors", "lineage", "manifest"]
    for field, said in [*((field, "00" * 200_000) for field in wrong), ("ancestors", "00" * 12)]:
        data = place.files.save(2, LINEAGES[2]).result().path.read_bytes()
        length = int.from_bytes(data[:8], "little")
        head = json.loads(data[8 : 8 + length])
        head["__metadata__"]["potluck"] = json.dumps({**json.loads(head["__metadata__"]["potluck"]), field: said})
        longer = json.dumps(head).encode()
        path = tmp_path / "given"
        path.write_bytes(len(longer).to_bytes(8, "little") + longer + data[8 + length :])
        with pytest.raises(Damaged):
            place.files.load(path, wanted=(2, LINEAGES[2]))


def test_what_a_killed_process_left_half_written_is_removed(tmp_path: Path) -> None:
    place = Place(tmp_path)
    kept = place.files.save(1, LINEAGES[1]).result().path
    ended = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    torn = tmp_path / f".{kept.name}.{int(ended.stdout)}-0123456789ab"
    torn.write_bytes(b"half")
    (tmp_path / "letter.txt").write_text("somebody's")
    assert Place(tmp_path).files.load_newest() is not None
    assert place.names() == sorted(["letter.txt", kept.name])


def changed(place: Place, how) -> Path:
    data = place.files.save(2, LINEAGES[2]).result().path.read_bytes()
    tensors = load(data)
    length = int.from_bytes(data[:8], "little")
    metadata = dict(json.loads(data[8 : 8 + length])["__metadata__"])
    how(tensors, metadata)
    path = place.folder / "changed.safetensors"
    path.write_bytes(save(tensors, metadata=metadata))
    return path


@pytest.mark.parametrize(
    "how",
    [
        lambda t, m: t.pop("m/0.bias"),
        lambda t, m: t.update(extra=torch.zeros(1)),
        lambda t, m: t.update({"v/0.bias": t["v/0.bias"].half()}),
        lambda t, m: t.update({"v/0.bias": t["v/0.bias"][:3]}),
        lambda t, m: t["v/0.bias"].fill_(float("nan")),
        lambda t, m: m.clear(),
        lambda t, m: m.update(potluck="[]"),
        lambda t, m: m.update(potluck=m["potluck"].replace('"epoch": 2', '"epoch": -2')),
        lambda t, m: m.update(potluck=m["potluck"].replace(LINEAGES[2].hex(), "xyz")),
    ],
)
def test_file_that_is_not_this_models_state_changes_nothing(tmp_path: Path, how) -> None:
    path = changed(Place(tmp_path), how)
    other = Place(tmp_path / "other", seed=2)
    before = other.numbers()
    with pytest.raises(Damaged):
        other.files.load(path)
    assert torch.equal(other.numbers(), before)


def test_each_bit_that_the_disk_has_flipped_is_noticed(tmp_path: Path) -> None:
    place, chance = Place(tmp_path), Random(5)
    for _ in range(200):
        path = place.files.save(1, LINEAGES[1]).result().path
        data = bytearray(path.read_bytes())
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        path.write_bytes(data)
        again = Place(tmp_path, seed=3)
        before = again.numbers()
        assert again.files.load_newest() is None
        assert len(again.files.damaged) == 1
        assert torch.equal(again.numbers(), before)


def test_checkpoints_of_an_earlier_version_are_loaded(tmp_path: Path) -> None:
    place = Place(tmp_path)
    path = place.files.save(1, LINEAGES[1]).result().path
    path.rename(tmp_path / f"state-00000001-{LINEAGES[1].hex()[:8]}.safetensors")
    assert Place(tmp_path, seed=3).files.load_newest() is not None


def newer(tmp_path: Path, fields: str) -> Place:
    place = Place(tmp_path)
    path = changed(place, lambda t, m: m.update(potluck=m["potluck"].replace('"format": 2', fields)))
    for old in tmp_path.glob("state-*"):
        old.unlink()
    path.rename(tmp_path / f"state-00000002-{LINEAGES[2].hex()[:8]}.safetensors")
    return place


@pytest.mark.parametrize("fields", ['"format": 3', '"format": 2, "more": ' + "[" * 5000 + "]" * 5000])
def test_a_stranger_gets_no_further_with_a_newer_format(tmp_path: Path, fields: str) -> None:
    place = newer(tmp_path, fields)
    [path] = tmp_path.glob("state-*")
    with pytest.raises(Damaged):
        place.files.load(path, wanted=(2, LINEAGES[2]))


def test_fields_of_a_newer_version_are_ignored(tmp_path: Path) -> None:
    assert newer(tmp_path, '"mood": "good"').files.load_newest() is not None


def test_ledger_too_large_for_a_frame_is_refused(tmp_path: Path) -> None:
    """The worker could not tell the engine of that state, neither now nor after a restart."""
    place = Place(tmp_path)
    path = place.files.save(2, LINEAGES[2], ledger=bytes(LEDGER_BYTES_MAX)).result().path
    told = Loaded(epoch=2, lineage=b"", digest=b"", checkpoint="c" * 5000, ledger=bytes(LEDGER_BYTES_MAX))
    assert len(encode_frame(told)) < FRAME_BYTES_MAX
    place.files.load(path, wanted=(2, LINEAGES[2]))
    larger = place.files.save(2, LINEAGES[2], ledger=bytes(LEDGER_BYTES_MAX + 1)).result().path
    with pytest.raises(Damaged):
        place.files.load(larger, wanted=(2, LINEAGES[2]))


def test_a_newer_format_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    place = newer(tmp_path, '"format": 3')
    names, before = place.names(), place.numbers()
    with pytest.raises(BadInput, match="newer version"):
        place.files.load_newest()
    assert place.names() == names
    assert torch.equal(place.numbers(), before)


def test_a_state_of_another_collaboration_is_refused(tmp_path: Path) -> None:
    path = Place(tmp_path, manifest=digest(b"another")).files.save(1, LINEAGES[1]).result().path
    with pytest.raises(Damaged, match="another collaboration"):
        Place(tmp_path / "own").files.load(path)


def test_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(tmp_path)
    place.files.save(1, LINEAGES[1]).result()
    place.files.save(2, LINEAGES[2]).result()
    names = place.names()

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(NoSpace, match="disk is full"):
        place.files.save(3, LINEAGES[3]).result()
    assert place.names() == names


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("place", [0, -1])
def test_one_number_makes_a_state_not_finite(tmp_path: Path, number: float, place: int) -> None:
    held = Place(tmp_path)
    assert held.files.is_finite
    for tensor_N in (held.flat.values_N, held.m, held.v):
        before = tensor_N[place].item()
        tensor_N[place] = number
        assert not held.files.is_finite
        tensor_N[place] = before
    assert held.files.is_finite


def test_lack_of_files_sets_no_checkpoint_aside(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    place = Place(tmp_path)
    place.files.save(1, LINEAGES[1]).result()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with Path(os.devnull).open() as spare:
        lowest = os.dup(spare.fileno())
        os.close(lowest)
        again = Place(tmp_path, seed=3)
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + 1, hard))
        try:
            with pytest.raises(UserProblem, match="may not open any more files"):
                again.files.load_newest()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert again.files.damaged == []
    assert len(place.names()) == 1
