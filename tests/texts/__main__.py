"""Read odd files with the program's own commands, and count what each of them finds.

python -m tests.texts [--only WORDS] [--quick]      inspect, cut and found on each file, alone and beside good ones

Prints a table: the texts that are in the file (of plain text the words), what each command has found, and what it says
of the rest.  Exit code 1: a command has found other texts, told another loss, or ended otherwise than with a sentence.
The texts that `cut` and `found` have written are read here with Python's own libraries, and compared letter by letter.
"""

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.texts.cases import BESIDE, CASES, Case

RECIPE: Final = """
name = "Odd"
task = "gpt"
target_samples = 512
[[data]]
address = {address}
column = {column}
[model]
alphabet = 64
length = 64
heads = 2
head_width = 8
layers = 1
[optimizer]
name = "adamw"
"""
ENDS: Final = {0, 2}
"""How a command may end: done, or with a sentence."""
PATIENCE_S: Final = 300


class Answer(NamedTuple):
    """What a command has found."""

    count: int
    """Number of texts; where it is plain text, of words."""
    letters: str | None
    """The letters of all that was written, without spaces; None: the command writes nothing."""
    losses: tuple[str, ...]
    refused: str
    """The sentence with which it ended; empty: it is done."""
    broken: str = ""
    """How it ended instead."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.texts", description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="WORDS", help="files whose names hold these words")
    parser.add_argument("--quick", action="store_true", help="without `found`, which takes most of the time")
    args = parser.parse_args()
    commands = {"inspect": _inspect, "cut": _cut} | ({} if args.quick else {"found": _found})
    tried = right = 0
    _print(f"{'file':<30} {'where':<7} {'texts':>7} {' '.join(f'{name:>7}' for name in commands)}  what is told")
    for name, case in CASES.items():
        for beside in (False, True) if args.only in name else ():
            with tempfile.TemporaryDirectory(prefix="potluck-texts-") as made:
                folder = Path(made, "texts")
                folder.mkdir()
                expected = case.write(folder, beside=len(BESIDE) * beside)
                answers = [ask(case, folder, Path(made)) for ask in commands.values()]
            count = sum(len(text.split()) for text in expected) if case.plain else len(expected)
            wrong = [why for answer in answers for why in _differences(case, answer, expected, count)]
            wrong += ["the commands tell other losses"] * (len({one.losses for one in answers}) > 1)
            told = "; ".join(answers[0].losses) or answers[0].refused
            counts = " ".join(f"{answer.count:>7}" for answer in answers)
            _print(f"{name:<30} {'beside' if beside else 'alone':<7} {count:>7} {counts}  {told}")
            for why in dict.fromkeys(wrong):
                _print(f"    DIFFERENT: {why}")
            tried, right = tried + 1, right + (not wrong)
    _print(f"{right} of {tried} are the same everywhere.")
    return 0 if right == tried else 1


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _differences(case: Case, answer: Answer, expected: list[str], count: int) -> Iterator[str]:
    if answer.broken:
        yield answer.broken
    elif not expected:
        if not answer.refused or "Traceback" in answer.refused:
            yield f"it is not refused: {answer.count} texts"
    elif answer.refused:
        yield f"it is refused: {answer.refused}"
    else:
        if answer.count != count:
            yield f"{answer.count} in the place of {count}"
        if answer.letters is not None and answer.letters != "".join("".join(expected).split()):
            yield "other letters"
        if case.loss not in "; ".join(answer.losses) or len(answer.losses) != bool(case.loss):
            yield f"told: {answer.losses}"


def _inspect(case: Case, folder: Path, _: Path) -> Answer:
    words = ["data", "inspect", str(folder), "--column", case.column, "--sample-mb", "1000", "--json"]
    return _asked(
        words, "inspected", lambda found: (round(found["words"]) if case.plain else found["sample_texts"], None)
    )


def _cut(case: Case, folder: Path, made: Path) -> Answer:
    out = made / "cut"
    words = ["data", "cut", str(folder), "--column", case.column, "--out", str(out), "--gzip", "--json"]
    return _asked(words, "cut", lambda found: _written(case, out, found["documents"]))


def _found(case: Case, folder: Path, made: Path) -> Answer:
    recipe, charter = made / "odd.toml", made / "charter"
    recipe.write_text(RECIPE.format(address=json.dumps(str(folder)), column=json.dumps(case.column)), encoding="utf-8")
    words = ["found", str(recipe), "--charter", str(charter), "--host", "127.0.0.1", "--json"]
    return _asked(words, "founded", lambda said: _written(case, charter / "shards" / "0", said["text"][0]["documents"]))


def _asked(words: list[str], event: str, read: Any) -> Answer:
    environment = {**os.environ, "POTLUCK_KEYRING": "off", "POTLUCK_SENSES": "off"}
    done = subprocess.run(
        [sys.executable, "-m", "core", *words], capture_output=True, env=environment, timeout=PATIENCE_S, check=False
    )
    said = done.stderr.decode(errors="replace")
    answers = [json.loads(line) for line in done.stdout.decode("ascii").splitlines()]
    if done.returncode not in ENDS or "Traceback" in said:
        return Answer(0, None, (), "", f"{words[0]} ends with {done.returncode}: {said[-300:]}")
    if done.returncode:
        sentence = said or " ".join(str(one.get("message", "")) for one in answers)
        return Answer(0, None, (), " ".join(sentence.split())[:160])
    (found,) = (one for one in answers if one["event"] == event)
    losses = (found["text"][0] if event == "founded" else found)["losses"]
    count, letters = read(found)
    return Answer(count, letters, tuple(loss["words"] for loss in losses), "")


def _written(case: Case, folder: Path, documents: int) -> tuple[int, str]:
    """The number of texts, or of words, in shards, and their letters."""
    texts = [json.loads(line)["text"] for path in sorted(folder.glob("*.jsonl.*")) for line in _lines(path)]
    letters = "".join("".join(text.split()) for text in texts)
    if case.plain:
        return sum(len(text.split()) for text in texts), letters
    return (documents if documents == len(texts) else -documents), letters


def _lines(path: Path) -> list[bytes]:
    if path.suffix == ".gz":
        return gzip.decompress(path.read_bytes()).splitlines()
    own = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    data: bytes = import_module(own).decompress(path.read_bytes())
    return data.splitlines()


if __name__ == "__main__":
    sys.exit(main())
