"""What every task must do, with what it prepares itself from a folder of text.  A new task: one line in `TASKS`."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import torch

import resources
from core.base.content import digest
from core.base.manifest import Manifest, read_manifest, sign_manifest
from core.base.problems import BadInput
from core.base.recipe import Recipe
from core.base.signing import Ed25519Verifier, KeyPair
from core.base.tasks import BLANKS, MIXTURES, TASKS
from core.reading.rows import open_cutter
from core.storage.recipes import open_recipe
from core.tasks import module_of, task_of
from core.tasks.task import Blobs, PreparedTask, Task
from core.tasks.text import text_of
from core.text.order.chance import key_of, stream
from core.training.learner import Learner
from core.training.optimizers import optimizer_of
from core.training.programs.prepare import main as prepare_main
from core.training.vectors.flat import FlatParameters
from tests.contracts.bounds import unbounded
from tests.small_task import sources_in, text_folder
from tests.unit.training.given_samples import GivenSamples, text_batches, text_rows
from tests.unit.training.small import ticking

NAMES = tuple(task for task in TASKS if task not in MIXTURES)
RECIPES = {"albert": "first-words", "gpt": "small-gpt"}
"""A recipe that comes along for each task, and suits a few computers."""
KEY = KeyPair(b"k" * 32)
SAMPLES = 96
"""Samples of one step in these tests."""


@dataclass(frozen=True)
class Founded:
    """A task as an organiser has prepared it."""

    name: str
    source: Path
    prepared: PreparedTask
    folder: Path
    """Folder of the blobs, named by their digests."""

    @property
    def manifest(self) -> Manifest:
        blobs = {name: digest(path.read_bytes()).hex() for name, path in self.prepared.blobs.items()}
        return Manifest(
            name="test",
            organiser="test",
            task=self.name,
            numbers=self.prepared.numbers,
            data=sources_in(self.source),
            blobs=blobs,
            optimizer=recipe_of(self.name).epochs_optimizer,
            authority=KEY.peer_id.hex(),
        )

    def open(self, **numbers: object) -> Task:
        manifest = msgspec.structs.replace(self.manifest, numbers=self.prepared.numbers | numbers)
        return task_of(manifest, Blobs(self.folder, manifest.blobs))

    def rows(self) -> np.ndarray:
        """What the cutter makes of the text."""
        return text_rows(self.manifest, Blobs(self.folder, self.manifest.blobs))

    def batches(self, seed: int) -> Iterator[Any]:
        return text_batches(self.manifest, Blobs(self.folder, self.manifest.blobs), seed)


def recipe_of(task: str, **changes: object) -> Recipe:
    recipe = open_recipe(resources.file("recipes", f"{RECIPES[task]}.toml"))
    return msgspec.structs.replace(recipe, **changes)


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """As the worker has it; several threads only wait for each other where models are small."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module", params=NAMES)
def founded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Founded:
    folder = tmp_path_factory.mktemp(request.param)
    source = text_folder(folder / "text")
    text = text_of(sources_in(source))
    prepared = module_of(request.param).prepare({}, text, folder / "out", progress=lambda *_: None)
    for path in prepared.blobs.values():
        (folder / digest(path.read_bytes()).hex()).write_bytes(path.read_bytes())
    return Founded(request.param, source, prepared, folder)


@pytest.fixture(scope="module")
def task(founded: Founded) -> Task:
    return founded.open()


def values(model: torch.nn.Module) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def test_a_manifest_can_hold_what_was_prepared(founded: Founded) -> None:
    manifest = founded.manifest
    assert read_manifest(sign_manifest(manifest, KEY), Ed25519Verifier()) == manifest


def test_numbers_name_nothing_on_a_computer(founded: Founded) -> None:
    """A volunteer's engine asks before a manifest reads a folder, and looks at its sources only."""
    assert not any("/" in number for number in founded.prepared.numbers.values() if isinstance(number, str))
    assert str(founded.source) not in msgspec.json.encode(founded.prepared.numbers).decode()


