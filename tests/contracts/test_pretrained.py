"""What every task promises of models as `transformers` has them: the same scores on the way out, and on the way in."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from core.base.problems import BadInput
from core.base.recipe import Recipe
from core.base.tasks import MIXTURES, TASKS
from core.tasks import module_of, task_of
from core.tasks.parameters import START, read_parameters
from core.tasks.task import Blobs, PreparedTask
from core.tasks.text import GivenText, text_of
from core.training.programs.prepare import main as prepare_main
from tests.small_task import sources_in, text_folder
from tests.trained import Trained, founded, held_out, learner_of, trained

KEPT = {"held_out": 24, "micro_batch": 6}
"""Numbers of a recipe that no model fixes."""


@pytest.fixture(scope="module", params=[task for task in TASKS if task not in MIXTURES])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return trained(tmp_path_factory.mktemp(request.param), request.param, epochs=4)


@pytest.fixture(scope="module")
def folder(made: Trained, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An exported model."""
    out = tmp_path_factory.mktemp("exported")
    path = made.learner.state.saved.path
    made.task.pretrained(read_parameters(path, made.task.model(0), called="it")).save(out)
    return out


@pytest.fixture(scope="module")
def prepared(made: Trained, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> PreparedTask:
    """A collaboration that goes on from it, on a text with other frequencies."""
    out = tmp_path_factory.mktemp("prepared")
    source = text_folder(out / "text", seed=9, characters=90_000)
    return module_of(made.manifest.task).prepare_from(
        folder, dict(KEPT), text_of(sources_in(source)), out, progress=lambda *_: None
    )


def plain_loss(folder: str, batches: dict[str, np.ndarray]) -> float:
    from tests.process import plain_transformers  # takes seconds

    return plain_transformers.plain_loss(folder, batches)


def test_tasks_that_train_import_no_transformers() -> None:
    code = "import sys, core.training.__main__, core.tasks.albert.task, core.tasks.gpt; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "core.tasks.gpt" in done.stdout.split()
    assert "transformers" not in done.stdout.split()


def test_exporting_leaves_the_model_as_it_was(made: Trained) -> None:
    model = made.task.model(3)
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    first, second = (made.task.pretrained(model).network.state_dict() for _ in range(2))
    assert all(torch.equal(parameter, before[name]) for name, parameter in model.named_parameters())
    assert all(torch.equal(tensor, second[name]) for name, tensor in first.items())


def test_exported_model_has_the_loss_of_the_swarm(made: Trained, folder: Path) -> None:
    found = plain_loss(str(folder), held_out(made.manifest, made.task, made.home.blobs))
    assert found == pytest.approx(made.learner.evaluate().score.loss, abs=1e-4)


def test_tokenizer_of_an_export_cuts_text_as_training_does(made: Trained, folder: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    arrays = held_out(made.manifest, made.task, made.home.blobs)
    if made.manifest.task == "gpt":
        row = arrays["rows"][0].tolist()
        found = tokenizer(tokenizer.decode(row))
        assert found["input_ids"] == row
        assert set(found) == {"input_ids", "attention_mask"}
        return
    plain = tokenizer("bread soup bowl")["input_ids"]
    masked = tokenizer("bread [MASK] bowl")["input_ids"]
    assert plain[0] == masked[0] == tokenizer.cls_token_id
    assert masked.count(tokenizer.mask_token_id) == 1
    place = masked.index(tokenizer.mask_token_id)
    assert masked[:place] == tokenizer("bread")["input_ids"][:-1]
    assert masked[place + 1 :] == plain[len(plain) - len(masked[place + 1 :]) :]


def test_imported_model_has_the_loss_that_it_had(
    made: Trained, folder: Path, prepared: PreparedTask, tmp_path: Path
) -> None:
    manifest, task = founded(prepared, tmp_path / "blobs", made.manifest.task)
    learner = learner_of(manifest, task, tmp_path / "states")
    found = learner.evaluate().score.loss
    assert found == pytest.approx(plain_loss(str(folder), held_out(manifest, task, tmp_path / "blobs")), abs=1e-4)
    assert learner.state.epoch == 0
    assert KEPT.items() <= manifest.numbers.items()
    assert len(learner.evaluate().baselines) == 2
    without = msgspec.structs.replace(manifest, blobs={n: b for n, b in manifest.blobs.items() if n != START})
    plain = task_of(without, Blobs(tmp_path / "blobs", without.blobs))
    assert abs(plain.evaluate(plain.model(0)).score.loss - found) > 0.001  # ten times what counts as equal above


def test_peers_that_import_begin_with_equal_bits(made: Trained, prepared: PreparedTask, tmp_path: Path) -> None:
    digests = []
    for seed in range(2):
        torch.manual_seed(seed)
        manifest, task = founded(prepared, tmp_path / "blobs", made.manifest.task)
        digests.append(learner_of(manifest, task, tmp_path / f"states-{seed}").state.saved.digest)
    assert digests[0] == digests[1]


def test_changed_or_long_start_is_refused(made: Trained, prepared: PreparedTask, tmp_path: Path) -> None:
    manifest, task = founded(prepared, tmp_path, made.manifest.task)
    path = tmp_path / manifest.blobs[START]
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(BadInput, match="'start' is damaged"):
        task.model(0)
    with path.open("ab") as file:
        file.truncate(100_000_000)
    with pytest.raises(BadInput, match="'start' is damaged"):
        task.model(0)
    path.unlink()
    with pytest.raises(BadInput, match="'start' cannot be read"):
        task.model(0)


def narrower(tensors: dict[str, torch.Tensor]) -> None:
    name = max(tensors)
    tensors[name] = tensors[name][..., :-1].contiguous()


def renamed(tensors: dict[str, torch.Tensor]) -> None:
    tensors["parameters/other"] = tensors.pop(max(tensors))


def half(tensors: dict[str, torch.Tensor]) -> None:
    tensors[max(tensors)] = tensors[max(tensors)].half()


def infinite(tensors: dict[str, torch.Tensor]) -> None:
    tensors[max(tensors)].view(-1)[0] = torch.inf


@pytest.mark.parametrize("change", [narrower, renamed, half, infinite])
def test_start_of_another_model_is_refused(
    made: Trained, prepared: PreparedTask, tmp_path: Path, change: Callable[[dict[str, torch.Tensor]], None]
) -> None:
    tensors = load_file(prepared.blobs[START])
    change(tensors)
    save_file(tensors, tmp_path / "other.safetensors")
    changed = {**prepared.blobs, START: tmp_path / "other.safetensors"}
    _, task = founded(replace(prepared, blobs=changed), tmp_path / "b", made.manifest.task)
    with pytest.raises(BadInput, match="is of another model"):
        task.model(0)


def refused(made: Trained, folder: Path, match: str) -> None:
    module, out = module_of(made.manifest.task), folder.parent / "out"
    text = text_of(sources_in(made.home.directory.parent / "task" / "text"))
    with pytest.raises(BadInput, match=match):
        module.prepare_from(folder, {}, text, out, progress=lambda *_: None)


CHANGES: dict[str, tuple[dict[str, object], str]] = {
    "kind": ({"model_type": "bert"}, "of the kind 'bert'"),
    "width": ({"hidden_size": 48, "n_embd": 48}, "cannot be read"),
    "activation": ({"hidden_act": "relu", "activation_function": "relu"}, "differs from this task's"),
    "bounds": ({"num_hidden_layers": 1000, "n_layer": 1000, "num_hidden_groups": 1}, "do not fit|lacks parameters"),
}


@pytest.mark.parametrize("what", list(CHANGES))
def test_folder_with_another_configuration_is_refused(made: Trained, folder: Path, tmp_path: Path, what: str) -> None:
    shutil.copytree(folder, tmp_path / "x")
    path = tmp_path / "x" / "config.json"
    change, sentence = CHANGES[what]
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    refused(made, tmp_path / "x", sentence)


def test_folder_without_whole_model_is_refused(made: Trained, folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "x")
    model = tmp_path / "x" / "model.safetensors"
    tensors = load_file(model)
    tensors.pop(next(name for name in tensors if "word_embeddings" in name or "wpe" in name))
    save_file(tensors, model, metadata={"format": "pt"})
    refused(made, tmp_path / "x", "lacks parameters")
    model.write_bytes(b"torn")
    refused(made, tmp_path / "x", "cannot be read")
    refused(made, tmp_path / "absent", "cannot be read")


def test_folder_with_another_vocabulary_is_refused(made: Trained, folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "x")
    path = tmp_path / "x" / "tokenizer.json"
    tokenizer = json.loads(path.read_text())
    vocabulary = tokenizer["model"]["vocab"]
    vocabulary.pop() if isinstance(vocabulary, list) else vocabulary.popitem()
    path.write_text(json.dumps(tokenizer))
    refused(made, tmp_path / "x", "vocabulary is not letters|knows .* pieces")


def test_program_prepares_from_a_model(
    made: Trained, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = str(text_folder(tmp_path / "text"))
    recipe = Recipe(name="x", task=made.manifest.task, text=text, target_samples=64, optimizer=made.manifest.optimizer)
    words = ["--recipe", msgspec.json.encode(recipe).decode(), "--out", str(tmp_path), "--start", str(folder)]
    assert prepare_main(words) == 0
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert Path(said["blobs"][START]).is_file()


def test_start_keeps_its_own_tokenizer(made: Trained, folder: Path, tmp_path: Path) -> None:
    if made.manifest.task != "albert":
        pytest.skip("it has no tokenizers to choose from")
    prepare_from = module_of("albert").prepare_from

    def text(tokenizer: str) -> GivenText:
        return text_of(sources_in(text_folder(tmp_path / "text")), tokenizer=tokenizer)

    paper = dict(KEPT, init="paper")
    done = prepare_from(folder, paper, text("albert"), tmp_path / "out", progress=lambda *_: None)
    assert "The model has its tokenizer" in done.notes[0]
    manifest, task = founded(done, tmp_path / "blobs", "albert")
    found = task.evaluate(task.model(0)).score.loss
    assert found == pytest.approx(plain_loss(str(folder), held_out(manifest, task, tmp_path / "blobs")), abs=1e-4)
    with pytest.raises(BadInput, match="has its tokenizer"):
        prepare_from(folder, {}, text("/some/file.json"), tmp_path / "x", progress=lambda *_: None)
