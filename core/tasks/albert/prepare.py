"""What the organiser does once: read text, train the tokenizer, choose the held-out text, count words.

    python -m core.tasks.albert.prepare --source python-docs --out FOLDER

prints one JSON object a line: `progress` (text, fraction), then `prepared` (numbers, blobs, optimizer, target_samples)
or `problem` (code, message, hint; exit code 2).
"""

import argparse
import json
import os
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from core.base.manifest import Number
from core.base.problems import BadInput, UserProblem
from core.data.documents import Document
from core.data.sources import Part, parted
from core.system.atomic_files import make_directory, write_atomic
from core.tasks.albert.numbers import AlbertNumbers, default_numbers, default_optimizer, default_target_samples
from core.tasks.text_files import PYTHON_DOCS, TextFiles, offline
from core.tasks.tokenizers.unigram import pieces, train_unigram

TOKENIZER: Final = "tokenizer"
HELD_OUT: Final = "held_out"
UNIGRAM: Final = "unigram"

TRAINING_CHARS_MAX: Final = 3_000_000
"""Text that the tokenizer is trained on and words are counted in, at most."""
TEXT_CHARS_MIN: Final = 20_000
"""With less there is nothing to learn."""
HELD_OUT_CHARS_MIN: Final = 500
ORDER_SEED: Final = 0


@dataclass(frozen=True, slots=True)
class PreparedTask:
    """The part of a manifest that belongs to the task."""

    numbers: dict[str, Number]
    blobs: dict[str, Path]
    """Files by the names that the task knows them by."""


def prepare(source: str | Path, out_dir: Path, *, progress: Callable[[str, float], None]) -> PreparedTask:
    """Make what a manifest needs.

    Args:
        source: "python-docs" or a folder of text files.
        out_dir: Where the files go.
        progress: Told what happens, and the share that is done.

    Raises:
        BadInput: the text cannot be used.
        NoSpace: the disk is full.
    """
    name = PYTHON_DOCS if str(source) == PYTHON_DOCS else str(Path(source).absolute())
    progress("Reading text", 0.0)
    train, held_out = _read(name, progress)
    progress("Training the tokenizer", 0.6)
    tokenizer = train_unigram((" ".join(d) for d in train), vocab_size=AlbertNumbers().vocab_size)
    progress("Counting words", 0.9)
    vocab_size = tokenizer.get_vocab_size()
    counted = Counter(piece for d in train for sentence in pieces(tokenizer, d) for piece in sentence)
    make_directory(out_dir)
    contents = {
        TOKENIZER: tokenizer.to_str().encode(),
        HELD_OUT: json.dumps(held_out).encode(),
        UNIGRAM: json.dumps([counted[piece] for piece in range(vocab_size)]).encode(),
    }
    blobs = {key: out_dir / f"{key}.json" for key in contents}
    for key, data in contents.items():
        write_atomic(blobs[key], data)
    progress("Ready", 1.0)
    return PreparedTask(default_numbers(name) | {"vocab_size": vocab_size}, blobs)


def main(arguments: Sequence[str] | None = None) -> int:
    """The program; see the module's docstring."""
    parser = argparse.ArgumentParser(prog="prepare", description="Prepare text for a collaboration.")
    parser.add_argument("--source", default=PYTHON_DOCS, help="python-docs, or a folder of text files")
    parser.add_argument("--out", type=Path, required=True, help="where the files go")
    parser.add_argument("--with-parent", action="store_true", help="end when standard input closes")
    chosen = parser.parse_args(arguments)
    if chosen.with_parent:
        threading.Thread(target=_watch_parent, daemon=True).start()
    try:
        with tempfile.TemporaryDirectory(prefix="potluck-") as cache:
            offline(Path(cache))
            os.environ["USE_TORCH"] = "0"  # nothing here needs it, and importing it takes seconds
            done = prepare(
                chosen.source, chosen.out, progress=lambda text, share: _say("progress", text=text, fraction=share)
            )
    except UserProblem as problem:
        _say("problem", code=problem.code, message=problem.message, hint=problem.hint)
        return 2
    _say(
        "prepared",
        numbers=done.numbers,
        blobs={name: str(path.absolute()) for name, path in done.blobs.items()},
        optimizer=msgspec.to_builtins(default_optimizer()),
        target_samples=default_target_samples(),
    )
    return 0


def _watch_parent() -> None:
    """End with whoever started this program."""
    while os.read(0, 4096):
        pass
    os._exit(0)


def _say(event: str, **words: Any) -> None:
    sys.stdout.write(json.dumps({"event": event, **words}) + "\n")
    sys.stdout.flush()


def _read(source: str, progress: Callable[[str, float], None]) -> tuple[list[Document], list[Document]]:
    """The beginnings of the text for training and of the held-out text."""
    texts: dict[Part, list[Document]] = {"train": [], "held-out": []}
    chars = 0
    for number, (part, document) in enumerate(parted(TextFiles(source), seed=ORDER_SEED)):
        texts[part].append(document)
        chars += sum(map(len, document))
        if number % 100 == 0:
            progress("Reading text", 0.6 * chars / TRAINING_CHARS_MAX)
        if chars >= TRAINING_CHARS_MAX:
            break
    train, held_out = texts["train"], texts["held-out"]
    if _chars(train) < TEXT_CHARS_MIN or _chars(held_out) < HELD_OUT_CHARS_MIN:
        raise BadInput(
            f"There is too little text to learn from: {chars} characters.",
            hint="Give a folder with more text; half a million characters is a good beginning.",
        )
    return train, held_out


def _chars(found: Iterable[Document]) -> int:
    return sum(len(sentence) for document in found for sentence in document)


if __name__ == "__main__":
    sys.exit(main())
