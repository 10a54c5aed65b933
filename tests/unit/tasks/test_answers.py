"""What a model answers, against the pipeline of `transformers` and against the model that trains."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from core.base.problems import BadInput
from core.tasks import answers
from core.tasks.albert.task import Albert
from core.tasks.answers import BEST, continued, filled
from core.tasks.gpt import CharacterGpt, GptNumbers
from tests.small_task import SENTENCE, small_task
from tests.trained import founded

if TYPE_CHECKING:
    from core.tasks.pretrained import Pretrained

LETTERS = "abcdefghi \n"


@pytest.fixture(scope="module")
def albert(tmp_path_factory: pytest.TempPathFactory) -> "Pretrained":
    folder = tmp_path_factory.mktemp("albert")
    _, task = founded(small_task(folder), folder, "albert")
    assert isinstance(task, Albert)
    model = task.model(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2)  # so that it has opinions
    return task.pretrained(model)


def scores(albert: "Pretrained", folder: Path, text: str) -> dict[str, float]:
    """How probable each piece is, as `transformers` itself says."""
    albert.save(folder)
    from transformers import pipeline

    said = pipeline("fill-mask", model=str(folder), top_k=len(albert.tokenizer))(text)
    names = albert.tokenizer.convert_ids_to_tokens([one["token"] for one in said])
    return {name: one["score"] for name, one in zip(names, said, strict=True)}


@pytest.mark.parametrize(
    ("text", "begins"),
    [("the [MASK] shares", "▁"), ("[MASK] work", "▁"), ("shar[MASK] work", ""), ("([MASK])", "")],
)
def test_blank_gets_the_pieces_that_fit_its_place(albert: "Pretrained", tmp_path: Path, text: str, begins: str) -> None:
    special = set(albert.tokenizer.all_special_tokens)
    plain = {
        name: score
        for name, score in scores(albert, tmp_path, text).items()
        if name not in special | {"▁"} and name.startswith(begins)
    }
    (found,) = filled(albert, text).blanks
    expected = sorted(plain, key=plain.__getitem__, reverse=True)[:BEST]
    assert [guess.text for guess in found] == [name.replace("▁", "") for name in expected]
    assert [guess.probability for guess in found] == pytest.approx([plain[name] for name in expected], rel=1e-4)


def test_underscores_are_a_blank(albert: "Pretrained") -> None:
    assert filled(albert, "the ____ shares __ work") == filled(albert, "the [MASK] shares [MASK] work")


def test_each_blank_is_filled_with_its_best_piece(albert: "Pretrained") -> None:
    found = filled(albert, "the [MASK] of [MASK]")
    assert len(found.blanks) == 2
    assert found.text.split() == ["the", found.blanks[0][0].text, "of", found.blanks[1][0].text]


def test_text_of_another_length_is_a_sentence(albert: "Pretrained") -> None:
    for text in ("", "the swarm", SENTENCE):
        with pytest.raises(BadInput, match="no blank"):
            filled(albert, text)
    with pytest.raises(BadInput, match=r"too long: it has \d+ pieces, and this model reads 32"):
        filled(albert, f"[MASK] {SENTENCE}")


def test_gpt_goes_on_as_the_model_that_trains_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """With next to no temperature it takes the most probable letter, also where the text is longer than it reads."""
    monkeypatch.setattr(answers, "TEMPERATURE", 1e-6)
    counts = {"": 0} | dict.fromkeys(LETTERS, 5)
    numbers = GptNumbers(alphabet=len(counts), length=8, heads=2, head_width=8)
    task = CharacterGpt(numbers, counts=counts, held_out=[["abc def ghi abc"]] * 4)
    model = task.model(5).eval()
    found = [list(counts).index(letter) for letter in "a dead bee\n"]
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3)
        for _ in range(answers.LETTERS):
            letters_V = model(torch.tensor([found[-numbers.length :]]))[0, -1]
            letters_V[0] = -torch.inf
            found.append(int(letters_V.argmax()))
    expected = "".join(list(counts)[letter] for letter in found[-answers.LETTERS :])
    assert len(set(expected)) > 1
    assert continued(task.pretrained(model), "a dead bee\n") == expected


def test_gpt_answers_the_same_text_alike() -> None:
    counts = {"": 0} | dict.fromkeys(LETTERS, 5)
    task = CharacterGpt(GptNumbers(alphabet=len(counts), length=8), counts=counts, held_out=[["abc def ghi abc"]] * 4)
    model = task.pretrained(task.model(0))
    first = continued(model, "a bad fig")
    torch.manual_seed(3)
    assert continued(model, "a bad fig") == first
    assert set(first) <= set(LETTERS)
    with pytest.raises(BadInput, match="no text to go on with"):
        continued(model, "")
