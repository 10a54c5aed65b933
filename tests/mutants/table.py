"""The table of mutants: which line is made wrong how, and which tests are to notice it."""

import ast
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
TABLES: Final = tuple(sorted(Path(__file__).parent.glob("*.toml")))
"""One table for each room: `[name]`, then the fields of `Mutant`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """The program with one line wrong."""

    name: str
    file: str
    """The module, from the root of the repository."""
    old: str
    """A part of one line that stands in the file exactly once."""
    new: str
    """What stands in its place."""
    tests: tuple[str, ...]
    """Files of tests, of which one must fail."""
    equivalent: str = ""
    """Why no test can notice it; empty: one must."""

    def apply(self, root: Path) -> str:
        """The text of the file with the wrong line.

        Raises:
            ValueError: the mutant does not fit the code, or is not one; the sentence says why.
        """
        try:
            text = (root / self.file).read_text(encoding="utf-8")
        except OSError as error:
            raise ValueError(f"{self.file} cannot be read") from error
        if text.count(self.old) != 1:
            raise ValueError(f"the old text stands {text.count(self.old)} times in {self.file}")
        if self.old == self.new or "\n" in self.old + self.new:
            raise ValueError("it changes nothing, or more than one line")
        missing = [path for path in self.tests if not (root / path).is_file()]
        if missing or not self.tests:
            raise ValueError(f"its tests are not there: {', '.join(missing)}")
        mutated = text.replace(self.old, self.new)
        try:
            ast.parse(mutated)
        except SyntaxError as error:
            raise ValueError("the wrong line is no Python") from error
        return mutated


def load(tables: Iterable[Path] = TABLES) -> list[Mutant]:
    """All mutants, table by table.

    Raises:
        ValueError: two have the same name.
    """
    found: dict[str, Mutant] = {}
    for table in tables:
        for name, fields in tomllib.loads(table.read_text(encoding="utf-8")).items():
            if name in found:
                raise ValueError(f"there are two mutants {name}")
            found[name] = Mutant(name=name, **{**fields, "tests": tuple(fields["tests"])})
    return list(found.values())
