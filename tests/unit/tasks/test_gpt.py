"""The character-level GPT, against plain computations."""

import math
from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from core.base.data_source import DataSource
from core.base.manifest import Manifest
from core.base.problems import BadInput
from core.tasks.gpt import CharacterGpt, prepare
from core.tasks.gpt_cutting import Alphabet, GptNumbers, windows
from core.tasks.start import log_shares
from core.tasks.text import text_of
from core.text.order.documents import is_held_out
from core.text.sources.texts import texts_of
from tests.small_task import sources_in, text_folder

LETTERS = Alphabet(["", *"abcdefgh"], 9)
COUNTS = {"": 3, "e": 40, "t": 20, "a": 10, "\n": 7}
NUMBERS = GptNumbers(alphabet=len(COUNTS), length=8, head_width=4, heads=2, micro_batch=5, held_out=11)
HELD_OUT = [["tea eat", "ate a tea"], ["a tee at eta", "eat eat eat a tea"]] * 6


def task(**changes: object) -> CharacterGpt:
    return CharacterGpt(NUMBERS, **({"counts": COUNTS, "held_out": HELD_OUT} | changes))


def test_windows_cover_the_text_and_share_one_letter() -> None:
    found = windows([["abc", "de"], ["fgh"]], LETTERS, 3)
    assert ["".join(".abcdefgh"[n] for n in window) for window in found] == ["abc.", ".de.", ".fgh"]


@given(st.lists(st.lists(st.text("abcdefghxy\n", max_size=30), max_size=4), max_size=5), st.integers(2, 9))
def test_a_tail_leaves_little_of_a_text_out(found: list[list[str]], length: int) -> None:
    """Against the text written down letter by letter."""
    text = "".join("\n".join([*document, ""]) for document in found)
    plain = list(windows(found, LETTERS, length))
    whole = list(windows(found, LETTERS, length, tail=True))
    codes = [".abcdefgh".find(letter) * (letter in "abcdefgh") for letter in text]
    assert [w.tolist() for w in plain] == [codes[i : i + length + 1] for i in range(0, len(codes) - length, length)]
    rest = len(codes) - 1 - length * len(plain)
    if not plain or rest < max(1, 0.25 * length):
        assert len(whole) == len(plain)
    else:
        assert [w.tolist() for w in whole[len(plain) :]] == [codes[-length - 1 :]]


def test_a_letter_knows_nothing_of_those_after_it() -> None:
    model = task().model(0)
    letters = torch.randint(len(COUNTS), (3, 8), generator=torch.Generator().manual_seed(1))
    changed = letters.clone()
    changed[:, 5:] = (changed[:, 5:] + 1) % len(COUNTS)
    with torch.no_grad():
        one, other = model(letters), model(changed)
    torch.testing.assert_close(one[:, :5], other[:, :5])
    assert not torch.allclose(one[:, 5:], other[:, 5:])


@pytest.mark.parametrize("mode", ["train", "eval"])
def test_the_loss_is_the_cross_entropy_of_each_next_letter(mode: str) -> None:
    learned = task()
    model = learned.model(3).train(mode == "train")
    held = list(windows(HELD_OUT, Alphabet(list(COUNTS), len(COUNTS)), 8))[: NUMBERS.held_out]
    rows = torch.from_numpy(np.stack(held)).long()
    with torch.no_grad():
        scores = model(rows[:, :-1]).log_softmax(-1)
    total = sum(-scores[r, t, rows[r, t + 1]].item() for r in range(len(rows)) for t in range(8))
    assert learned.evaluate(model).score.loss == pytest.approx(total / (8 * len(rows)), rel=1e-5)


def test_the_baseline_is_what_letter_frequencies_reach() -> None:
    letters = [window[1:] for window in windows(HELD_OUT, Alphabet(list(COUNTS), len(COUNTS)), 8)]
    met = Counter(letter for window in letters[: NUMBERS.held_out] for letter in window.tolist())
    smoothed = [count + 1 for count in COUNTS.values()]
    expected = -sum(times * math.log(smoothed[letter] / sum(smoothed)) for letter, times in met.items()) / met.total()
    found = task()
    assert found.evaluate(found.model(0)).baselines["letter frequencies"].loss == pytest.approx(expected, abs=1e-3)


def test_a_new_model_knows_little_more_than_the_frequencies() -> None:
    found = task()
    model = found.model(0)
    with torch.no_grad():
        model.head.weight[:, 1:] = 0
        scores = model(torch.zeros(1, 8, dtype=torch.long))
    torch.testing.assert_close(scores, log_shares(list(COUNTS.values())).expand(1, 8, -1))
    score = (evaluation := found.evaluate(found.model(0))).score
    assert score.loss == pytest.approx(evaluation.baselines["letter frequencies"].loss, abs=0.3)


def test_exported_gpt_scores_as_the_model_that_trains() -> None:
    found = task()
    model = found.model(4)
    letters = torch.randint(len(COUNTS), (4, 8), generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(4)
        torch.testing.assert_close(found.pretrained(model).network(letters).logits, model(letters), rtol=0, atol=2e-5)


def test_the_alphabet_holds_the_most_frequent_letters(tmp_path: Path) -> None:
    source = text_folder(tmp_path / "text")
    prepared = prepare({}, text_of(sources_in(source)), tmp_path / "out", progress=lambda *_: None)
    manifest = Manifest(name="t", organiser="t", task="gpt", numbers=prepared.numbers, authority="00" * 32)
    letters = Counter(
        "".join(
            sentence
            for document in texts_of(DataSource(address=str(source))).sampled(Random(0))
            if not is_held_out(document)
            for sentence in document
        )
    )
    assert manifest.numbers["alphabet"] == 1 + len(letters)


def test_held_out_text_shorter_than_a_sample_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.tasks.gpt.read_text", lambda *_: ([["tea " * 900]], [["eat " * 200]]))
    with pytest.raises(BadInput, match="too short to measure with"):
        prepare({"length": 1024}, text_of(sources_in(tmp_path)), tmp_path, progress=lambda *_: None)


@pytest.mark.parametrize("change", [{"counts": COUNTS | {"b": 1}}, {"counts": {"": 1}}, {"held_out": [["tea"]]}])
def test_an_alphabet_or_text_that_does_not_fit_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(BadInput, match="does not fit"):
        task(**change)
