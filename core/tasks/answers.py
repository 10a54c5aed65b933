"""What a model says of a text that a person gives: words for its blanks, or how it goes on.

Letters of shapes: T pieces in the text, V in the vocabulary.
"""

# ruff: noqa: N803, N806 - names of arrays end in their shapes

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import torch

from core.base.problems import BadInput, no_blank

if TYPE_CHECKING:
    from core.tasks.pretrained import Pretrained

BEST: Final = 5
WORD_BEGINS: Final = "\u2581"
"""What a piece begins with that begins a word, as SentencePiece and `core.tasks.tokenizers.unigram` have it."""
LETTERS: Final = 200
"""Number of pieces with which a text is gone on with."""
TEMPERATURE: Final = 0.7
"""Scores are divided by it before a piece is drawn: below 1 the probable becomes more probable."""
SEED: Final = 0
UNDERSCORES: Final = "_{2,}"
"""What a person writes for a blank, as a pattern."""


@dataclass(frozen=True, slots=True)
class Guess:
    """A piece that may stand in a blank."""

    text: str
    probability: float


@dataclass(frozen=True, slots=True)
class FilledBlanks:
    """A text with its blanks filled.

    Attributes:
        text: The best piece stands in each blank.
        blanks: The best pieces for each blank, the best first; each blank is judged with the others open.
    """

    text: str
    blanks: list[list[Guess]]


def filled(model: "Pretrained", text: str) -> FilledBlanks:
    """Fill the blanks of a text.

    Args:
        model: Fills blanks.
        text: Has a blank or more: the tokenizer's, or two underscores and more.

    Raises:
        BadInput: it has none, or is too long.
    """
    tokenizer = model.tokenizer
    text = re.sub(UNDERSCORES, tokenizer.mask_token, text)
    pieces = tokenizer(text, return_tensors="pt", return_offsets_mapping=True)
    pieces_T, spans_T = pieces["input_ids"][0], pieces.pop("offset_mapping")[0].tolist()
    places = (pieces_T == tokenizer.mask_token_id).nonzero().flatten().tolist()
    if not places:
        raise no_blank()
    if len(pieces_T) > tokenizer.model_max_length:
        message = "The text is too long: it has {count} pieces, and this model reads {model_max_length}."
        hint = "Leave words out that are far from the blanks."
        raise BadInput(message, len(pieces_T), tokenizer.model_max_length, hint=hint)
    with torch.no_grad():
        probable_TV = model.network(**pieces)[0][0].softmax(-1)
    probable_TV[:, tokenizer.all_special_ids] = 0
    whole_T, blanks = pieces_T.clone(), []
    for place in places:
        start = spans_T[place][0]  # of the blank, or of the space before it
        alone = not start or any(map(str.isspace, text[start - 1 : start + 1]))
        best = _best(probable_TV[place], model, alone=alone)
        whole_T[place] = best[0]
        blanks.append([Guess(tokenizer.decode([n]).strip(), probable_TV[place, n].item()) for n in best])
    return FilledBlanks(tokenizer.decode(whole_T, skip_special_tokens=True), blanks)


def _best(probable_V: torch.Tensor, model: "Pretrained", *, alone: bool) -> list[int]:
    """The best pieces for a blank that say anything: a mere space is not a word.

    Args:
        probable_V: How probable each piece is.
        model: Whose pieces they are.
        alone: Whether the blank stands where a word begins: then so must the piece, if any does.
    """
    order = [n for n in probable_V.argsort(descending=True).tolist() if model.tokenizer.decode([n]).strip()]
    words = [n for n in order if str(model.tokenizer.convert_ids_to_tokens(n)).startswith(WORD_BEGINS)]
    return (words if alone and words else order)[:BEST]


def continued(model: "Pretrained", text: str) -> str:
    """How the model goes on with a text, drawn piece by piece; the same model and text give the same.

    Args:
        model: Goes on with texts.
        text: Text whose end is read, as much as the model can.

    Raises:
        BadInput: there is no text.
    """
    tokenizer, limit = model.tokenizer, model.network.config.max_position_embeddings
    pieces: list[int] = tokenizer(text)["input_ids"]
    if not pieces:
        raise BadInput("There is no text to go on with.", hint='For example: potluck try "Once upon a time"')
    begun, chance = len(pieces), torch.Generator().manual_seed(SEED)
    with torch.no_grad():
        for _ in range(LETTERS):
            scores_V = model.network(torch.tensor([pieces[-limit:]]))[0][0, -1]
            scores_V[tokenizer.all_special_ids] = -torch.inf
            probable_V = (scores_V / TEMPERATURE).softmax(-1)
            pieces.append(int(torch.multinomial(probable_V, 1, generator=chance)))
    return str(tokenizer.decode(pieces[begun:]))
