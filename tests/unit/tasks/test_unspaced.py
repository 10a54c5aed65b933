import re
from collections.abc import Iterator
from random import Random

import pytest

from core.tasks.tokenizers.unigram import train_unigram
from core.tasks.tokenizers.unspaced import BETWEEN, divided

LETTERS = 120_000


def clauses(first: str, count: int, seed: int = 7) -> list[str]:
    """Clauses without spaces of words by Zipf's law, with a mark behind each, as many letters as `LETTERS`."""
    chance, letters = Random(seed), [chr(ord(first) + number) for number in range(count)]
    shares = [1 / (place + 2.7) for place in range(count)]
    words = list({"".join(chance.choices(letters, shares, k=chance.choice((1, 2, 2, 2, 3, 4)))) for _ in range(6000)})
    words.sort()
    chance.shuffle(words)
    often = [1 / (place + 2.7) for place in range(len(words))]
    made = []
    left = LETTERS
    while left > 0:
        made.append("".join(chance.choices(words, often, k=chance.randint(4, 14))) + "。")
        left -= len(made[-1])
    return made


@pytest.mark.parametrize(("first", "count"), [("一", 2000), ("ก", 44), ("あ", 80)])
def test_clauses_become_few_different_parts(first: str, count: int) -> None:
    texts = clauses(first, count)
    found = list(divided(texts))
    assert [text.replace(BETWEEN, "") for text in found] == texts
    whole = {part for text in texts for part in re.split("。", text)}
    parts = {part for text in found for part in re.split(f"[{BETWEEN}。]", text)}
    assert sum(map(len, whole)) > 0.9 * LETTERS
    assert sum(map(len, parts)) < 0.5 * LETTERS


def test_text_with_spaces_stays_and_comes_at_once() -> None:
    texts = ["The house by the sea.", "বাংলা ভাষা র‍্যাব", "Grüße, мир! 한국어 문장", "中 b"]

    def endless() -> Iterator[str]:
        yield from texts
        raise AssertionError

    found = divided(endless())
    assert [next(found) for _ in texts] == texts


def test_pieces_of_unspaced_text_are_its_words() -> None:
    texts = clauses("一", 2000)
    tokenizer = train_unigram(iter(texts[:-200]), vocab_size=6000)
    assert not any(BETWEEN in piece for piece in tokenizer.get_vocab())
    found = tokenizer.encode_batch(texts[-200:], add_special_tokens=False)
    tokens, unknown = sum(len(one.ids) for one in found), sum(one.ids.count(1) for one in found)
    assert unknown < 0.01 * tokens
    assert sum(map(len, texts[-200:])) > 1.4 * tokens
    assert tokenizer.decode(found[0].ids).replace(" ", "") == texts[-200]
