"""A GPT with experts in the place of its feed-forward blocks: what it prepares, and what its trunk makes of letters."""

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from core.base.content import digest
from core.base.manifest import Manifest
from core.base.mixture import ExpertNumbers
from core.base.problems import BadInput
from core.cli.model.model_card import model_card
from core.experts.grid import ExpertGrid
from core.experts.messages import check_micro_batch
from core.ledger.ledger import Ledger
from core.reading.rows import open_cutter
from core.tasks import module_of, task_of
from core.tasks.experts.blocks import new_expert
from core.tasks.experts.whole import WholeMixture
from core.tasks.gpt_cutting import Alphabet
from core.tasks.gpt_experts import costs
from core.tasks.parameters import PREFIX
from core.tasks.task import Blobs
from core.tasks.text import text_of
from core.training.programs.mixture_export import exported
from tests.small_task import sources_in, text_folder
from tests.unit.training.given_samples import text_rows
from tests.unit.training.mixtures import World, whole_graph

EXPERTS = ExpertNumbers(
    layers=2, grid=(3, 3), live=8, top=2, spare=0, width=16, factor=1, codec="raw", step_rows=65_536, balance=0.1
)
NUMBERS = {"length": 12, "heads": 2, "head_width": 8, "layers": 2, "micro_batch": 4, "held_out": 10}


@pytest.fixture(scope="module")
def founded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Manifest, Blobs]:
    folder = tmp_path_factory.mktemp("letters")
    sources = sources_in(text_folder(folder / "text"))
    module = module_of("gpt-experts")
    prepared = module.prepare(NUMBERS, text_of(sources), folder / "out", progress=lambda *_: None)
    for path in prepared.blobs.values():
        (folder / digest(path.read_bytes()).hex()).write_bytes(path.read_bytes())
    blobs = {name: digest(path.read_bytes()).hex() for name, path in prepared.blobs.items()}
    manifest = Manifest(name="t", organiser="t", task="gpt-experts", experts=EXPERTS, authority="00" * 32)
    manifest = msgspec.structs.replace(manifest, numbers=prepared.numbers, blobs=blobs, data=sources)
    return manifest, Blobs(folder, blobs)


def test_a_prepared_task_opens_and_measures(founded: tuple[Manifest, Blobs]) -> None:
    manifest, blobs = founded
    task = task_of(manifest, blobs)
    model = task.model(1)
    found = task.evaluate(model)
    assert found.score.loss == pytest.approx(found.baselines["letter frequencies"].loss, abs=0.3)
    assert "the letter before" in found.baselines
    assert costs(manifest.numbers, EXPERTS).parameters == sum(one.numel() for one in model.parameters())
    assert torch.equal(task.model(1).head.weight, model.head.weight)
    assert open_cutter(manifest, blobs).width == 13
    assert [batch.samples for batch in task.held_out] == [4, 4, 2]


def test_a_letter_is_told_nothing_of_those_after_it(founded: tuple[Manifest, Blobs]) -> None:
    trunk = task_of(*founded).model(3)
    grid = ExpertGrid(EXPERTS.grid, EXPERTS.live)
    experts = {
        (layer, grid.place(number)): new_expert("ffn", width=16, factor=1, seed=100 * layer + number)
        for layer in range(EXPERTS.layers)
        for number in range(EXPERTS.live)
    }
    whole = WholeMixture(trunk, EXPERTS, experts)
    letters = torch.randint(0, 20, (3, 12), generator=torch.Generator().manual_seed(1))
    changed = letters.clone()
    changed[:, 7:] = (changed[:, 7:] + 5) % 20
    with torch.no_grad():
        before, after = whole(letters), whole(changed)
    assert torch.allclose(before[:, :7], after[:, :7], atol=1e-6)
    assert not torch.allclose(before[:, 7:], after[:, 7:], atol=1e-3)


