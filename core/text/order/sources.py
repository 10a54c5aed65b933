"""Text as a stream of documents, each for training or held out.

Which of the two follows from a document's own text, so that all peers agree without asking each other.  Where the text
comes from is behind a port: `core.text.sources` reads folders and the network.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import Final, Literal, Protocol

from core.text.order.documents import Document

Part = Literal["train", "held-out"]

HELD_OUT_PER_MILLE: Final = 40


class TextSource(Protocol):
    """The port through which text is read, piece by piece, without knowing where it is kept."""

    def shards(self) -> Sequence[str]:
        """Names of the pieces that can be read on their own, in an order that is the same every time.

        Raises:
            BadInput: there is no text, or it cannot be read.
        """

    def read(self, shards: Sequence[str]) -> Iterable[Document]:
        """The documents of these shards, in their order; a shard that turns out unreadable is passed over."""


def documents(source: TextSource, *, part: Part, seed: int | None = None) -> Iterator[Document]:
    """One pass over the documents of one part of a source; see `parted`."""
    return (document for found, document in parted(source, seed=seed) if found == part)


def parted(source: TextSource, *, seed: int | None = None) -> Iterator[tuple[Part, Document]]:
    """One pass over all documents of a source, each with the part that it belongs to.

    Args:
        source: Where the text comes from.
        seed: Draws the order of the shards; None: as the source names them.

    Raises:
        BadInput: there is no text, or it cannot be read.
    """
    shards = list(source.shards())
    if seed is not None:
        Random(seed).shuffle(shards)  # noqa: S311 - no secret
    for document in source.read(shards):
        yield "held-out" if is_held_out(document) else "train", document


def is_held_out(document: Sequence[str]) -> bool:
    """Whether a document is kept for measuring: 4 % of them, chosen by the hash of their text."""
    digest = hashlib.blake2b("\n".join(document).encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % 1000 < HELD_OUT_PER_MILLE
