"""Tasks small enough for tests, prepared by the real preparation from text made on the spot."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from random import Random

from core.base.data_source import DataSource
from core.tasks import module_of
from core.tasks.task import PreparedTask
from core.tasks.text import text_of

SENTENCE = (
    "the swarm shares work and every peer gives what it can while others sleep a round ends when all have answered "
    "light bread soup pepper bean onion carrot table guest plate kitchen fire water salt spoon ladle pot lid bowl"
)
WORDS = SENTENCE.split()
SMALL = {
    "albert": {
        "sequence_length": 32,
        "embedding_size": 32,
        "hidden_size": 32,
        "intermediate_size": 64,
        "layers": 1,
        "heads": 2,
        "micro_batch": 8,
        "held_out": 16,
    },
    "gpt": {"length": 32, "heads": 2, "head_width": 16, "layers": 1, "micro_batch": 8, "held_out": 16},
}
"""Sizes by task.  A worker that trains the GPT is there in a third of the time: ALBERT's library is large."""


def text_folder(folder: Path, *, characters: int = 150_000, seed: int = 1) -> Path:
    """A folder of text files in which some words like to follow others."""
    random = Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(4):
        place, sentences = 0, []
        while sum(map(len, sentences)) < characters // 4:
            words = []
            for _ in range(random.randint(5, 12)):
                place = (place + random.choice([1, 1, 1, 2, 7])) % len(WORDS)
                words.append(WORDS[place])
            sentences.append(" ".join(words).capitalize() + ".")
        paragraphs = [" ".join(sentences[i : i + 5]) for i in range(0, len(sentences), 5)]
        (folder / f"{number}.txt").write_text("\n\n".join(paragraphs))
    return folder


def sources_in(folder: Path) -> tuple[DataSource]:
    """What a manifest says of the text in a folder."""
    return (DataSource(address=str(folder)),)


def small_data(prepared: PreparedTask) -> tuple[DataSource]:
    """What a manifest says of the text of a task that `small_task` has prepared."""
    return sources_in(next(iter(prepared.blobs.values())).parent / "text")


def small_task(folder: Path, numbers: Mapping[str, int] | None = None, *, task: str = "albert") -> PreparedTask:
    """The prepared task, whose text is that of `small_data`; `numbers` change the small model's sizes."""
    text = text_of(sources_in(text_folder(folder / "text")))
    prepared = module_of(task).prepare({}, text, folder, progress=lambda *_: None)
    return replace(prepared, numbers=prepared.numbers | SMALL[task] | dict(numbers or {}))
