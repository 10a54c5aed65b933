"""A hosted expert is what a plain torch loop makes of the same batches, and its files are checked."""

import msgspec
import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from core.base.mixture import ExpertOptimizer
from core.base.problems import BadInput, Damaged
from core.experts.queue import CallKind
from core.tasks.experts.blocks import new_expert
from core.training.experts.bank import ExpertBank
from core.workers.expert_frames import (
    ExpertBatch,
    ExpertLacking,
    ExpertNotSaved,
    ExpertSaved,
    ExpertTaken,
    SaveExpert,
    TakeExpert,
    YieldExpert,
)
from core.workers.frames import Resume, Suspend, Suspended, Throttle
from tests.unit.training.experts import ACCOUNTS, PLACE, RUN, WIDTH, Hosted, numbers


@pytest.fixture
def hosted(tmp_path):
    return Hosted(tmp_path)


def drawn(seed, rows, scale=1.0):
    return np.random.default_rng(seed).normal(0, scale, (rows, WIDTH)).astype(np.float32)


def even(seed, rows):
    """Gradients whose rows have one norm, so that none is clipped."""
    g = drawn(seed, rows)
    return g / np.linalg.norm(g, axis=1, keepdims=True)


def plain_block(hosted):
    block = new_expert("ffn", width=WIDTH, factor=2, seed=0)
    block.load_state_dict(hosted.expert.module.state_dict())
    return block


def plain_optimizer(block, numbers):
    if numbers.name == "sgd":
        return torch.optim.SGD(block.parameters(), lr=numbers.learning_rate, momentum=numbers.momentum)
    return torch.optim.AdamW(block.parameters(), lr=numbers.learning_rate, weight_decay=numbers.weight_decay)


def differ(hosted, block):
    ours, theirs = hosted.expert.module.state_dict(), block.state_dict()
    return max(float((ours[name] - theirs[name]).abs().max()) for name in theirs)


@pytest.mark.parametrize(
    "optimizer",
    [
        ExpertOptimizer(learning_rate=0.01, weight_decay=0.1, max_grad_norm=0.05),
        ExpertOptimizer(name="sgd", learning_rate=0.1, momentum=0.9, max_grad_norm=1e6),
    ],
    ids=["adamw", "sgd"],
)
def test_expert_learns_what_a_plain_loop_learns(tmp_path, optimizer):
    hosted = Hosted(tmp_path, numbers(optimizer=optimizer))
    block = plain_block(hosted)
    plain = plain_optimizer(block, optimizer)
    for step in range(30):
        halves = [(drawn((step, part), 4), even((step, part, 1), 4)) for part in range(2)]
        for x, g in halves:
            rows = torch.from_numpy(x).requires_grad_()
            block(rows).backward(torch.from_numpy(g))
            done, (dx,) = hosted.learn(x, g)
            assert done.version == step
            np.testing.assert_allclose(dx, rows.grad.numpy(), rtol=1e-6, atol=1e-7)
        for parameter in block.parameters():
            parameter.grad /= 8
        torch.nn.utils.clip_grad_norm_(block.parameters(), optimizer.max_grad_norm)
        plain.step()
        plain.zero_grad()
    assert hosted.expert.version == 30
    assert differ(hosted, block) < 1e-6


def test_calls_computed_together_are_answered_each(hosted):
    block = plain_block(hosted)
    arrays = [drawn(seed, rows) for seed, rows in enumerate((1, 5, 3))]
    done, answers = hosted.ask(*(((x,), {}) for x in arrays))
    assert (done.version, done.malformed) == (0, ())
    for x, y in zip(arrays, answers, strict=True):
        np.testing.assert_allclose(y, block(torch.from_numpy(x)).detach().numpy(), rtol=1e-5, atol=1e-6)


def test_forward_calls_change_nothing(hosted):
    block = plain_block(hosted)
    for seed in range(20):
        hosted.ask(((drawn(seed, 8),), {}))
    assert differ(hosted, block) == 0
    assert hosted.expert.version == 0


@pytest.mark.parametrize("codec", ["u8", "fp16"])
def test_answers_travel_in_the_codec_of_the_collaboration(tmp_path, codec):
    hosted = Hosted(tmp_path, numbers(codec))
    x = drawn(1, 8)
    _, (y,) = hosted.ask(((x,), {}))
    exact = plain_block(hosted)(torch.from_numpy(x)).detach().numpy()
    assert 0 < np.abs(y - exact).max() < 0.02 * np.abs(exact).max() + 0.02


def test_step_is_taken_after_rows_or_calls(tmp_path):
    hosted = Hosted(tmp_path, numbers(step_rows=8, step_calls=3))
    versions = []
    for seed, rows in enumerate((4, 4, 1, 1, 1, 9)):
        hosted.learn(drawn(seed, rows), even(seed, rows))
        versions.append(hosted.expert.version)
    assert versions == [0, 1, 1, 1, 2, 3]


