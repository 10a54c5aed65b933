import json
import math
from collections import Counter
from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch

from core.base.content import digest
from core.base.manifest import Manifest
from core.base.problems import BadInput
from core.tasks import task_of
from core.tasks.albert.masking import MaskedBatch
from core.tasks.albert.model import OFFSETS, PretrainedAlbert, build
from core.tasks.albert.numbers import AlbertNumbers, albert_costs, albert_numbers
from core.tasks.albert.task import Albert
from core.tasks.task import Blobs, PreparedTask
from core.tasks.tokenizers.unigram import FIRST_WORD_ID, PAD_ID
from core.text.order.chance import key_of, stream
from tests.small_task import small_data, small_task


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> PreparedTask:
    return small_task(tmp_path_factory.mktemp("task"))


@pytest.fixture(scope="module")
def manifest(prepared: PreparedTask) -> Manifest:
    return manifest_of(prepared)


def manifest_of(prepared: PreparedTask, **numbers: object) -> Manifest:
    for path in prepared.blobs.values():
        name = digest(path.read_bytes()).hex()
        (path.parent / name).write_bytes(path.read_bytes())
    blobs = {key: digest(path.read_bytes()).hex() for key, path in prepared.blobs.items()}
    return Manifest(
        name="test",
        organiser="test",
        task="albert",
        numbers=prepared.numbers | numbers,
        data=small_data(prepared),
        blobs=blobs,
        authority="00" * 32,
    )


def folder_of(prepared: PreparedTask) -> Path:
    return next(iter(prepared.blobs.values())).parent


@pytest.fixture(scope="module")
def task(prepared: PreparedTask, manifest: Manifest) -> Albert:
    made = task_of(manifest, Blobs(folder_of(prepared), manifest.blobs))
    assert isinstance(made, Albert)
    return made


def batch_of(task: Albert) -> MaskedBatch:
    """Rows of pieces drawn at random, as long as they may be."""
    numbers, random = task.numbers, np.random.default_rng(5)
    rows = random.integers(FIRST_WORD_ID, numbers.vocab_size, (8, numbers.sequence_length - 1))
    rows[:, 0] = random.integers(1, numbers.sequence_length - 4, 8)
    rows[:, 1] = numbers.sequence_length - 3 - rows[:, 0]
    return task.batch(rows, stream(key_of(b"test"), np.arange(8)))


def test_the_start_does_not_depend_on_torch_s_own_chance(task: Albert) -> None:
    """A checksum of the first numbers: it changes only when the start is changed on purpose."""
    weight = dict(task.model(7).named_parameters())["network.albert.pooler.weight"].detach().numpy()
    steps = np.random.Generator(np.random.PCG64(7))
    for name, parameter in task.model(7).named_parameters():
        if parameter.ndim > 1:
            drawn = steps.integers(-(2**23), 2**23, tuple(parameter.shape), dtype=np.int32)
            if name == "network.albert.pooler.weight":
                assert np.abs(weight / drawn * 2**23 / (0.05 * math.sqrt(3)) - 1).max() < 1e-6
                return
    raise AssertionError("not found")


def test_a_new_model_looks_at_neighbours(task: Albert) -> None:
    """The positions alone, asked by head 0, answer most strongly one place further on."""
    model = task.model(0)
    body = model.network.albert
    attention = body.encoder.layer.attention
    positions_TE = body.embeddings.position_embeddings.weight.detach()
    size = task.numbers.hidden_size // task.numbers.heads
    hidden = positions_TE @ body.encoder.embedding_hidden_mapping_in.weight.detach().T
    scores = (attention.query(hidden)[:, :size] @ attention.key(hidden)[:, :size].T).detach()
    middle = range(4, task.numbers.sequence_length - 4)
    hits = sum(int(scores[t, t - 4 : t + 5].argmax()) - 4 == OFFSETS[0] for t in middle)
    assert hits >= 0.9 * len(middle)


