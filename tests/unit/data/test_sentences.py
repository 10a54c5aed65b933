"""Sentences, held against references that people have cut."""

# ruff: noqa: RUF001 - many scripts have letters that look alike

import lzma
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.order.sentences import sentences_of

DATA = Path(__file__).parents[4] / "shared" / "data"

CUT_BY_HAND = {
    "abbreviations": [
        "Dr. Smith met Mrs. Jones at St. Mary's Church, No. 5, on Jan. 3.",
        "He lives in the U.S. Army base, i.e. near the river, e.g. Main St. or so.",
        "It was built by Smith & Co. in Leeds, cf. Fig. 3 and pp. 4 to 9.",
        "They sell pens, ink, etc. at a low price.",
        "They sell pens, ink, etc.",
        "Bread, too.",
        "It began at 5 p.m.",
        "Nobody came.",
    ],
    "initials": ["J. R. R. Tolkien and C. S. Lewis talked.", "So did I.", "Then George W. Bush came."],
    "numbers": ["It weighs 3.5 kg, or 7.7 lb.", "The law passed in 1991.", "It cost 5.", "He paid."],
    "lists": ["1. Wash the rice.", "2. Boil it for 20 min.", "3. Serve."],
    "addresses": [
        "See https://example.org/a.b?c=d&e=1.",
        "It is www.example.org, or write to a.b@example.org!",
        "Then v1.2.3 came.",
    ],
    "quotes": [
        '"Stop!" he cried.',
        "\u201cWho goes there?\u201d asked the guard.",
        "\u201cIt is I.\u201d",
        "(He had come at last.)",
        "\u2018Good,\u2019 she said.",
    ],
    "ellipses": ["Well... perhaps not.", "He waited...", "Nobody came\u2026", "What?!", "No!!!", "Yes."],
    "wikitext": ["He had a role in 2000 .", "This was , he said , a start .", "= = Early life = ="],
    "bengali": [
        "আমি ভাত খাই।",
        "তুমি কোথায় যাও?",
        "ডা. রহমান ও মো. করিম এসেছেন।",
        "এ. কে. ফজলুল হক বলেন, দাম ৩.৫ টাকা।",
        "“কী চমৎকার!”",
        "সে বলল, ‘আমি যাব না।’",
        "তারপর চলে গেল॥",
        "সে... জানে না |",
        "শেষ।",
    ],
    "hindi": ["यह किताब है।", "वह कहाँ है?", "डॉ. शर्मा आए।"],
    "urdu": ["یہ کتاب ہے۔", "وہ کہاں ہے؟", "ٹھیک۔"],
    "armenian": ["Սա գիրք է։", "Նա եկավ։"],
    "ethiopic": ["ሰላም ነው።", "ደህና ነኝ።"],
}


@pytest.mark.parametrize("name", CUT_BY_HAND)
def test_sentences_are_those_a_person_would_cut(name: str) -> None:
    assert sentences_of(" ".join(CUT_BY_HAND[name])) == CUT_BY_HAND[name]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("你好。我来了！真的？是。", ["你好。", "我来了！", "真的？", "是。"]),
        ("「そうだ。」彼は言った。", ["「そうだ。」", "彼は言った。"]),
        ("সে এল।তারপর গেল।", ["সে এল।", "তারপর গেল।"]),
        ("a | b | c", ["a | b | c"]),
        ("  one\n two.\t\tThree. ", ["one two.", "Three."]),
        ("", []),
        (" \n ", []),
        ("...", ["..."]),
    ],
)
def test_spaces_do_not_decide_where_a_script_needs_none(text: str, sentences: list[str]) -> None:
    assert sentences_of(text) == sentences


@given(st.text(alphabet=st.sampled_from('aA1 .!?।॥|"”)…。কা্\n\u2003') | st.characters(codec="utf-8"), max_size=60))
def test_nothing_is_lost_but_white_space(text: str) -> None:
    found = sentences_of(text)
    assert "".join("".join(found).split()) == "".join(text.split())
    assert all(sentence == " ".join(sentence.split()) and sentence for sentence in found)


def test_bengali_news_gives_its_sentences_back() -> None:
    """Each line of the file is a sentence that its publisher's punctuation marks; full lines are taken out of it."""
    path = DATA / "bengali_news" / "test_news.txt.xz"
    if not path.exists():
        pytest.skip("the Bengali news are not here")
    lines = [
        " ".join(line.split()) for line in lzma.decompress(path.read_bytes()).decode().splitlines() if line.strip()
    ]
    found = set(sentences_of(" ".join(lines)))
    assert sum(line in found for line in lines) > 0.97 * len(lines)


@pytest.mark.parametrize("name", ["wikitext-2/valid", "gutenberg_en/moby_dick", "bengali_literature/clean"])
def test_sentences_of_real_text_have_a_likely_length(name: str) -> None:
    path = DATA / f"{name}.txt.xz"
    if not path.exists():
        pytest.skip(f"{name} is not here")
    paragraphs = lzma.decompress(path.read_bytes()).decode().split("\n\n")
    lengths = sorted(len(sentence.split()) for text in paragraphs for sentence in sentences_of(text))
    assert 6 <= lengths[len(lengths) // 2] <= 30
    assert lengths[-len(lengths) // 100] <= 120