def test_rate_rises_over_the_first_updates(tmp_path):
    steps = []
    for warmup in (0, 4):
        optimizer = ExpertOptimizer(learning_rate=0.01, warmup_updates=warmup)
        hosted = Hosted(tmp_path, numbers(optimizer=optimizer))
        before = plain_block(hosted)
        hosted.learn(drawn(1, 8), even(1, 8))
        steps.append(differ(hosted, before))
    assert steps[1] == pytest.approx(steps[0] / 4, rel=1e-3)


def test_damaged_rows_are_refused_and_harm_no_other_call(hosted):
    x, g, bad = drawn(1, 4), even(1, 4), drawn(2, 4)
    bad[2, 3] = np.inf
    vast = np.full((4, WIDTH), 3e38, np.float32)
    other = Hosted(hosted.slots.path.parent)
    other.learn(x, g)
    calls = [((bad, g), {}), ((x, g), {}), ((x, bad), {}), ((vast, g), {})]
    done, answers = hosted.ask(*calls, kind=CallKind.BACKWARD)
    assert done.malformed == (0, 2, 3)
    rows = torch.from_numpy(x).requires_grad_()
    plain_block(hosted)(rows).backward(torch.from_numpy(g))
    np.testing.assert_allclose(answers[1], rows.grad.numpy(), rtol=1e-6, atol=1e-7)
    hosted.learn(x, g)
    other.learn(x, g)
    assert hosted.expert.version == 1
    assert differ(hosted, other.expert.module) == 0
    done, _ = hosted.ask(((bad,), {}), ((x,), {}))
    assert done.malformed == (0,)


def test_expert_without_numbers_goes_back_to_its_file(hosted):
    hosted.learn(drawn(1, 8), even(1, 8))
    hosted.tell(SaveExpert(layer=0, place=PLACE))
    saved = plain_block(hosted)
    with torch.no_grad():
        next(hosted.expert.module.parameters()).fill_(torch.nan)
    done, (y,) = hosted.ask(((drawn(3, 4),), {}))
    assert (done.version, done.malformed) == (1, ())
    assert np.isfinite(y).all()
    assert differ(hosted, saved) < 1e-3, "the file has half precision"


def test_place_without_an_expert_answers_nobody(hosted):
    done, _ = hosted.ask(((drawn(1, 4),), {}), place=(0, 0))
    assert done.malformed == (0,)