def test_paper_start_is_that_of_transformers(prepared: PreparedTask) -> None:
    """Against what `transformers` itself draws, parameter by parameter."""
    from scipy import stats
    from transformers import AlbertForPreTraining

    from core.tasks.albert.pretrained import albert_config

    manifest = manifest_of(prepared, init="paper")
    made = task_of(manifest, Blobs(folder_of(prepared), manifest.blobs))
    assert isinstance(made, Albert)
    model = made.model(7)
    torch.manual_seed(1)
    theirs = dict(AlbertForPreTraining(albert_config(made.numbers)).named_parameters())
    assert not model.log_frequencies_V.any()
    for name, parameter in model.network.named_parameters():
        ours, other = parameter.detach().numpy().ravel(), theirs[name].detach().numpy().ravel()
        if parameter.ndim < 2:
            np.testing.assert_array_equal(ours, other, err_msg=name)
        else:
            assert stats.ks_2samp(ours, other).pvalue > 1e-4, name
            assert abs(ours.std() / 0.02 - 1) < 5 / np.sqrt(2 * ours.size) + 1e-3, name
    assert not model.network.albert.embeddings.word_embeddings.weight[PAD_ID].any()
    weights = [dict(made.model(seed).named_parameters())["network.albert.pooler.weight"] for seed in (7, 7, 8)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
    exported = made.pretrained(model).network.predictions.bias
    assert not exported.any()


def test_order_score_is_that_of_the_order_head(task: Albert) -> None:
    model = task.model(3)
    right = 0
    for batch in task.held_out:
        arrays = (batch.pieces_BT, batch.types_BT, batch.present_BT, batch.places_M)
        _, order_B2 = model(*map(torch.from_numpy, arrays))
        right += int((order_B2[:, 1] > order_B2[:, 0]).eq(torch.from_numpy(batch.swapped_B) > 0).sum())
    found = task.evaluate(model).order_right
    assert found == pytest.approx(right / sum(batch.samples for batch in task.held_out))
    assert 0 < found < 1


def test_loss_and_evaluation_against_the_plain_forward_pass(task: Albert) -> None:
    """The whole logits of transformers' model with the same weights, and a loop over the places."""
    model = task.model(3)
    batch = batch_of(task)
    losses = task.loss(model, batch)
    total, places, order = plain(model, task, batch)
    expected = batch.samples * 0.15 * task.numbers.sequence_length
    assert losses.reported.item() == pytest.approx(total / places, rel=1e-5)
    assert losses.objective.item() == pytest.approx(total / expected + task.numbers.order_weight * order, rel=1e-5)

    sums = [plain(model, task, held) for held in task.held_out]
    assert task.evaluate(model).score.loss == pytest.approx(sum(s[0] for s in sums) / sum(s[1] for s in sums), rel=1e-5)


def transformers_model(model: PretrainedAlbert, numbers: AlbertNumbers) -> tuple[torch.nn.Module, list[str]]:
    """transformers' own, with the weights of ours; and its parameters' names."""
    from transformers import AlbertConfig, AlbertForPreTraining

    theirs = AlbertForPreTraining(
        AlbertConfig(
            vocab_size=numbers.vocab_size,
            embedding_size=numbers.embedding_size,
            hidden_size=numbers.hidden_size,
            intermediate_size=numbers.intermediate_size,
            num_hidden_layers=numbers.layers,
            num_attention_heads=numbers.heads,
            max_position_embeddings=numbers.sequence_length,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            classifier_dropout_prob=0.0,
        )
    )
    lost, left = theirs.load_state_dict(model.network.state_dict(), strict=False)
    assert not left
    assert set(lost) == {"predictions.decoder.weight", "predictions.decoder.bias"}
    theirs.tie_weights()
    return theirs, [name for name, _ in theirs.named_parameters()]


@pytest.mark.parametrize("layers", [1, 3])
def test_gradients_equal_those_of_transformers(task: Albert, layers: int) -> None:
    """The same names in the same order, the same scores, and the same gradient of its loss."""
    numbers = msgspec.structs.replace(task.numbers, layers=layers)
    ours = build(numbers, torch.zeros_like(task.log_frequencies_V), seed=3)
    theirs, names = transformers_model(ours, numbers)
    assert [name.removeprefix("network.") for name, _ in ours.named_parameters()] == names
    batch = batch_of(task)
    labels = torch.full(batch.pieces_BT.shape, -100)
    labels.view(-1)[torch.from_numpy(batch.places_M)] = torch.from_numpy(batch.words_M)
    theirs(
        input_ids=torch.from_numpy(batch.pieces_BT),
        attention_mask=torch.from_numpy(batch.present_BT),
        token_type_ids=torch.from_numpy(batch.types_BT),
        labels=labels,
        sentence_order_label=torch.from_numpy(batch.swapped_B),
    ).loss.backward()
    arrays = (batch.pieces_BT, batch.types_BT, batch.present_BT, batch.places_M)
    words_MV, order_B2 = ours(*map(torch.from_numpy, arrays))
    words = torch.nn.functional.cross_entropy(words_MV, torch.from_numpy(batch.words_M))
    (words + torch.nn.functional.cross_entropy(order_B2, torch.from_numpy(batch.swapped_B))).backward()
    for (name, mine), (_, other) in zip(ours.named_parameters(), theirs.named_parameters(), strict=True):
        assert mine.grad is not None, name
        torch.testing.assert_close(mine.grad, other.grad, rtol=1e-4, atol=1e-6, msg=name)


def plain(model: PretrainedAlbert, task: Albert, batch) -> tuple[float, int, float]:
    network, _ = transformers_model(model, task.numbers)
    with torch.no_grad():
        out = network(
            input_ids=torch.from_numpy(batch.pieces_BT),
            attention_mask=torch.from_numpy(batch.present_BT),
            token_type_ids=torch.from_numpy(batch.types_BT),
        )
        scores = (out.prediction_logits + task.log_frequencies_V).flatten(0, 1).log_softmax(-1)
        total = -sum(scores[place, word].item() for place, word in zip(batch.places_M, batch.words_M, strict=True))
        orders = out.sop_logits.log_softmax(-1)
        order = -sum(orders[row, label].item() for row, label in enumerate(batch.swapped_B)) / batch.samples
    return total, len(batch.places_M), order


def test_the_reference_is_the_smoothed_unigram_model(task: Albert, prepared: PreparedTask) -> None:
    counts = json.loads(prepared.blobs["unigram"].read_text())
    whole = sum(counts) + len(counts)
    words = Counter(int(word) for batch in task.held_out for word in batch.words_M)
    expected = -sum(times * math.log((counts[word] + 1) / whole) for word, times in words.items())
    found = task.evaluate(task.model(0)).baselines["word frequencies"].loss
    assert found == pytest.approx(expected / words.total(), rel=1e-5)


@pytest.mark.parametrize(
    "numbers",
    [{"layers": 0}, {"tricks": 1}, {"heads": 3}, {"hidden_size": "x"}, {"embedding_size": 256}, {"layers": 10**9}],
)
def test_numbers_that_make_no_model(numbers: dict[str, object]) -> None:
    with pytest.raises(BadInput):
        albert_numbers(numbers)


def test_albert_large_costs_what_the_library_counts() -> None:
    """18,105,474 parameters is what transformers itself counts for albert-large-v2 with 32,000 pieces."""
    sizes = {"embedding_size": 128, "hidden_size": 1024, "intermediate_size": 4096, "layers": 24, "heads": 16}
    assert albert_costs({"vocab_size": 32_000, "sequence_length": 512, **sizes}).parameters == 18_105_474
    assert albert_numbers({}) == AlbertNumbers()


def test_a_tokenizer_of_another_size(prepared: PreparedTask) -> None:
    manifest = manifest_of(prepared, vocab_size=4096)
    with pytest.raises(BadInput, match="does not fit"):
        task_of(manifest, Blobs(folder_of(prepared), manifest.blobs))
