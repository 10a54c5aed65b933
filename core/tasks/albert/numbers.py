"""The task's own numbers, as they stand in a manifest, and what they cost."""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from core.base.manifest import Numbers, checked
from core.base.mixture import ExpertNumbers
from core.base.problems import BadInput
from core.tasks.task import ModelCosts

MASKED_SHARE: Final = 0.15
"""Part of all pieces that are to be guessed: 80 % of them hidden, 10 % replaced, 10 % left as they are."""
SWAPPED_SHARE: Final = 0.5
VOCAB_MIN: Final = 64
VOCAB_MAX: Final = 65_536


class AlbertNumbers(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Sizes of the model and of what it is fed."""

    vocab_size: Annotated[int, Meta(ge=VOCAB_MIN, le=VOCAB_MAX)] = 1024
    sequence_length: Annotated[int, Meta(ge=16, le=512)] = 64
    embedding_size: Annotated[int, Meta(ge=8, le=4096)] = 128
    hidden_size: Annotated[int, Meta(ge=8, le=4096)] = 128
    intermediate_size: Annotated[int, Meta(ge=8, le=16_384)] = 512
    layers: Annotated[int, Meta(ge=1, le=48)] = 1
    """All layers share one set of weights."""
    heads: Annotated[int, Meta(ge=1, le=64)] = 4
    init: Literal["quick", "paper"] = "quick"
    """How weights start: "paper" as ALBERT's of `transformers`, so that no spread below counts; "quick" so that few and
    large steps already teach something (`core.tasks.albert.model`)."""
    embedding_spread: Annotated[float, Meta(gt=0, le=1)] = 0.1
    """Standard deviation of the word vectors at first."""
    spread: Annotated[float, Meta(gt=0, le=1)] = 0.05
    """Standard deviation of most other weights at first."""
    value_spread: Annotated[float, Meta(gt=0, le=1)] = 0.09
    """Spread of what attention passes on: large enough that a word hears its neighbours from the beginning."""
    query_spread: Annotated[float, Meta(gt=0, le=1)] = 0.02
    """Spread of what attention asks for, beside the positions."""
    order_weight: Annotated[float, Meta(ge=0, le=10)] = 0.1
    """How much the order of sentences counts beside the masked words."""
    ngram_max: Annotated[int, Meta(ge=1, le=10)] = 1
    """Words that are hidden together, at most (Lan et al. 2019 have 3); 1: pieces are hidden one by one."""
    micro_batch: Annotated[int, Meta(ge=1, le=1024)] = 32
    """Samples of one forward and backward pass."""
    held_out: Annotated[int, Meta(ge=1, le=16_384)] = 384
    """Samples to measure with, at most."""


def albert_numbers(numbers: Numbers) -> AlbertNumbers:
    """The numbers of a manifest, checked.

    Raises:
        BadInput: a number is unknown, missing, or out of its range.
    """
    read = checked(numbers, AlbertNumbers, of="task")
    if read.hidden_size % read.heads or read.hidden_size < read.embedding_size:
        raise BadInput(
            "The sizes make no model: hidden_size must be a multiple of heads, and at least embedding_size; "
            "hidden_size is {hidden_size}, heads {heads}, embedding_size {embedding_size}.",
            read.hidden_size,
            read.heads,
            read.embedding_size,
            hint="Ask the organiser.",
        )
    return read


def albert_costs(numbers: Numbers, experts: ExpertNumbers | None = None) -> ModelCosts:  # noqa: ARG001 - it has none
    """Parameters are those of embeddings, the one layer, pooler and both heads, whose words share the embeddings.

    Kept for the backward pass are, of each piece, what a layer computes from it (attention keeps no scores), as often
    as the layer is passed, and of each masked piece the scores of all words.
    """
    n = albert_numbers(numbers)
    e, h, i = n.embedding_size, n.hidden_size, n.intermediate_size
    embeddings = (n.vocab_size + n.sequence_length + 4) * e
    layer = 4 * (h * h + h) + 2 * h * i + i + h + 4 * h
    heads = (h * h + h) + (h * e + e + 2 * e + n.vocab_size) + (2 * h + 2)
    kept = 2 * e + h + n.layers * (8 * h + 2 * i + n.heads + 5) + MASKED_SHARE * (h + 3 * e + n.vocab_size)
    return ModelCosts(
        parameters=embeddings + (e * h + h) + layer + heads, activation_bytes=round(4 * n.sequence_length * kept)
    )
