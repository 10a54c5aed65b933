"""Brings the translations of the window up to date: `python -m app.translations`.

All sentences that people are told are found in the program's text.  For each language `potluck_*.ts` keeps what is
translated, loses what the program says no more, and has what is new marked as unfinished; Qt's lrelease makes a `.qm`
of it, which the window reads.  A translator edits the `.ts`, by hand or with Qt Linguist, and runs this again.
`qtbase_*.ts` has words of Qt itself in a language in which Qt comes without them.
"""

import ast
import itertools
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "resources" / "translations"
CONTEXT = "potluck"
WORDS = frozenset(("later", "translate", "progress"))
"""Functions whose first argument is a sentence in English."""
FILLED = frozenset(("tr", "Sentence"))
"""The same, with its values after it."""
SPOKEN = "Spoken"
"""The exception whose texts are sentences, and of those below it."""
VIEW = frozenset(("hint", "advice"))
"""Fields of structures whose texts are sentences."""
SENTENCES = frozenset(("message", "hint", "sentence", "advice", "text", "note"))
"""Names of arguments that are sentences there."""
TABLES = frozenset(
    (
        "SENTENCES",
        "HEADLINES",
        "HEADLINES_BY_REASON",
        "HAPPENINGS",
        "HINTS",
        "WORDS",
        "STALLED",
        "LEFT_OUT",
        "ENDINGS",
        "RESTS",
        "WHOSE",
        "SAMPLES",
    )
)
"""Names of the tables of core/api that have sentences by code."""
PHRASES = (
    "Potluck at home",
    "A small language model learns to fill in missing words in the documentation that came with Python.",
    "A small GPT learns to write, letter by letter, as in the documentation that came with Python.",
    "A mixture of experts learns to write, letter by letter, as in the documentation that came with Python.",
)
"""Words of the collaborations that come along, which are an organiser's words elsewhere."""
FIELD = re.compile(r"\{\w+\}|")
"""A sentence that is nothing, or nothing but a value."""


def main() -> int:
    """Write the files, and print what is left to be translated.

    Returns:
        The exit code: 1 where something is left.
    """
    found, left = sentences(trees()), 0
    for file in sorted(FOLDER.glob("qtbase_*.ts")):
        release(file)
    for file in sorted(FOLDER.glob("potluck_*.ts")):
        known = translations(file)
        file.write_text(catalogue(found, known, language=file.stem.partition("_")[2]), "utf-8", newline="\n")
        release(file)
        missing = [sentence for sentence in found if sentence not in known]
        left += len(missing)
        sys.stdout.write(f"{file.name}: {len(found)} sentences, {len(missing)} of them not translated\n")
        sys.stdout.writelines(f"  {sentence}\n" for sentence in missing)
    return 1 if left else 0


def sentences(modules: Sequence[ast.Module]) -> list[str]:
    """Every sentence that people may be told, in English, sorted.

    Args:
        modules: All modules of the program.
    """
    found = set(PHRASES)
    for telling in tellings(modules):
        found |= {str(text.value) for texts in telling.texts for text in texts if isinstance(text, ast.Constant)}
    for tree in modules:
        found |= set(tabled(tree))
    return sorted(sentence for sentence in found - {CONTEXT} if not FIELD.fullmatch(sentence))


def trees(root: Path = ROOT) -> list[ast.Module]:
    """All modules of the program."""
    return [ast.parse(file.read_text("utf-8")) for part in ("app", "core") for file in (root / part).rglob("*.py")]


class Telling(NamedTuple):
    """A call that makes sentences."""

    call: ast.Call
    given: list[ast.expr]
    """Its arguments that are sentences."""
    texts: list[list[ast.Constant | ast.JoinedStr]]
    """What each of them may be; an f-string is not a sentence, and can only be refused."""
    values: list[ast.expr] | None
    """What stands in their fields; None: this call does not take it."""


def tellings(modules: Sequence[ast.Module]) -> Iterator[Telling]:
    """Every call that makes sentences, also out of words that have a name there."""
    spoken, views = _spoken(modules)
    marks = WORDS | FILLED
    for nodes, named in itertools.chain.from_iterable(map(_scopes, modules)):
        for node in nodes:
            if isinstance(node, ast.Call) and (name := _name(node.func)) in spoken | views | marks:
                place = 0 if name in marks else None if name in views else _place(node, named)
                given = node.args if name in views else [] if place is None else node.args[place : place + 1]
                given = given + [one.value for one in node.keywords if one.arg in SENTENCES and name not in marks]
                texts = [[text for text in _texts(one, named) if name in marks or _is_sentence(text)] for one in given]
                yield Telling(node, given, texts, None if place is None or name in WORDS else node.args[place + 1 :])


