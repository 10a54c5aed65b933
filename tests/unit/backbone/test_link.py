import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.backbone.link import Link, parse_link
from core.base.problems import BadInput

ID = bytes(range(32))


@pytest.mark.parametrize("host", ["127.0.0.1", "potluck.example", "2001:db8::1"])
def test_a_link_survives_being_written_down(host: str) -> None:
    link = Link(host, 4433, ID, "in-vite_1")
    assert parse_link(str(link)) == link
    assert parse_link(f"  {link}\n") == link


@pytest.mark.parametrize(
    "text",
    [
        "",
        "https://example.org",
        "potluck://example.org/0123#x",
        f"potluck://example.org/{ID.hex()}#x",
        f"potluck://example.org:99999/{ID.hex()}#x",
        f"potluck://example.org:1/{ID.hex()}",
        f"potluck://example.org:1/{ID.hex()}#a b",
        f"potluck://:1/{ID.hex()}#x",
        f"potluck://[::1:1/{ID.hex()}#x",
    ],
)
def test_what_is_no_link_gets_a_sentence_and_a_hint(text: str) -> None:
    with pytest.raises(BadInput) as raised:
        parse_link(text)
    assert raised.value.message
    assert "potluck://" in raised.value.hint


@given(st.text(max_size=200))
def test_any_text_is_a_link_or_bad_input(text: str) -> None:
    try:
        parse_link(text)
    except BadInput:
        return
