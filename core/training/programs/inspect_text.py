"""What is in a source: examples, and its size, estimated from a sample."""

from pathlib import Path

import msgspec

from core.base.problems import BadInput
from core.tasks.tokenizers.report import TokenizerReport, report
from core.tasks.tokenizers.unigram import read_unigram_file, train_unigram
from core.text.order.documents import Document
from core.text.sources.requests import InspectRequest
from core.text.sources.texts import documents_in
from core.training.programs.child import given_secrets, say
from core.training.programs.opened_text import LOSSES_MAX, Loss, OpenedText

EXAMPLES = 3
EXAMPLE_CHARS = 300
VOCAB_MAX = 32_000
PIECE_CHARS = 300
"""Characters of a sample for each piece of the tokenizer that is trained on it."""


APART = 10
"""One document in this many is not trained on, to look at the tokenizer with."""


class Inspected(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="inspected"):
    """What a source holds, as far as a sample tells."""

    address: str
    licence: str
    credit: str
    shards: int
    bytes: int
    """As they lie there; 0 where nobody says."""
    indexed: bool
    """Whether an index lies beside the shards, which says their sizes and characters."""
    network: bool
    """Whether reading it takes the network."""
    losses: tuple[Loss, ...]
    """What of the sample's files is not read, the first of it."""
    loss_count: int
    examples: tuple[str, ...]
    sample_bytes: int
    """Bytes that were read, as they lie there."""
    sample_texts: int
    sample_documents: int
    sample_characters: int
    kept_share: float
    """Part of the sample's texts that passes the filters."""
    documents: float
    """Estimate for the whole source, as are characters, words and tokens; 0 where no size is known."""
    characters: float
    words: float
    tokens: float
    tokenizer: TokenizerReport | None
    """Report on held-out text of the sample; None: the sample is too small to say."""


def inspected(asked: InspectRequest) -> Inspected:
    """Read a sample of a source, and reckon from that.

    Raises:
        BadInput: the source, or the tokenizer that is named, cannot be read.
    """
    text = OpenedText(asked.source, given_secrets())
    kept = characters = words = 0
    documents: list[Document] = []
    examples: list[str] = []
    for one in text.sampled(asked.sample_bytes):
        kept += 1
        if kept % 200 == 0:
            say("progress", text="Reading a sample", fraction=min(0.7, characters / asked.sample_bytes))
        characters += len(one)
        words += len(one.split())
        documents.extend(documents_in(one))
        if len(examples) < EXAMPLES:
            examples.append(" ".join(one[: 4 * EXAMPLE_CHARS].split())[:EXAMPLE_CHARS])
    if not text.sampled_texts:
        raise BadInput(
            "There is no text in {address}.", asked.source.address, hint="Name another source, or another column."
        )
    say("progress", text="Cutting the sample into tokens", fraction=0.75)
    found = _report(asked, [document for document in documents if document], characters)
    scale, losses = text.times_sampled(), text.losses()
    return Inspected(
        address=asked.source.address,
        licence=asked.source.licence,
        credit=asked.source.credit,
        shards=text.shard_count,
        bytes=text.size,
        indexed=text.index is not None,
        network=text.shards.network,
        losses=tuple(losses[:LOSSES_MAX]),
        loss_count=len(losses),
        examples=tuple(examples),
        sample_bytes=text.bytes_read,
        sample_texts=text.sampled_texts,
        sample_documents=len(documents),
        sample_characters=characters,
        kept_share=kept / text.sampled_texts,
        documents=scale * len(documents),
        characters=scale * characters,
        words=scale * words,
        tokens=scale * words * (found.tokens_per_word if found else 0.0),
        tokenizer=found,
    )


def _report(asked: InspectRequest, documents: list[Document], characters: int) -> TokenizerReport | None:
    """How a tokenizer cuts the sample: the one that is named, or one that is trained on most of it."""
    if asked.tokenizer:
        tokenizer = read_unigram_file(Path(asked.tokenizer))
        return report(tokenizer, documents) if documents else None
    vocab_size = min(VOCAB_MAX, characters // PIECE_CHARS)
    if len(documents) <= APART or vocab_size < PIECE_CHARS:
        return None
    learned = (sentence for place, one in enumerate(documents) if place % APART for sentence in one)
    return report(train_unigram(learned, vocab_size=vocab_size), documents[::APART])