def test_a_model_follows_from_its_seed_alone(task: Task) -> None:
    torch.manual_seed(1)
    one = values(task.model(1))
    torch.manual_seed(2)
    assert torch.equal(one, values(task.model(1)))
    assert not torch.equal(one, values(task.model(2)))
    assert one.dtype == torch.float32
    assert torch.isfinite(one).all()


def test_samples_are_the_same_in_every_batch(founded: Founded, task: Task) -> None:
    """The objective is a mean over samples: that of each alone, and of any two halves, gives that of the batch."""
    rows = founded.rows()[:12]
    seeds = stream(key_of(b"test"), np.arange(12))
    model = task.model(3)

    def objective(chosen: list[int]) -> float:
        with torch.no_grad():
            return task.loss(model, task.batch(rows[chosen], seeds[chosen])).objective.item()

    whole = objective(list(range(12)))
    assert np.mean([objective([number]) for number in range(12)]) == pytest.approx(whole, rel=1e-5)
    assert (objective([9, 3, 5, 11, 0, 7]) + objective([1, 2, 4, 6, 8, 10])) / 2 == pytest.approx(whole, rel=1e-5)


def test_cutter_makes_rows_of_the_width_it_tells(founded: Founded) -> None:
    cutter = open_cutter(founded.manifest, Blobs(founded.folder, founded.manifest.blobs))
    rows = founded.rows()
    assert rows.shape[1] == cutter.width
    assert rows.max() <= cutter.numbers_max
    assert cutter.tokens == founded.open().sample_tokens
    assert np.array_equal(rows, founded.rows())


def test_the_objective_reaches_every_parameter(founded: Founded, task: Task) -> None:
    model = task.model(0)
    found = task.loss(model, next(founded.batches(0)))
    assert found.objective.shape == found.reported.shape == ()
    assert not found.reported.requires_grad
    found.objective.backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
    gradients = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
    assert torch.isfinite(gradients).all()
    assert gradients.any()


def test_evaluation_is_the_same_for_everybody(founded: Founded, task: Task) -> None:
    model, other = task.model(7), founded.open()
    torch.manual_seed(1)
    found = task.evaluate(model)
    torch.manual_seed(2)
    assert task.evaluate(model) == found == other.evaluate(other.model(7))
    assert found.baselines
    assert (founded.manifest.task in BLANKS) == (task.guesses == "blanks")
    for score in (found.score, *found.baselines.values()):
        assert 0 < score.loss < 100
        assert (score.right is None) == (not task.guesses)
        assert 0 <= (score.right or 0) <= 1
    assert other.evaluate(other.model(8)).baselines == found.baselines


def test_evaluation_leaves_the_model_as_it_was(task: Task) -> None:
    model = task.model(7)
    before = values(model)
    task.evaluate(model)
    assert torch.equal(values(model), before)
    assert all(parameter.grad is None for parameter in model.parameters())


def test_a_task_names_its_loss_and_its_baselines(task: Task) -> None:
    for words in (task.loss_name, task.loss_unit, task.guesses, *task.evaluate(task.model(0)).baselines):
        assert words.isprintable()
        assert len(words) <= 30
    assert task.loss_name


def test_the_recipe_of_the_task_teaches_it(founded: Founded, tmp_path: Path) -> None:
    learner = Learner(
        task=founded.open(),
        manifest=founded.manifest,
        states=tmp_path,
        samples=GivenSamples(0, founded.batches),
        devices=["cpu"],
        clock=ticking(),
    )
    before = learner.evaluate().score.loss
    for epoch in range(1, 6):
        while learner.samples < SAMPLES:
            assert learner.accumulate()
        learner.absorb(learner.hand_over(), epoch=epoch, lineage=digest(bytes([epoch])))
    assert learner.evaluate().score.loss < before - 0.05


def test_the_optimizer_of_the_task_is_known(founded: Founded, task: Task) -> None:
    optimizer_of(founded.manifest.optimizer, FlatParameters(task.model(0)))