def test_expert_that_moves_goes_on_at_its_new_host(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first, second = Hosted(tmp_path / "a"), Hosted(tmp_path / "b")
    for seed in range(3):
        first.learn(drawn(seed, 8), even(seed, 8))
        first.tell(SaveExpert(layer=0, place=PLACE))
    files = list((tmp_path / "a" / "files").iterdir())
    assert len(files) == 2, "older ones go"
    saved = first.said.pop()
    assert isinstance(saved, ExpertSaved)
    assert (saved.version, saved.size_bytes) == (3, max(path.stat().st_size for path in files))
    assert saved.size_bytes < 2 * first.numbers.expert_numel + 4096
    second.tell(YieldExpert(layer=0, place=PLACE), TakeExpert(layer=0, place=PLACE, path=saved.path))
    assert second.said.pop() == ExpertTaken(layer=0, place=PLACE, version=3)
    assert differ(second, first.expert.module) < 1e-3
    second.learn(drawn(9, 8), even(9, 8))
    assert second.expert.version == 4


def spoilt(path, spoil, tmp_path):
    """A copy of an expert's file with something wrong."""
    from safetensors import safe_open

    with safe_open(path, framework="pt") as file:
        tensors, metadata = {name: file.get_tensor(name) for name in file.keys()}, dict(file.metadata())  # noqa: SIM118
    spoil(tensors, metadata)
    save_file(tensors, tmp_path / "spoilt", metadata)
    return str(tmp_path / "spoilt")


def other_header(**odd):
    def spoil(tensors, metadata):
        header = msgspec.json.decode(metadata["potluck"])
        metadata["potluck"] = msgspec.json.encode({**header, **odd}).decode()

    return spoil


SPOILS = {
    "another run": other_header(run="00" * 32),
    "another layer": other_header(layer=1),
    "another place": other_header(place=[1, 3]),
    "a version beyond all": other_header(version=1 << 60),
    "a version that no expert reaches": other_header(version=(1 << 40) + 1),
    "no name": lambda tensors, metadata: metadata.clear(),
    "a tensor less": lambda tensors, metadata: tensors.popitem(),
    "a tensor more": lambda tensors, metadata: tensors.update(more=torch.zeros(1)),
    "another shape": lambda tensors, metadata: tensors.update({"0.bias": torch.zeros(31)}),
    "whole numbers": lambda tensors, metadata: tensors.update({"0.bias": torch.zeros(32, dtype=torch.int64)}),
    "not a number": lambda tensors, metadata: tensors.update({"0.bias": torch.full((32,), torch.nan)}),
    "too large": lambda tensors, metadata: tensors.update(more=torch.zeros(10**6)),
}


@pytest.mark.parametrize("spoil", SPOILS.values(), ids=SPOILS)
def test_file_of_anything_else_is_refused(hosted, tmp_path, spoil):
    hosted.tell(SaveExpert(layer=0, place=PLACE))
    path = spoilt(hosted.said.pop().path, spoil, tmp_path)
    hosted.tell(YieldExpert(layer=0, place=PLACE), TakeExpert(layer=0, place=PLACE, path=path))
    assert isinstance(hosted.said.pop(), ExpertLacking)
    assert hosted.bank.experts == {}


@pytest.mark.parametrize("data", [b"", b"\0" * 8, b"\xff" * 100, b"{}"])
def test_bytes_that_are_not_a_file_are_refused(hosted, tmp_path, data):
    (tmp_path / "odd").write_bytes(data)
    hosted.bank.give_up((0, PLACE))
    with pytest.raises(Damaged):
        hosted.bank.take((0, PLACE), tmp_path / "odd")
    with pytest.raises(Damaged):
        hosted.bank.take((0, PLACE), tmp_path / "nothing")


def test_expert_with_large_numbers_is_kept_in_full_precision(hosted):
    with torch.no_grad():
        next(hosted.expert.module.parameters()).fill_(1e5)
    before = plain_block(hosted)
    file = hosted.bank.save((0, PLACE))
    hosted.bank.give_up((0, PLACE))
    hosted.bank.take((0, PLACE), None)
    assert differ(hosted, before) > 1
    hosted.bank.give_up((0, PLACE))
    hosted.bank.take((0, PLACE), file.path)
    assert differ(hosted, before) == 0


def test_experts_beyond_the_memory_are_refused(tmp_path):
    small = numbers()
    bank = ExpertBank(small, run=RUN, folder=tmp_path, device="cpu", memory_bytes=9 * 4 * small.expert_numel)
    assert bank.places_max == 2, "parameters, gradients and two moments each"
    for place in ((0, 0), (0, 1), (0, 1)):
        bank.take((0, place), None)
    with pytest.raises(BadInput):
        bank.take((0, (0, 2)), None)
    bank.give_up((0, (0, 1)))
    bank.take((0, (0, 2)), None)


def test_device_has_its_memory_back_in_a_pause(hosted, monkeypatch):
    emptied = []
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    monkeypatch.setattr(torch.accelerator, "empty_cache", lambda: emptied.append(hosted.bank), raising=False)
    hosted.tell(Suspend())
    assert emptied


@pytest.mark.parametrize("late", [False, True])
def test_expert_left_at_a_pause_takes_no_room_after(hosted, late):
    left = [YieldExpert(layer=0, place=PLACE), Suspend()]
    hosted.tell(*(reversed(left) if late else left), Resume(arena_path=""))
    assert not hosted.bank.experts


def test_suspended_worker_computes_nothing_and_goes_on_as_it_was(hosted):
    hosted.learn(drawn(1, 8), even(1, 8))
    batch = ExpertBatch(number=1, slot=1, layer=0, place=PLACE, kind=CallKind.FORWARD, calls=())
    hosted.tell(Suspend())
    hosted.tell(batch)
    assert [type(frame) for frame in hosted.said] == [Suspended]
    hosted.tell(Resume(arena_path=""))
    hosted.tell(TakeExpert(layer=0, place=PLACE))
    assert hosted.said.pop() == ExpertTaken(layer=0, place=PLACE, version=1)
    hosted.learn(drawn(2, 8), even(2, 8))
    assert hosted.expert.version == 2


def test_suspending_comes_before_batches_that_wait(hosted):
    batch = ExpertBatch(number=1, slot=1, layer=0, place=PLACE, kind=CallKind.FORWARD, calls=())
    hosted.tell(batch, SaveExpert(layer=0, place=PLACE), Suspend())
    assert [type(frame) for frame in hosted.said] == [Suspended, ExpertSaved]


def test_expert_that_is_not_here_is_not_saved(hosted):
    hosted.tell(SaveExpert(layer=0, place=(0, 0)))
    assert hosted.said.pop() == ExpertNotSaved(layer=0, place=(0, 0))


def test_limit_of_threads_holds_from_the_next_batch_on(hosted):
    before = torch.get_num_threads()
    try:
        hosted.tell(Throttle(threads=before + 1))
        assert torch.get_num_threads() == before + 1
    finally:
        torch.set_num_threads(before)


def test_two_accounts_learn_together(hosted):
    for account in ACCOUNTS[:2]:
        hosted.learn(drawn(1, 4), even(1, 4), account=account)
    assert hosted.expert.version == 1


def test_full_or_lost_disk_does_not_stop_the_answers(hosted, tmp_path):
    (tmp_path / "files").write_bytes(b"where the folder should be")
    hosted.tell(SaveExpert(layer=0, place=PLACE))
    assert hosted.said.pop() == ExpertNotSaved(layer=0, place=PLACE)
    done, _ = hosted.ask(((drawn(1, 4),), {}))
    assert done.malformed == ()


def test_expert_without_numbers_is_mended_when_it_is_saved(hosted):
    hosted.tell(SaveExpert(layer=0, place=PLACE))
    with torch.no_grad():
        next(hosted.expert.module.parameters()).fill_(torch.nan)
    hosted.tell(SaveExpert(layer=0, place=PLACE))
    assert [type(frame) for frame in hosted.said] == [ExpertSaved, ExpertNotSaved]
    assert hosted.expert.is_finite
