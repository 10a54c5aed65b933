"""A model with experts is written as one folder, and gives what flights give with the same experts."""

import json

import pytest
import torch
from safetensors.torch import save_file

from core.base.manifest import Manifest
from core.base.mixture import ExpertNumbers
from core.base.problems import BadInput, Damaged
from core.tasks.experts.whole import load_whole
from core.tasks.parameters import PREFIX
from core.training.experts.bank import ExpertBank
from core.training.flights.calls import LocalExperts
from core.training.programs.mixture_export import exported
from core.workers.expert_files import expert_files
from tests.unit.training.mixtures import World, batches_of, small_digits

NUMBERS = ExpertNumbers(layers=2, grid=(2, 3), live=5, top=2, spare=0, width=8, factor=1, codec="raw", step_rows=8)
MANIFEST = Manifest(
    name="n",
    organiser="o",
    task="digits",
    authority="ab" * 32,
    target_samples=100,
    numbers={"pixels": 16, "micro_batch": 16, "held_out": 64},
    experts=NUMBERS,
)
PLACES = [(number // 3, number % 3) for number in range(NUMBERS.live)]


def trained(folder):
    """A trunk and experts that have learned, with the files that a worker and a host keep of them."""

    def local(numbers):
        return LocalExperts(numbers, bytes(32), device="cpu", clock=lambda: 0.0)

    world = World(NUMBERS, iter(batches_of(small_digits(NUMBERS), 30, rows=16, seed=1)), carried=local)
    world.run()
    bank = ExpertBank(NUMBERS, run=MANIFEST.id, folder=folder / "experts", device="cpu", memory_bytes=10**9)
    for layer in range(NUMBERS.layers):
        for number, place in enumerate(PLACES):
            own = world.experts.expert(layer, number)
            halves = {name: tensor.half().float() for name, tensor in own.tensors().items()}
            own.set_to(halves, own.version)
            bank.take((layer, place), None).set_to(halves, own.version)
            bank.save((layer, place))
    state = {f"{PREFIX}{name}": tensor for name, tensor in world.trunk.state_dict().items()}
    save_file(state, folder / "state.safetensors")
    return world


def written(folder, world, experts="experts", *, incomplete=False):
    out = folder / "out"
    out.mkdir(exist_ok=True)
    where = {"experts": folder / experts, "out": out, "incomplete": incomplete}
    return exported(folder / "state.safetensors", world.task, MANIFEST, **where), out


def measured(world):
    world.flights.measure()
    world.run()
    return world.flights.measured


def test_exported_model_gives_what_flights_give(tmp_path):
    world = trained(tmp_path)
    assert all(one.version > 0 for one in world.experts.all)
    done, out = written(tmp_path, world)
    flown = measured(world)
    assert done.loss == pytest.approx(flown.score.loss, abs=1e-6)
    assert (done.experts, done.places, done.missing) == (10, 10, [])
    model = load_whole(out)
    images = torch.cat([batch.images_BN for batch in world.task.held_out])
    classes = torch.cat([batch.classes_B for batch in world.task.held_out])
    with torch.no_grad():
        scores = model(images)
    loss = torch.nn.functional.cross_entropy(scores, classes).item()
    assert loss == pytest.approx(flown.score.loss, abs=1e-6)
    trunk = sum(one.numel() for one in world.trunk.parameters())
    assert done.parameters == trunk + 10 * NUMBERS.expert_numel


def test_missing_experts_are_named_and_rows_go_to_the_others(tmp_path):
    world = trained(tmp_path)
    files = expert_files(tmp_path / "experts")
    files[0, (0, 1)][0].unlink()
    files[1, (1, 0)][0].write_bytes(b"damaged")
    done, out = written(tmp_path, world, incomplete=True)
    assert (done.experts, done.missing) == (8, ["1: 0-1", "2: 1-0"])
    assert json.loads((out / "config.json").read_text())["missing"] == [[0, 0, 1], [1, 1, 0]]
    assert [sorted(one) for one in load_whole(out).named] == [[0, 2, 3, 4], [0, 1, 2, 4]]


def test_export_without_an_expert_is_refused_before_it_is_measured(tmp_path, monkeypatch):
    """Measuring and writing take longest."""
    world = trained(tmp_path)
    expert_files(tmp_path / "experts")[0, (0, 1)][0].unlink()
    monkeypatch.setattr(type(world.task), "measured", None)
    with pytest.raises(BadInput, match=r"1 of 10 experts are missing \(layer: place\): 1: 0-1\.") as refused:
        written(tmp_path, world)
    assert "--incomplete" in refused.value.hint
    assert not list((tmp_path / "out").iterdir())


def test_layer_without_experts_is_refused(tmp_path):
    world = trained(tmp_path)
    for (layer, _), paths in expert_files(tmp_path / "experts").items():
        if layer == 1:
            paths[0].unlink()
    with pytest.raises(BadInput, match="Layer 2 has no expert"):
        written(tmp_path, world, incomplete=True)


def test_run_without_others_is_exported_from_its_own_file(tmp_path):
    world = trained(tmp_path)
    world.experts.save(tmp_path / "experts.safetensors")
    done, out = written(tmp_path, world, experts="experts.safetensors")
    assert done.loss == pytest.approx(measured(world).score.loss, abs=1e-6)
    (out / "experts-01.safetensors").write_bytes(b"torn")
    with pytest.raises(Damaged):
        load_whole(out)
