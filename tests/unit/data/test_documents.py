import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.order.documents import (
    DOCUMENT_CHARS_MAX,
    LINE_CHARS_MAX,
    docstring_paragraphs,
    documents_of,
    paragraphs_of,
)

PROGRAM = '''"""Module says this. And that."""
raise SystemExit
class A:
  "A class."
  def f(self):
    """A method.

    Its second
    paragraph."""
'''


def test_docstrings_are_read_in_order_without_running_the_program() -> None:
    assert list(documents_of(docstring_paragraphs(PROGRAM, topics=False))) == [
        ["Module says this.", "And that.", "A class.", "A method.", "Its second paragraph."]
    ]


def test_topics_are_read_from_all_strings() -> None:
    program = "topics = {'if': 'One.\\n\\nTwo.', 'for': 'Three.'}"
    assert sorted(docstring_paragraphs(program, topics=True)) == ["One.", "Three.", "Two.", "for", "if"]


@pytest.mark.parametrize("program", ["def", "\0"])
def test_a_program_that_cannot_be_parsed_is_refused(program: str) -> None:
    with pytest.raises((SyntaxError, ValueError)):
        list(docstring_paragraphs(program, topics=False))


@given(st.lists(st.integers(1, 30), max_size=20))
def test_documents_end_at_the_first_paragraph_beyond_the_limit(sizes: list[int]) -> None:
    paragraphs = [f"Sentence {n}. " * 10 * size for n, size in enumerate(sizes)]
    found = list(documents_of(paragraphs))
    assert [s for d in found for s in d] == [f"Sentence {n}." for n, size in enumerate(sizes) for _ in range(10 * size)]
    longest = max(map(len, paragraphs), default=0)
    assert all(sum(map(len, document)) < DOCUMENT_CHARS_MAX + longest for document in found)
    assert all(sum(len(s) + 1 for s in document) >= DOCUMENT_CHARS_MAX for document in found[:-1])


def test_paragraphs_stand_between_empty_lines() -> None:
    assert list(paragraphs_of(["One\n", "two.\n", "\n", "Three.\n"])) == ["One\ntwo.\n", "\nThree.\n"]


def test_a_text_without_empty_lines_is_cut_all_the_same() -> None:
    lines = ["word " * 1000] * 40
    found = list(paragraphs_of(lines))
    assert "".join(found) == "".join(lines)
    assert max(map(len, found)) <= LINE_CHARS_MAX + 2 * len(lines[0])