def tabled(tree: ast.AST) -> Iterator[str]:
    """Sentences in the tables by code."""
    for node in _statements(tree):
        if isinstance(node, ast.AnnAssign) and _name(node.target) in TABLES and node.value is not None:
            for inner in ast.walk(node.value):
                if isinstance(inner, ast.Dict):
                    yield from (str(value.value) for value in inner.values if isinstance(value, ast.Constant))


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


def _spoken(modules: Sequence[ast.Module]) -> tuple[set[str], set[str]]:
    """Names of the exceptions below `SPOKEN`, and of the structures that have a field of `VIEW`."""
    classes = [node for tree in modules for node in _statements(tree) if isinstance(node, ast.ClassDef)]
    spoken = {SPOKEN}
    while more := {one.name for one in classes if spoken & set(map(_name, one.bases))} - spoken:
        spoken |= more
    return spoken, {one.name for one in classes if VIEW & _fields(one)}


def _fields(one: ast.ClassDef) -> set[str]:
    return {_name(part.target) for part in one.body if isinstance(part, ast.AnnAssign)}


def _statements(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes of a module except its expressions, which are most of them."""
    todo = deque([tree])
    while todo:
        node = todo.popleft()
        yield node
        todo.extend(child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr))


def _place(call: ast.Call, named: Mapping[str, list[ast.expr]]) -> int | None:
    """Where the message stands among the arguments of an exception, which may have a code before it."""
    places = (at for at, one in enumerate(call.args) if any(map(_is_sentence, _texts(one, named))))
    return next(places, None)


def _scopes(tree: ast.Module) -> Iterator[tuple[list[ast.AST], dict[str, list[ast.expr]]]]:
    """All nodes of a module that are in no function, and those of each function, with what names may stand for."""
    outside: list[ast.AST] = []
    functions: list[ast.AST] = []
    todo: deque[ast.AST] = deque([tree])
    while todo:
        node = todo.popleft()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            functions.append(node)
        else:
            outside.append(node)
            todo.extend(ast.iter_child_nodes(node))
    everywhere = _named(outside)
    yield outside, everywhere
    for function in functions:
        nodes = list(ast.walk(function))
        yield nodes, everywhere | _named(nodes)


def _named(nodes: Sequence[ast.AST]) -> dict[str, list[ast.expr]]:
    """What names may stand for that are given there."""
    found: dict[str, list[ast.expr]] = defaultdict(list)
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
                for name, value in zip(names, values, strict=False):
                    found[_name(name)].append(value)
            case ast.Assign(targets=[name], value=value) | ast.AnnAssign(target=name, value=ast.expr() as value):
                found[_name(name)].append(value)
    return found


def _texts(node: ast.AST, named: Mapping[str, list[ast.expr]]) -> Iterator[ast.Constant | ast.JoinedStr]:
    """The texts that an argument may be; what is found in a name is looked at as it is."""
    match node:
        case ast.Constant(value=str()) | ast.JoinedStr():
            yield node
        case ast.IfExp(body=one, orelse=other):
            yield from (text for each in (one, other) for text in _texts(each, named))
        case ast.BoolOp(values=parts) | ast.Dict(values=parts):
            yield from (text for each in parts for text in _texts(each, named))
        case ast.Name(id=name):
            yield from (text for each in named.get(name, ()) for text in _texts(each, {}))
        case ast.Subscript(value=ast.Name(id=name)):
            yield from (text for each in named.get(name, ()) for text in _texts(each, {}))
        case ast.Call(func=ast.Attribute(value=table, attr="get"), args=[_, other]):
            yield from (text for each in (table, other) for text in _texts(each, named))


def _is_sentence(text: ast.Constant | ast.JoinedStr) -> bool:
    """Codes have no blanks, and what only a log tells begins with a small letter."""
    first = text.values[0] if isinstance(text, ast.JoinedStr) else text
    words = str(first.value) if isinstance(first, ast.Constant) else "A value"
    return not words[:1].islower() and (" " in words or "{" in words or first is not text)


def _name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


if __name__ == "__main__":
    sys.exit(main())
