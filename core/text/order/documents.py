"""From text to documents: paragraphs are found, cut into sentences, and joined until a document is long enough.

A document is a list of sentences that stand in order.  Whether it is held out follows from its own text, so that all
peers agree without asking each other.
"""

import ast
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal

from core.text.order.sentences import sentences_of

Document = list[str]
Part = Literal["train", "held-out"]

HELD_OUT_PER_MILLE: Final = 40
DOCUMENT_CHARS_MAX: Final = 4000
"""Characters of a document, give or take a paragraph; a longer text becomes several documents."""
LINE_CHARS_MAX: Final = 20_000
"""Characters of a paragraph where a text has no empty lines; readers give longer lines in pieces of this length."""

_PARAGRAPH_END: Final = re.compile(r"\n\s*\n")


def documents_of(paragraphs: Iterable[str]) -> Iterator[Document]:
    """Cut paragraphs into sentences, and begin a new document after `DOCUMENT_CHARS_MAX` characters."""
    document: Document = []
    chars = 0
    for paragraph in paragraphs:
        document.extend(sentences_of(paragraph))
        chars += len(paragraph)
        if chars >= DOCUMENT_CHARS_MAX:
            yield document
            document, chars = [], 0
    if document:
        yield document


def paragraphs_of(pieces: Iterable[str]) -> Iterator[str]:
    """Join lines, or pieces of long ones, to paragraphs: what stands between empty lines, or `LINE_CHARS_MAX`."""
    lines: list[str] = []
    chars = 0
    for line in pieces:
        if not line.strip() or chars > LINE_CHARS_MAX:
            yield "".join(lines)
            lines, chars = [], 0
        lines.append(line)
        chars += len(line)
    yield "".join(lines)


def docstring_paragraphs(program: str, *, topics: bool) -> Iterator[str]:
    """Paragraphs of a Python program's documentation; the program is parsed, never run.

    Args:
        program: Its source text.
        topics: Read all its strings, as is right for the manual's topics (`pydoc_data.topics`), not only docstrings.

    Raises:
        SyntaxError: it is not a Python program; ValueError and RecursionError tell of some that are not.
    """
    tree = ast.parse(program)
    if topics:
        strings = (n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str))
        for text in strings:
            yield from _PARAGRAPH_END.split(text)
        return
    waiting: list[ast.stmt | ast.Module] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _PARAGRAPH_END.split(ast.get_docstring(node) or "")
        if isinstance(node, ast.Module | ast.ClassDef | ast.If | ast.Try):
            waiting.extend(reversed(node.body))


def is_held_out(document: Sequence[str]) -> bool:
    """Whether a document is kept for measuring: 4 % of them, chosen by the hash of their text."""
    digest = hashlib.blake2b("\n".join(document).encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % 1000 < HELD_OUT_PER_MILLE
