"""What the documents name is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORDS_MAX = {"README.md": 900, "ARCHITECTURE.md": 2000}
PAGES = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "tests/README.md",
    *(page.relative_to(ROOT).as_posix() for page in ROOT.glob("docs/**/*.md")),
]
PATH = r"`((?:app|core|docs|packaging|resources|tests)/[\w/.-]*)[^`]*`"
"""A path in a page, with or without a line and a name after it."""


def test_each_path_of_the_glossary_exists() -> None:
    paths = re.findall(r"\(`((?:app|core|tests)[^`]*)`", (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"))
    assert len(paths) > 150
    assert [path for path in paths if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", PAGES)
def test_each_path_of_a_page_exists(page: str) -> None:
    named = re.findall(PATH, (ROOT / page).read_text(encoding="utf-8"))
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_each_path_of_the_picture_exists() -> None:
    picture = (ROOT / "docs" / "house.svg").read_text(encoding="utf-8")
    named = re.findall(r">((?:app|core)(?:/\w+)*)<", picture)
    assert len(named) > 15
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", WORDS_MAX)
def test_page_is_short(page: str) -> None:
    assert len((ROOT / page).read_text(encoding="utf-8").split()) <= WORDS_MAX[page]


@pytest.mark.parametrize("page", PAGES)
def test_each_link_of_a_page_leads_somewhere(page: str) -> None:
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", (ROOT / page).read_text(encoding="utf-8"))
    local = [link for link in links if "://" not in link]
    assert [link for link in local if not ((ROOT / page).parent / link).exists()] == []


def test_each_test_of_the_attacks_page_exists() -> None:
    page = (ROOT / "tests" / "attacks" / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page)
    assert len(named) > 30
    assert [one for one in named if f"def {one[1]}(" not in (ROOT / one[0]).read_text(encoding="utf-8")] == []
    places = re.findall(r"`((?:app|core|packaging|docs)/[^`]*)`", page)
    assert [place for place in places if not (ROOT / place).exists()] == []


def test_each_folder_of_tests_stands_in_its_page() -> None:
    page = (ROOT / "tests" / "README.md").read_text(encoding="utf-8")
    folders = {path.parent.name for path in (ROOT / "tests").glob("*/*.py")}
    assert sorted(folders - set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))) == []
