"""A Unigram tokenizer, trained on the spot (S000, appendix I.3)."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from core.base.problems import BadInput, unknown_name
from core.tasks.tokenizers import normalisers
from core.tasks.tokenizers.unspaced import BETWEEN, divided

PAD, UNKNOWN, BEGIN, END, MASK = SPECIAL = ("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]")
PAD_ID, UNKNOWN_ID, BEGIN_ID, END_ID, MASK_ID = range(len(SPECIAL))
TOKENIZER_BYTES_MAX: Final = 64 * 1024 * 1024
"""Upper bound on a tokenizer's file, as on all that a manifest names."""
FIRST_WORD_ID: Final = len(SPECIAL)
DIGITS: Final = 5
"""Behind the point of a score, nats."""
LETTER_STEP: Final = 1e-4
"""The library adds rare letters, in an order of chance, each so much above the one before; here all are alike."""
STEP_SLACK: Final = 1e-3
"""Ids from here on stand for pieces of text."""


class TokenizerRecipe(NamedTuple):
    """How a tokenizer is made of text."""

    vocab_size: int
    """Pieces, where nobody says how many."""
    normaliser: Callable[[], normalizers.Normalizer]
    normalise_word: Callable[[str], str | None]
    """What the normaliser makes of a word, in a fraction of the time; None: only the normaliser itself can say it."""
    isolates: bool
    """Whether punctuation marks and digits stand alone."""


RECIPES: Final[Mapping[str, TokenizerRecipe]] = MappingProxyType(
    {
        normalisers.PLAIN: TokenizerRecipe(32_000, normalisers.plain, normalisers.plain_word, isolates=True),
        normalisers.ALBERT: TokenizerRecipe(30_000, normalisers.albert, normalisers.albert_word, isolates=False),
        normalisers.BENGALI: TokenizerRecipe(32_000, normalisers.bengali, normalisers.bengali_word, isolates=True),
    }
)
"""Every recipe by its name: a text of any language; English as ALBERT v2 cuts it (Lan et al. 2019); Bengali."""


def recipe_of(name: str) -> TokenizerRecipe:
    """The recipe of a name.

    Raises:
        BadInput: there is none.
    """
    if name not in RECIPES:
        raise unknown_name("tokenizer", name, RECIPES)
    return RECIPES[name]


def train_unigram(texts: Iterator[str], *, vocab_size: int, recipe: str = normalisers.PLAIN) -> Tokenizer:
    """Train a tokenizer.

    A trained tokenizer always cuts the same text the same way.  The library counts words in a table of random order,
    so its scores differ from one training to the next, in their last digits and in those of rare letters: they are
    rounded, and pieces are put in order by them.  It keeps the words of the text with their counts, not the text.

    The text is normalised as the recipe says; words are split on white space and begin with U+2581, and a pair of texts
    becomes `[CLS] A [SEP] B [SEP]`.

    Args:
        texts: The text to learn from.
        vocab_size: Pieces at most, with the five special ones.
        recipe: A name of `RECIPES`.

    Raises:
        BadInput: there is no such recipe.
    """
    made = recipe_of(recipe)
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = made.normaliser()
    apart = pre_tokenizers.Split(BETWEEN, "removed")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizer_of(made), apart])
    trainer = trainers.UnigramTrainer(
        vocab_size=vocab_size, special_tokens=list(SPECIAL), unk_token=UNKNOWN, show_progress=False
    )
    tokenizer.train_from_iterator(divided(texts), trainer=trainer)
    tokenizer.pre_tokenizer = pre_tokenizer_of(made)
    tokenizer.model = _in_order(tokenizer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BEGIN} $A {END}",
        pair=f"{BEGIN} $A {END} $B:1 {END}:1",
        special_tokens=[(BEGIN, BEGIN_ID), (END, END_ID)],
    )
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.encode_special_tokens = True
    return tokenizer


def _in_order(tokenizer: Tokenizer) -> models.Unigram:
    """The model of a tokenizer with rounded scores, the most frequent pieces first."""
    described = json.loads(tokenizer.to_str())["model"]
    special, pieces = described["vocab"][: len(SPECIAL)], described["vocab"][len(SPECIAL) :]
    least = min((score for _, score in pieces), default=0.0)
    letters = sum(len(piece) == 1 for piece, _ in pieces)

    def settled(piece: str, score: float) -> tuple[str, float]:
        steps = (score - least) / LETTER_STEP
        is_added = len(piece) == 1 and steps < letters and abs(steps - round(steps)) < STEP_SLACK
        return piece, round(least if is_added else score, DIGITS)

    rounded = sorted((settled(*each) for each in pieces), key=lambda each: (-each[1], each[0]))
    return models.Unigram([*map(tuple, special), *rounded], described["unk_id"], described["byte_fallback"])


def pre_tokenizer_of(made: TokenizerRecipe) -> pre_tokenizers.PreTokenizer:
    """What divides a text into words, and where the recipe says so words at marks and digits."""
    alone = [pre_tokenizers.Punctuation("isolated"), pre_tokenizers.Digits(individual_digits=True)]
    if not made.isolates:
        alone = [pre_tokenizers.Split(Regex(r"[<\[]"), "isolated")]  # else a text that says "<pad>" would be padding
    return pre_tokenizers.Sequence([pre_tokenizers.Metaspace(), *alone])


def read_unigram(data: bytes) -> Tokenizer:
    """A tokenizer from the JSON text that `Tokenizer.to_str` gives.

    Raises:
        BadInput: it is not one, or its special pieces have other numbers than ours.
    """
    try:
        with panics_told():
            tokenizer = Tokenizer.from_buffer(data)
    except Exception as error:  # the library raises bare Exception
        raise BadInput("The tokenizer cannot be read.", hint="Ask the organiser for a new one.") from error
    if [tokenizer.token_to_id(piece) for piece in SPECIAL] != list(range(len(SPECIAL))):
        raise BadInput("The tokenizer is of another kind.", hint="Ask the organiser for a new one.")
    tokenizer.encode_special_tokens = True  # a text that says "[MASK]" hides nothing
    return tokenizer


def read_unigram_file(path: Path) -> Tokenizer:
    """A tokenizer from a file that a person names.

    Raises:
        BadInput: it cannot be read, or is not one of ours.
    """
    try:
        with path.open("rb") as file:
            data = file.read(TOKENIZER_BYTES_MAX + 1)
    except OSError as error:
        message = "The tokenizer {path} cannot be read: {error}."
        advice = "Train one with `potluck tokenizer train`, or name one of {recipes}."
        raise BadInput(message, path, error.strerror, ", ".join(RECIPES), hint=advice) from error
    if len(data) > TOKENIZER_BYTES_MAX:
        raise BadInput("The tokenizer {path} has more than {most} bytes.", path, f"{TOKENIZER_BYTES_MAX:,}")
    try:
        return read_unigram(data)
    except BadInput as problem:
        hint = "Train one with `potluck tokenizer train`."
        raise BadInput("{path}: {problem}", path, problem.sentence, hint=hint) from problem


def pieces(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    """The numbers of the pieces of each text, without the template's special ones."""
    with panics_told():
        return [encoding.ids for encoding in tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]


@contextmanager
def panics_told() -> Iterator[None]:
    """Have the library work with a tokenizer of strangers.

    Raises:
        BadInput: the library panicked, as it does where an expression takes too long; its panics are no `Exception`.
    """
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # no module has the class
            raise
        raise BadInput("The tokenizer fails at this text.", hint="Ask the organiser for a new one.") from error
