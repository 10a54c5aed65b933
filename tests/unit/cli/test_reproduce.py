"""Each command that docs/reproduce.md names is one that there is, with those options."""

import importlib.util
import re
import shlex
from pathlib import Path

import pytest

from core.cli.program import parser
from tests.bench import program as bench
from tests.sim import program as sim

PARSERS = {"tests.bench": bench.parser, "tests.sim": sim.parser}
ROOT = Path(__file__).parents[3]
COMMANDS = [
    shlex.split(words)
    for words in re.findall(
        r"`((?:POTLUCK_LONG=1 )?(?:potluck|python) [^`]+)`", (ROOT / "docs/reproduce.md").read_text()
    )
]


def test_commands_are_found_in_the_text() -> None:
    assert len([words for words in COMMANDS if "tests.bench" in words]) >= 10
    assert len([words for words in COMMANDS if "pytest" in words]) >= 3


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_command_of_the_page_parses(words: list[str]) -> None:
    if words[0] == "potluck":
        assert callable(parser().parse_args(words[1:]).run)
        return
    _python, flag, module, *rest = words[words.index("python") :]
    if module in PARSERS:
        assert callable(PARSERS[module]().parse_args(rest).run)
        return
    assert (flag, importlib.util.find_spec(module) is not None) == ("-m", True)
    assert module != "pytest" or all((ROOT / path).is_file() for path in rest)
