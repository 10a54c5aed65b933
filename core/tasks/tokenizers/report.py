"""How well a tokenizer cuts text that it was not trained on."""

import re
import unicodedata
from collections.abc import Iterable
from itertools import islice
from typing import Final

import msgspec
from tokenizers import Tokenizer

from core.base.problems import BadInput
from core.tasks.tokenizers.unigram import UNKNOWN_ID
from core.text.order.documents import Document

DOCUMENTS_MAX: Final = 2000
"""Number of documents that are looked at."""
SHOWN: Final = 3
SHOWN_CHARS: Final = 160
WORDS_MAX: Final = 20_000
"""Number of different words that are cut and put together again."""
_JOINERS: Final = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")


class CutExample(msgspec.Struct, frozen=True, kw_only=True):
    """A sentence, and the pieces that it is cut into."""

    text: str
    pieces: tuple[str, ...]


class TokenizerReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a tokenizer makes of held-out text."""

    vocab_size: int
    words: int
    """Words, as white space divides them."""
    tokens: int
    tokens_per_word: float
    characters_per_token: float
    """Characters for each token, of the text as it stands in its source."""
    unknown_share: float
    """Part of the tokens that stand for what the tokenizer does not know."""
    whole_share: float
    """Part of the different words that come back whole from their tokens; letter case and forms of the same character
    (NFKC, joiners) aside."""
    examples: tuple[CutExample, ...]


def report(tokenizer: Tokenizer, documents: Iterable[Document]) -> TokenizerReport:
    """Cut held-out text.

    Args:
        tokenizer: To be looked at.
        documents: Text that it was not trained on; the first `DOCUMENTS_MAX` of them are read.

    Raises:
        BadInput: there is no text.
    """
    words = tokens = unknown = characters = 0
    different: dict[str, None] = {}
    examples: list[CutExample] = []
    for document in islice(documents, DOCUMENTS_MAX):
        for sentence, encoding in zip(
            document, tokenizer.encode_batch(document, add_special_tokens=False), strict=True
        ):
            found = sentence.split()
            words += len(found)
            characters += len(sentence)
            tokens += len(encoding.ids)
            unknown += encoding.ids.count(UNKNOWN_ID)
            if len(different) < WORDS_MAX:
                different.update(dict.fromkeys(found))
        if len(examples) < SHOWN and (shown := next((one for one in document if 20 < len(one) <= SHOWN_CHARS), "")):
            examples.append(
                CutExample(text=shown, pieces=tuple(tokenizer.encode(shown, add_special_tokens=False).tokens))
            )
    if not words or not tokens:
        raise BadInput("There is no held-out text to look at the tokenizer with.", hint="Give more text.")
    return TokenizerReport(
        vocab_size=tokenizer.get_vocab_size(),
        words=words,
        tokens=tokens,
        tokens_per_word=tokens / words,
        characters_per_token=characters / tokens,
        unknown_share=unknown / tokens,
        whole_share=_whole_share(tokenizer, list(different)),
        examples=tuple(examples),
    )


def _whole_share(tokenizer: Tokenizer, words: list[str]) -> float:
    encodings = tokenizer.encode_batch(words, add_special_tokens=False)
    again = tokenizer.decode_batch([encoding.ids for encoding in encodings])
    return sum(_plain(word) == _plain(other) for word, other in zip(words, again, strict=True)) / len(words)


def _plain(word: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", _JOINERS.sub("", word)).lower()).strip()