def test_exported_model_goes_on_with_a_text(
    founded: tuple[Manifest, Blobs], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which number is which letter follows from the text, so nobody could ask it anything without its letters."""
    manifest, blobs = founded
    task = task_of(manifest, blobs)
    trunk = {f"{PREFIX}{name}": value for name, value in task.model(3).state_dict().items()}
    save_file(trunk, tmp_path / "state.safetensors")
    (tmp_path / "out").mkdir()
    blocks = [new_expert("ffn", width=16, factor=1, seed=n).state_dict() for n in range(2 * EXPERTS.live)]
    named = {f"{n // EXPERTS.live}.{n % EXPERTS.live}": block for n, block in enumerate(blocks)}
    tensors = {f"{own}.{name}": value for own, block in named.items() for name, value in block.items()}
    save_file(tensors, tmp_path / "experts.safetensors", dict.fromkeys(named, "0"))
    state, experts = tmp_path / "state.safetensors", tmp_path / "experts.safetensors"
    done = exported(state, task, manifest, experts=experts, out=tmp_path / "out", incomplete=False)
    letters = json.loads((tmp_path / "out" / "config.json").read_text())["letters"]
    held_out = task.held_out[0].rows[0]
    said = Alphabet(letters, len(letters)).text_of(held_out.numpy())
    assert said in "".join(sentence for document in blobs.decode("held_out", list[list[str]]) for sentence in document)
    told = {**msgspec.to_builtins(done), "live": None, "now": 0.0}
    card = model_card(manifest, epoch=1, ledger=Ledger(), thanked=[], exported=told, address=str(tmp_path / "out"))
    capsys.readouterr()
    exec(card.partition("```python\n")[2].partition("\n```")[0], {})  # as a person pastes it
    written = capsys.readouterr().out.removesuffix("\n")
    assert written.startswith("People bring their ")
    assert len(written) > 100
    assert set(written[100:]) <= {letter for name in letters for letter in name}


@pytest.mark.parametrize("seed", range(3))
def test_flights_give_the_gradients_of_one_graph(founded: tuple[Manifest, Blobs], seed: int) -> None:
    manifest, blobs = founded
    task = task_of(manifest, blobs)
    world = World(EXPERTS, iter(()), seed=seed, task=task)
    rows = text_rows(manifest, blobs)[seed : seed + 3]
    batch = task.batch(rows, np.zeros(len(rows), np.uint64))
    of_trunk, of_experts = whole_graph(world, batch)
    world.field.batches = iter([batch])
    world.run()
    ((_, _, found_N),) = world.field.landed
    assert (found_N - of_trunk).abs().max() <= 1e-5 * max(1.0, of_trunk.abs().max().item())
    for (layer, place), wanted in of_experts.items():
        own = world.experts.block(layer, place).parameters()
        for parameter, gradient in zip(own, wanted, strict=True):
            assert (parameter.grad - gradient).abs().max() <= 1e-5 * max(1.0, gradient.abs().max().item())


@pytest.mark.parametrize("change", [{"width": 24}, {"layers": 3}])
def test_tables_that_disagree_are_a_sentence(founded: tuple[Manifest, Blobs], change: dict[str, int]) -> None:
    manifest, blobs = founded
    other = msgspec.structs.replace(manifest, experts=msgspec.structs.replace(EXPERTS, **change))
    with pytest.raises(BadInput, match="must have width 16 and 2 layers"):
        task_of(other, blobs)


def test_all_letters_of_a_batch_fit_one_call(founded: tuple[Manifest, Blobs]) -> None:
    manifest, blobs = founded
    large = msgspec.structs.replace(manifest, numbers={**manifest.numbers, "micro_batch": 4096 // 12 + 1})
    with pytest.raises(BadInput, match="micro_batch must be at most 341"):
        task_of(large, blobs)


def test_sample_that_fits_no_call_is_told_what_would() -> None:
    """No number of samples is small enough, so micro_batch is not what has to change."""
    wide = msgspec.structs.replace(EXPERTS, width=1024, codec="raw")
    with pytest.raises(BadInput, match=r"A sample is too large: .* 8\.39 MB, and carries at most 2\.09 MB") as refused:
        check_micro_batch(wide, micro_batch=1, rows=1024)
    assert "smaller width or length" in refused.value.hint


def test_task_without_experts_is_refused(founded: tuple[Manifest, Blobs]) -> None:
    manifest, blobs = founded
    with pytest.raises(BadInput, match="The task gpt-experts needs a table"):
        task_of(msgspec.structs.replace(manifest, experts=msgspec.UNSET), blobs)
