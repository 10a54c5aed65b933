"""docs/a-round.md names lines of the code.  `python tests/unit/test_a_round.py` writes their numbers anew."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs" / "a-round.md"
STOPS_MAX: Final = 18
PLACE: Final = re.compile(r"`(core/[\w/]+\.py):(\d+) ([\w.]+)`")
"""A file, a line, and the class or function that is defined there, by its qualified name."""


def definitions(file: Path) -> Iterator[tuple[str, int]]:
    """Names of the classes, functions and methods of a file, and their lines."""
    if not file.is_file():
        return
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            yield node.name, node.lineno
            for part in node.body:
                if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield f"{node.name}.{part.name}", part.lineno
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node.lineno


def true_place(path: str, name: str) -> str:
    """Where a name is defined now; a file that has moved is looked for.

    Raises:
        LookupError: the name is defined nowhere, or in several files.
    """
    for file in ([ROOT / path], (ROOT / "core").rglob("*.py")):
        found = [(one, line) for one in file for defined, line in definitions(one) if defined == name]
        if len(found) == 1:
            where, line = found[0]
            return f"`{where.relative_to(ROOT).as_posix()}:{line} {name}`"
    raise LookupError(f"{name} of {path} is defined {len(found)} times")


def test_each_place_of_the_page_is_where_it_says():
    places = list(PLACE.finditer(PAGE.read_text(encoding="utf-8")))
    assert len(places) > STOPS_MAX
    moved = [place[0] for place in places if (place[3], int(place[2])) not in definitions(ROOT / place[1])]
    assert moved == [], "python tests/unit/test_a_round.py writes the lines anew"


def test_page_has_at_most_eighteen_stops():
    stops = re.findall(r"^\d+\. ", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert 0 < len(stops) <= STOPS_MAX


if __name__ == "__main__":
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(PLACE.sub(lambda place: true_place(place[1], place[3]), page), encoding="utf-8")
