"""What the organiser does once: train the tokenizer, choose the held-out text, count words."""

import json
from collections import Counter
from pathlib import Path
from typing import Any, Final

import msgspec
from tokenizers import Tokenizer

from core.base.manifest import Numbers
from core.base.problems import BadInput
from core.tasks.albert.cutting import TOKENIZER
from core.tasks.albert.held_out import measuring_batches
from core.tasks.albert.numbers import VOCAB_MAX, VOCAB_MIN, AlbertNumbers, albert_numbers
from core.tasks.neighbour import NEIGHBOUR, Neighbour
from core.tasks.task import PreparedTask
from core.tasks.text import READ_CHARS, GivenText, Progress, count_chars, read_text, write_blobs
from core.tasks.tokenizers.unigram import RECIPES, pieces, read_unigram_file, train_unigram
from core.text.order.documents import Document

HELD_OUT: Final = "held_out"
UNIGRAM: Final = "unigram"
PIECE_CHARS: Final = 1000
"""Characters of text that are read for each piece of the vocabulary.  English gave 25,200 pieces in 8 million
characters, 19,200 in 4 million: 300 for each piece, and more for the later ones."""
CHARS_MAX: Final = 32_000_000
"""Upper bound on the text that is read: with more the preparation takes many minutes."""


def prepare(numbers: Numbers, text: GivenText, out_dir: Path, *, progress: Progress) -> PreparedTask:
    """Make what a manifest needs.

    Args:
        numbers: The task's; of `vocab_size` pieces a short text gives fewer, which a note says.
        text: What is learned from.
        out_dir: Where the files go.
        progress: Told what happens.

    Raises:
        BadInput: the numbers or the text cannot be used.
        NoSpace: the disk is full.
    """
    wanted = albert_numbers(numbers)
    given = None if text.tokenizer in RECIPES else _given(text.tokenizer)
    progress("Reading text", 0.0)
    chars_max = chars_for(wanted.vocab_size)
    train, held_out = read_text(text, lambda stage, share: progress(stage, 0.6 * share), chars_max=chars_max)
    chars = count_chars(train)
    if given is None:
        progress("Training the tokenizer", 0.6)
        documents = (" ".join(document) for document in train)
        tokenizer = train_unigram(documents, vocab_size=wanted.vocab_size, recipe=text.tokenizer)
        if tokenizer.get_vocab_size() < VOCAB_MIN:
            raise BadInput(
                "The text in {called} has too little in it to learn: of {chars} characters come "
                "{pieces} different pieces, and {least} are the least.",
                text.called,
                f"{chars:,}",
                tokenizer.get_vocab_size(),
                VOCAB_MIN,
                hint="Give text in which more words differ.",
            )
    else:
        tokenizer = given
    progress("Counting words, and pairs of them", 0.9)
    found = msgspec.structs.replace(wanted, vocab_size=tokenizer.get_vocab_size())
    blobs = write_blobs(out_dir, contents_of(tokenizer, train, held_out, found))
    progress("Ready", 1.0)
    notes = []
    if given is not None and found.vocab_size != wanted.vocab_size:
        notes.append(f"The tokenizer has {found.vocab_size:,} pieces, and so has the model.")
    elif found.vocab_size < wanted.vocab_size:
        notes.append(
            f"The text, {chars:,} characters of it, gives {found.vocab_size:,} pieces where the recipe asks for "
            f"{wanted.vocab_size:,}: the model is smaller by the others. More text gives more of them."
        )
    return PreparedTask(numbers=msgspec.to_builtins(found), blobs=blobs, notes=tuple(notes))


def _given(path: str) -> Tokenizer:
    """The tokenizer in a file that the recipe names.

    Raises:
        BadInput: the file cannot be used.
    """
    tokenizer = read_unigram_file(Path(path))
    if not VOCAB_MIN <= (size := tokenizer.get_vocab_size()) <= VOCAB_MAX:
        message = "The tokenizer {path} has {size} pieces, not {least} to {most}."
        raise BadInput(message, path, f"{size:,}", VOCAB_MIN, f"{VOCAB_MAX:,}")
    return tokenizer


def chars_for(vocab_size: int) -> int:
    """How much text is read for a vocabulary, characters."""
    return min(CHARS_MAX, max(READ_CHARS, PIECE_CHARS * vocab_size))


def contents_of(
    tokenizer: Tokenizer, train: list[Document], held_out: list[Document], numbers: AlbertNumbers
) -> dict[str, Any]:
    """What a manifest's blobs hold of a text, by their names.

    Args:
        tokenizer: Cuts it.
        train: Its part for training.
        held_out: Its part to measure with.
        numbers: Numbers of the same vocabulary as the tokenizer.

    Raises:
        BadInput: the held-out text is too short.
    """
    texts = [[piece for sentence in pieces(tokenizer, document) for piece in sentence] for document in train]
    counted = Counter(piece for text in texts for piece in text)
    counts = [counted[piece] for piece in range(numbers.vocab_size)]
    measuring = measuring_batches(held_out, tokenizer, numbers)
    asked = [pair for batch in measuring for pair in zip(batch.before.tolist(), batch.words_M.tolist(), strict=True)]
    return {
        TOKENIZER: json.loads(tokenizer.to_str()),
        HELD_OUT: held_out,
        UNIGRAM: counts,
        NEIGHBOUR: msgspec.to_builtins(Neighbour(texts, counts).score(asked)),
    }
