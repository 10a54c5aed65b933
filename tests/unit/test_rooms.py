"""docs/rooms.md is what the packages say of themselves.  `python tests/unit/test_rooms.py` writes it anew."""

import ast
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs" / "rooms.md"
HEAD: Final = """# Rooms

Made of the packages' docstrings by `python tests/unit/test_rooms.py`; a test sees that it is true.

| room | what it is for |
|---|---|
"""


def rooms() -> str:
    """The whole page."""
    packages = sorted(path.parent for top in ("app", "core") for path in (ROOT / top).rglob("__init__.py"))
    return HEAD + "".join(_row(package) for package in packages)


def _row(package: Path) -> str:
    said = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8"))) or ""
    sentence = " ".join(said.partition("\n\n")[0].split())
    return f"| `{package.relative_to(ROOT).as_posix()}` | {sentence} |\n"


def test_page_of_rooms_is_what_the_packages_say():
    assert PAGE.read_text(encoding="utf-8") == rooms()


def test_every_room_says_what_it_is_for():
    silent = [line for line in rooms().removeprefix(HEAD).splitlines() if line.endswith("|  |")]
    assert silent == []


if __name__ == "__main__":
    PAGE.write_text(rooms(), encoding="utf-8")
