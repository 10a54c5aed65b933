"""Training a tokenizer on text that is streamed, and looking at how well it cuts what it was not trained on."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from core.base.problems import BadInput
from core.system.atomic_files import public_file, write_atomic
from core.tasks.tokenizers.report import DOCUMENTS_MAX, TokenizerReport, report
from core.tasks.tokenizers.unigram import recipe_of, train_unigram
from core.text.order.documents import Document, is_held_out
from core.text.sources.requests import TokenizerRequest
from core.text.sources.texts import documents_in
from core.training.programs.child import given_secrets, say
from core.training.programs.opened_text import LOSSES_MAX, Loss, OpenedText

READING_SHARE = 0.5
"""Part of the progress that people see for reading."""
EVERY = 500


class Trained(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="trained"):
    """A tokenizer was trained, and written to a file."""

    path: str
    recipe: str
    sample_characters: int
    """Characters of the text that it was trained on."""
    losses: tuple[Loss, ...]
    """What of the sample's files was not read, the first of it."""
    loss_count: int
    report: TokenizerReport


class SampledText:
    """The text that a tokenizer is trained on, read once while it is; a few held-out documents are kept.

    Args:
        text: The source.
        bytes_max: Upper bound on the text.
    """

    def __init__(self, text: OpenedText, bytes_max: int) -> None:
        self._text = text
        self._bytes_max = bytes_max
        self.held_out: list[Document] = []
        self.characters = 0

    def sentences(self) -> Iterator[str]:
        """The sentences to be learned from."""
        number = read = 0
        for text in self._text.sampled(self._bytes_max):
            for document in documents_in(text):
                if is_held_out(document):
                    if len(self.held_out) < DOCUMENTS_MAX:
                        self.held_out.append(document)
                    continue
                self.characters += sum(map(len, document))
                yield from document
            read += len(text)
            number += 1
            if number % EVERY == 0:
                say(
                    "progress", text="Reading text", fraction=min(READING_SHARE, READING_SHARE * read / self._bytes_max)
                )
        say("progress", text="Training the tokenizer", fraction=READING_SHARE)


def trained(asked: TokenizerRequest) -> Trained:
    """Train a tokenizer and write it to a file.

    Raises:
        BadInput: recipe or text cannot be used.
        NoSpace: the disk is full.
    """
    recipe = recipe_of(asked.recipe)
    text = OpenedText(asked.source, given_secrets())
    sampled = SampledText(text, asked.sample_bytes)
    tokenizer = train_unigram(
        sampled.sentences(), vocab_size=asked.vocab_size or recipe.vocab_size, recipe=asked.recipe
    )
    if not sampled.held_out:
        raise BadInput(
            "There is too little text in {address}: {characters} characters, and none to look at the tokenizer with.",
            asked.source.address,
            f"{sampled.characters:,}",
            hint="Give more text; a few million characters are a beginning.",
        )
    say("progress", text="Cutting held-out text", fraction=0.95)
    found = report(tokenizer, sampled.held_out)
    write_atomic(Path(asked.out), tokenizer.to_str().encode(), mode=public_file())
    losses = text.losses()
    return Trained(
        path=asked.out,
        recipe=asked.recipe,
        sample_characters=sampled.characters,
        losses=tuple(losses[:LOSSES_MAX]),
        loss_count=len(losses),
        report=found,
    )
