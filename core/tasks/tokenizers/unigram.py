"""A Unigram tokenizer, trained on the spot (S000, appendix I.3)."""

from collections.abc import Iterator, Sequence
from typing import Final

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from core.base.problems import BadInput

PAD, UNKNOWN, BEGIN, END, MASK = SPECIAL = ("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]")
PAD_ID, UNKNOWN_ID, BEGIN_ID, END_ID, MASK_ID = range(len(SPECIAL))
FIRST_WORD_ID: Final = len(SPECIAL)
"""Ids from here on stand for pieces of text."""


def train_unigram(texts: Iterator[str], *, vocab_size: int) -> Tokenizer:
    """Train a tokenizer.

    A trained tokenizer always cuts the same text the same way.  Training it twice on the same text does not give
    the same tokenizer to the last digit (the library counts words in a table of random order), so peers share one.

    The text is normalised by NMT and NFKC, multiple spaces are collapsed, letters are lowered; words are split on white
    space and begin with U+2581, punctuation marks and digits stand alone, and a pair of texts becomes
    `[CLS] A [SEP] B [SEP]`.

    Args:
        texts: The text to learn from.
        vocab_size: Pieces at most, with the five special ones.
    """
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Nmt(),
            normalizers.NFKC(),
            normalizers.Replace(Regex(r"\s+"), " "),
            normalizers.Lowercase(),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Metaspace(),
            pre_tokenizers.Punctuation("isolated"),
            pre_tokenizers.Digits(individual_digits=True),
        ]
    )
    trainer = trainers.UnigramTrainer(
        vocab_size=vocab_size, special_tokens=list(SPECIAL), unk_token=UNKNOWN, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer=trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BEGIN} $A {END}",
        pair=f"{BEGIN} $A {END} $B:1 {END}:1",
        special_tokens=[(BEGIN, BEGIN_ID), (END, END_ID)],
    )
    tokenizer.decoder = decoders.Metaspace()
    return tokenizer


def read_unigram(data: bytes) -> Tokenizer:
    """A tokenizer from the JSON text that `Tokenizer.to_str` gives.

    Raises:
        BadInput: it is none, or its special pieces have other numbers than ours.
    """
    try:
        tokenizer = Tokenizer.from_buffer(data)
    except Exception as error:  # the library raises bare Exception
        raise BadInput("The tokenizer cannot be read.", hint="Ask the organiser for a new one.") from error
    if [tokenizer.token_to_id(piece) for piece in SPECIAL] != list(range(len(SPECIAL))):
        raise BadInput("The tokenizer is of another kind.", hint="Ask the organiser for a new one.")
    return tokenizer


def pieces(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    """The numbers of the pieces of each text, without the template's special ones."""
    return [encoding.ids for encoding in tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]