def test_costs_are_those_of_the_real_model(founded: Founded, task: Task) -> None:
    """Parameters exactly; what is kept for the backward pass as autograd itself tells it."""
    model, batch = task.model(0), next(founded.batches(0))
    costs = module_of(founded.name).costs(founded.prepared.numbers)
    assert costs.parameters == sum(parameter.numel() for parameter in model.parameters())
    own = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    kept: dict[int, torch.Tensor] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.untyped_storage().data_ptr() not in own:
            kept[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        losses = task.loss(model, batch)
    assert losses.objective.requires_grad
    found = sum(tensor.untyped_storage().nbytes() for tensor in kept.values()) / batch.samples
    assert costs.activation_bytes == pytest.approx(found, rel=0.1)


def test_a_task_says_what_a_sample_keeps(founded: Founded, task: Task) -> None:
    assert task.sample_bytes == module_of(founded.name).costs(founded.prepared.numbers).activation_bytes


def test_every_number_has_both_bounds(task: Task) -> None:
    assert not unbounded(type(task.numbers))


@pytest.mark.parametrize("change", [{"tricks": 1}, {"micro_batch": 0}, {"micro_batch": 10**9}, {"micro_batch": "3"}])
def test_numbers_out_of_bounds_are_refused(founded: Founded, change: dict[str, object]) -> None:
    with pytest.raises(BadInput, match="do not fit the task"):
        founded.open(**change)


def test_missing_and_strange_blobs_are_refused(founded: Founded, tmp_path: Path) -> None:
    manifest = founded.manifest
    with pytest.raises(BadInput, match="cannot be read"):
        task_of(manifest, Blobs(tmp_path, manifest.blobs))
    with pytest.raises(BadInput, match="lacks"):
        task_of(manifest, Blobs(founded.folder, {}))
    for name in manifest.blobs:
        for data in (b'{"not": "ours"}', b"[[[", b"\xff", b"[1e999]", b"[-1]", b'{"a": -1}'):
            (tmp_path / digest(data).hex()).write_bytes(data)
            for path in manifest.blobs.values():
                (tmp_path / path).write_bytes((founded.folder / path).read_bytes())
            changed = msgspec.structs.replace(manifest, blobs=manifest.blobs | {name: digest(data).hex()})
            with pytest.raises(BadInput):
                task_of(changed, Blobs(tmp_path, changed.blobs))


def test_a_damaged_blob_is_refused(founded: Founded, tmp_path: Path) -> None:
    name, hexed = next(iter(founded.manifest.blobs.items()))
    (tmp_path / hexed).write_bytes(b"{}")
    with pytest.raises(BadInput, match="damaged"):
        Blobs(tmp_path, {name: hexed}).read(name)


def words(name: str, source: Path, folder: Path) -> list[str]:
    recipe = msgspec.json.encode(recipe_of(name, text=str(source))).decode()
    return ["--recipe", recipe, "--called", "my.toml", "--out", str(folder / "out")]


@pytest.mark.parametrize("name", NAMES)
def test_the_program_says_what_it_prepares(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = text_folder(tmp_path / "my text")
    assert prepare_main(words(name, source, tmp_path)) == 0
    *progress, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert progress
    assert all(line["event"] == "progress" and 0 <= line["fraction"] <= 1 for line in progress)
    assert last["event"] == "prepared"
    assert all(Path(path).is_file() for path in last["blobs"].values())
    assert last["summary"].endswith("in the texts in my text.")


@pytest.mark.parametrize("name", NAMES)
def test_too_little_text_is_a_sentence(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_text("Not much.")
    assert prepare_main(words(name, tmp_path, tmp_path)) == 2
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (last["event"], last["code"]) == ("problem", "bad_input")
    assert "too little text" in last["message"]


def test_names_that_no_task_has_are_refused() -> None:
    manifest = Manifest(name="t", organiser="t", task="chess", authority="00" * 32)
    with pytest.raises(BadInput, match="'chess'"):
        task_of(manifest, Blobs(Path(), {}))
