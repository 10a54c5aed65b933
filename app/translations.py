"""Brings the translations of the window up to date: `python -m app.translations`.

All sentences that the window shows are found in the program's text.  For each language `potluck_*.ts` keeps what is
translated, loses what the program says no more, and has what is new marked as unfinished; Qt's lrelease makes a `.qm`
of it, which the window reads.  A translator edits the `.ts`, by hand or with Qt Linguist, and runs this again.
"""

import ast
import itertools
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "resources" / "translations"
TEMPLATES = FOLDER / "templates.txt"
CONTEXT = "potluck"
MARKS = frozenset(("tr", "later", "translate"))
"""Functions whose argument is a sentence in English."""
SPOKEN = (
    "app/shell/screen.py", "core/api/week.py", "core/backbone/admission_log.py", "core/joining/introduction.py",
    "core/joining/join.py", "core/backbone/kept_pass.py", "core/backbone/link.py", "core/joining/look.py",
    "core/backbone/names.py", "core/backbone/revocations.py", "core/backbone/welcome.py",
    "core/cli/engine/doctor.py", "core/cli/engine/doctor_senses.py", "core/cli/volunteer/joining.py",
    "core/cli/model/kept_model.py", "core/cli/model/model_process.py", "core/control/connection.py",
    "core/control/handlers.py", "core/engine",
    "core/nat/reachability.py", "core/net/listening.py", "core/storage/identity.py",
    "core/system/atomic_files.py", "core/system/keep_awake.py", "core/system/startup.py",
    "core/training/conversation.py", "core/training/devices/devices.py", "core/training/__main__.py",
    "core/training/devices/micro_batch.py", "core/training/replay.py",
    "core/training/learner.py", "core/training/standstill.py", "core/workers/evaluations.py",
    "core/workers/helper.py", "core/workers/trainer.py", "core/workers/worker.py",
)  # fmt: skip
"""Where engine and commands make sentences that the window shows."""
SENTENCE = re.compile(r"\A[A-Z][^\n]* [^\n]*(?:[.…]|: potluck [^\n]+)\Z")
TEMPLATE = re.compile(r"\A(?:[A-Z]|\{0\}[^\n{}]{12})[^\n]*[.…]\Z")
"""A sentence with values inside, which `app.words.values` finds again in what was said."""
LITERAL_LEAST = 9
"""Letters of a template that are not values: fewer would fit what means something else."""
FIELD = re.compile(r"\{\w+\}")
"""A sentence that is nothing but a value."""
TABLES = frozenset(
    ("SENTENCES", "HEADLINES", "HEADLINES_BY_REASON", "HAPPENINGS", "HINTS", "WORDS", "STALLED", "LEFT_OUT")
)
"""Names of the tables of core/api that have sentences by code."""
PHRASES = (
    "processor", "nats", "blanks", "letters", "word frequencies", "the word before", "letter frequencies",
    "the letter before", "this computer left the round", "the round's time is over",
    "the others went on without this computer", "the others finished the round without this computer",
    "the coordinator has committed another mean than this computer holds", "the others are in another round",
    "the contributions together have too few samples", "this computer's own contribution came too late",
    "no member is left to coordinate the round", "too few members are left", "too few contributions are left",
    "the state has changed", "the leader was lost", "the leader cancelled it", "no plan came",
    "no contribution arrived", "Reading text", "Reading the model", "Training the tokenizer", "Counting words",
    "Counting words, and pairs of them", "Ready", "{whose} is not ready yet: {why}", "{whose} does not answer.",
    "{whose} does not answer: this computer has no network.", "Potluck at home", "its founder",
    "A small language model learns to fill in missing words in the documentation that came with Python.",
    "A small GPT learns to write, letter by letter, as in the documentation that came with Python.",
    "by cable", "by Wi-Fi", "by mobile radio", "in a way not known", "through a router", "with no router in sight",
    "is used by another program", "does not answer", "is not usable", "ahead of", "behind", "the beginning",
    "the last key or touch", "the battery", "programs that fill the screen", "remote desktop", "the processor's heat",
    "have called", "called, some time ago,", "Potluck runs.", "There is no screen here.",
    "Without one, use the command line: potluck demo --headless",
)  # fmt: skip
"""Words of tasks (units, guesses, simple models, steps of preparing), a device, the demo, failed rounds and values."""


