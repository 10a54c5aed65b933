"""The task's own numbers, as they stand in a manifest, and those for a few peers with one core each."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from core.base.manifest import PAPER_LAMB, Numbers, checked
from core.base.problems import BadInput
from core.tasks.text_files import PYTHON_DOCS

MASKED_SHARE: Final = 0.15
"""Of all pieces so many are to be guessed: 80 % of them hidden, 10 % replaced, 10 % left as they are."""
SWAPPED_SHARE: Final = 0.5


class AlbertNumbers(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Sizes of the model and of what it is fed."""

    source: Annotated[str, Meta(min_length=1, max_length=4096)] = PYTHON_DOCS
    """ "python-docs" or the absolute path of a folder of text files."""
    vocab_size: Annotated[int, Meta(ge=64, le=65_536)] = 1024
    sequence_length: Annotated[int, Meta(ge=16, le=512)] = 64
    embedding_size: Annotated[int, Meta(ge=8, le=4096)] = 128
    hidden_size: Annotated[int, Meta(ge=8, le=4096)] = 128
    intermediate_size: Annotated[int, Meta(ge=8, le=16_384)] = 512
    layers: Annotated[int, Meta(ge=1, le=48)] = 1
    """All layers share one set of weights."""
    heads: Annotated[int, Meta(ge=1, le=64)] = 4
    embedding_spread: Annotated[float, Meta(gt=0, le=1)] = 0.1
    """Standard deviation of the word vectors at first."""
    spread: Annotated[float, Meta(gt=0, le=1)] = 0.05
    """Standard deviation of most other weights at first."""
    value_spread: Annotated[float, Meta(gt=0, le=1)] = 0.09
    """That of what attention passes on: large enough that a word hears its neighbours from the beginning."""
    query_spread: Annotated[float, Meta(gt=0, le=1)] = 0.02
    """That of what attention asks for, beside the positions."""
    order_weight: Annotated[float, Meta(ge=0, le=10)] = 0.1
    """How much the order of sentences counts beside the masked words."""
    micro_batch: Annotated[int, Meta(ge=1, le=1024)] = 32
    """Samples of one forward and backward pass."""
    held_out: Annotated[int, Meta(ge=1, le=16_384)] = 384
    """Samples to measure with, at most."""
    buffer: Annotated[int, Meta(ge=1, le=1_000_000)] = 10_000
    """Samples in the shuffle buffer."""


def albert_numbers(numbers: Numbers) -> AlbertNumbers:
    """The numbers of a manifest, checked.

    Raises:
        BadInput: a number is unknown, missing, or out of its range.
    """
    read = checked(numbers, AlbertNumbers, of="task")
    if read.hidden_size % read.heads or read.hidden_size < read.embedding_size:
        raise BadInput(
            "The manifest's model cannot be built: its sizes do not fit each other.", hint="Ask the organiser."
        )
    return read


def default_numbers(source: str = PYTHON_DOCS) -> dict[str, Any]:
    """A model that two peers with one core each teach something within minutes."""
    return msgspec.to_builtins(AlbertNumbers(source=source))  # type: ignore[no-any-return]


def default_optimizer() -> Numbers:
    """LAMB for the default numbers and the default target.

    A step is rare here (an epoch takes seconds), so it is larger than the papers', and gradients are forgotten sooner.
    """
    chosen = {"learning_rate": 0.02, "beta1": 0.8, "beta2": 0.95, "warmup_epochs": 3, "total_epochs": 20_000}
    return {**PAPER_LAMB, **chosen}


def default_target_samples() -> int:
    """Samples per optimiser step for the default numbers: some seconds for two peers."""
    return 2048
