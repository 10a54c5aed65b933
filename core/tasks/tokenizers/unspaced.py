"""Scripts without spaces, such as Chinese, Japanese and Thai: runs of their letters are divided before training.

A Unigram trainer counts words, and takes time that grows with the square of the letters of different ones: whole
clauses are nearly all different.  So they are divided at the likeliest places by the n-grams of a sample of the text,
which are few.  That bounds which pieces can be learned, and says nothing of how texts are cut.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from tokenizers import Tokenizer, models

BETWEEN: Final = "\ue000"
"""What is put between the parts: a letter for private use, which no normaliser of ours touches."""
SAMPLE_LETTERS: Final = 1_000_000
"""Letters in runs of such letters from which n-grams are counted."""
LETTERS_MAX: Final = 6
"""Longest n-gram: most words of Chinese have two letters, of Thai four."""
LEAST: Final = 2
"""Times that an n-gram comes, at least: of one million letters of news 90,000 do."""
_RUN: Final = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]{2,}"
)


def divided(texts: Iterable[str]) -> Iterator[str]:
    """The same texts, with `BETWEEN` in runs of letters of such scripts; other texts stay as they are.

    Args:
        texts: Those whose runs make up the sample are held until it is full.
    """
    source = iter(texts)
    held: list[str] = []
    runs: list[str] = []
    left = SAMPLE_LETTERS
    for text in source:
        found = _RUN.findall(text)
        if not found:
            yield text
            continue
        held.append(text)
        runs += found
        left -= sum(map(len, found))
        if left <= 0:
            break
    if held:
        divide = _divider(_ngrams(runs))
        yield from (_RUN.sub(lambda run: BETWEEN.join(_parts(divide, run[0])), text) for text in held)
        held.clear()
        for text in source:
            yield _RUN.sub(lambda run: BETWEEN.join(_parts(divide, run[0])), text)


def _ngrams(runs: Sequence[str]) -> Counter[str]:
    """Numbers of the n-grams that come often; one comes no more often than its beginning."""
    found = Counter(letter for run in runs for letter in run)
    before = found
    for length in range(2, LETTERS_MAX + 1):
        often = {one for one, count in before.items() if count >= LEAST}
        before = Counter(
            run[at : at + length]
            for run in runs
            for at in range(len(run) - length + 1)
            if run[at : at + length - 1] in often
        )
        found.update({one: count for one, count in before.items() if count >= LEAST})
    return found


def _divider(counts: Counter[str]) -> Tokenizer:
    """Divides a run into n-grams, by the product of their shares (Viterbi)."""
    total = sum(counts.values())
    pieces = [("", 0.0), *((one, math.log(count / total)) for one, count in sorted(counts.items()))]
    return Tokenizer(models.Unigram(pieces, 0))


def _parts(divide: Tokenizer, run: str) -> list[str]:
    return [run[start:end] for start, end in divide.encode(run).offsets]