def main() -> int:
    """Write the files, and print what is left to be translated.

    Returns:
        The exit code: 1 where something is left.
    """
    found, left = sentences(), 0
    TEMPLATES.write_text("".join(f"{one}\n" for one in templates()), "utf-8", newline="\n")
    for file in sorted(FOLDER.glob("*.ts")):
        known = translations(file)
        file.write_text(catalogue(found, known, language=file.stem.partition("_")[2]), "utf-8", newline="\n")
        release(file)
        missing = [sentence for sentence in found if sentence not in known]
        left += len(missing)
        sys.stdout.write(f"{file.name}: {len(found)} sentences, {len(missing)} of them not translated\n")
        sys.stdout.writelines(f"  {sentence}\n" for sentence in missing)
    return 1 if left else 0


def sentences(root: Path = ROOT) -> list[str]:
    """Every sentence that the window may show, in English, sorted."""
    found = set(PHRASES)
    for file in (root / "app").rglob("*.py"):
        found |= set(marked(_tree(file)))
    for file in (root / "core" / "api").glob("*.py"):
        found |= set(marked(_tree(file))) | set(tabled(_tree(file)))
    for tree in _spoken_trees(root):
        found |= set(spoken(tree))
    found |= set(templates(root))
    return sorted(sentence for sentence in found if not FIELD.fullmatch(sentence))


def templates(root: Path = ROOT) -> list[str]:
    """Every sentence of engine and commands that has values inside: `{0}` stands for the first one."""
    found = {said for tree in _spoken_trees(root) for node in ast.walk(tree) if (said := templated(node))}
    return sorted(found)


def templated(node: ast.AST) -> str:
    """The template of an f-string; empty: it is not a sentence."""
    if not isinstance(node, ast.JoinedStr):
        return ""
    parts = [str(one.value) if isinstance(one, ast.Constant) else None for one in node.values]
    if any(part is not None and set("{}") & set(part) for part in parts):
        return ""
    numbers = itertools.count()
    said = "".join(f"{{{next(numbers)}}}" if part is None else part for part in parts)
    literal = sum(letter.isalpha() for part in parts for letter in part or "")
    return said if literal >= LITERAL_LEAST and TEMPLATE.match(said) else ""


def marked(tree: ast.AST) -> Iterator[str]:
    """Sentences that are arguments of `tr` and its like."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=called, args=[ast.Constant(value=str(sentence))]) if _name(called) in MARKS:
                yield sentence


def tabled(tree: ast.AST) -> Iterator[str]:
    """Sentences in the tables by code."""
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign) and _name(node.target) in TABLES and node.value is not None:
            for inner in ast.walk(node.value):
                if isinstance(inner, ast.Dict):
                    yield from (str(value.value) for value in inner.values if isinstance(value, ast.Constant))


def spoken(tree: ast.AST) -> Iterator[str]:
    """Plain strings that are whole sentences, from a capital letter to a full stop; docstrings do not count."""
    passed_over: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            passed_over.add(node.value)
        elif isinstance(node, ast.JoinedStr):
            passed_over.update(ast.walk(node))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in passed_over:
            yield from SENTENCE.findall(node.value)


def translations(file: Path) -> dict[str, str]:
    """Finished translations of a `.ts`, by sentence."""
    known = {}
    for message in ET.parse(file).iter("message"):  # noqa: S314 - a file of this repository
        said = message.find("translation")
        if said is not None and said.text and said.get("type") is None:
            known[message.findtext("source", "")] = said.text
    return known


def catalogue(found: list[str], known: Mapping[str, str], *, language: str) -> str:
    """The text of a `.ts`.

    Args:
        found: The sentences, in English.
        known: Their translations; what is left out is unfinished.
        language: Its code, such as "de".
    """
    root = ET.Element("TS", version="2.1", language=language, sourcelanguage="en")
    context = ET.SubElement(root, "context")
    ET.SubElement(context, "name").text = CONTEXT
    for sentence in found:
        message = ET.SubElement(context, "message")
        ET.SubElement(message, "source").text = sentence
        said = ET.SubElement(message, "translation", {} if sentence in known else {"type": "unfinished"})
        said.text = known.get(sentence, "")
    ET.indent(root, " ")
    text = ET.tostring(root, encoding="unicode", short_empty_elements=False)
    return f'<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE TS>\n{text}\n'


def release(source: Path) -> None:
    """Make a `.qm` beside a `.ts`, with Qt's lrelease, which comes with PySide6."""
    import PySide6  # noqa: PLC0415 - nothing else here needs it

    program = Path(PySide6.__path__[0]) / ("lrelease.exe" if sys.platform == "win32" else "lrelease")
    subprocess.run([str(program), "-silent", str(source), "-qm", str(source.with_suffix(".qm"))], check=True)


def _spoken_trees(root: Path) -> Iterator[ast.Module]:
    for place in SPOKEN:
        for file in [root / place] if place.endswith(".py") else sorted((root / place).rglob("*.py")):
            yield _tree(file)


def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text("utf-8"))


def _name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


if __name__ == "__main__":
    sys.exit(main())
