"""Recipes on real text: what each makes of Bengali and of English."""

import lzma
from collections.abc import Sequence
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from core.base.problems import BadInput
from core.tasks.tokenizers.report import TokenizerReport, report
from core.tasks.tokenizers.unigram import FIRST_WORD_ID, RECIPES, UNKNOWN_ID, pieces, train_unigram
from core.text.order.documents import Document, documents_of, paragraphs_of

DATA = Path(__file__).parents[4] / "shared" / "data"
VOCABULARY = 1500
CHARS = 300_000
SENTENCE = "র‍্যাবের মহাপরিচালক বললেন, দুঃখের কথা: গত ২৭ অক্টোবর ঢাকায় পৌঁছে উৎসব হয়নি, সবাই বাড়ি ফিরে গেছে।"


def _documents(*names: str) -> list[Document]:
    """Documents of the beginnings of some files, every twentieth of which is held out."""
    found: list[Document] = []
    for name in names:
        path = DATA / f"{name}.txt.xz"
        if not path.exists():
            pytest.skip(f"{name} is not here")
        text = lzma.decompress(path.read_bytes()).decode()[: CHARS // len(names)]
        found += documents_of(paragraphs_of(text.splitlines(keepends=True)))
    return found


def _trained(documents: Sequence[Document], recipe: str) -> tuple[Tokenizer, TokenizerReport]:
    train = (one for number, document in enumerate(documents) if number % 20 for one in document)
    tokenizer = train_unigram(train, vocab_size=VOCABULARY, recipe=recipe)
    return tokenizer, report(tokenizer, documents[::20])


@pytest.fixture(scope="module")
def bengali() -> list[Document]:
    return _documents("bengali_literature/clean", "bengali_news/dev")


@pytest.fixture(scope="module")
def english() -> list[Document]:
    return _documents("wikitext-2/valid", "gutenberg_en/moby_dick")


@pytest.mark.long
def test_bengali_needs_its_own_recipe(bengali: list[Document], english: list[Document]) -> None:
    """ALBERT's takes vowel signs for accents; trained on English it knows nothing of Bengali."""
    tokenizer, ours = _trained(bengali, "bengali")
    _, albert = _trained(bengali, "albert")
    foreign, _ = _trained(english, "albert")
    theirs = report(foreign, bengali[::20])
    assert ours.unknown_share < 0.001
    assert ours.whole_share > 0.99
    assert albert.whole_share < 0.15
    assert theirs.unknown_share > 0.4
    assert theirs.whole_share < 0.01
    assert ours.tokens_per_word < 2.5

    encoded = tokenizer.encode(SENTENCE)
    assert UNKNOWN_ID not in encoded.ids
    assert tokenizer.decode(encoded.ids) == SENTENCE
    assert encoded.tokens[0] == "[CLS]"
    assert encoded.tokens[-1] == "[SEP]"


@pytest.mark.long
def test_english_is_cut_well_by_all(english: list[Document]) -> None:
    for recipe in RECIPES:
        _, found = _trained(english, recipe)
        assert found.unknown_share < 0.002
        assert found.tokens_per_word < 2.2
        assert found.whole_share > 0.97
        assert len(found.examples) == 3


@pytest.mark.parametrize("recipe", RECIPES)
def test_texts_cannot_forge_special_pieces(english: list[Document], recipe: str) -> None:
    tokenizer, _ = _trained(english[:40], recipe)
    (forged,) = pieces(tokenizer, ["[MASK] [CLS]<pad>a<unk>[sep] the whale"])
    assert set(forged) & set(range(FIRST_WORD_ID)) <= {UNKNOWN_ID}
    assert tokenizer.encode("").tokens == ["[CLS]", "[SEP]"]


def test_figures_of_a_report_are_those_of_counting(english: list[Document]) -> None:
    tokenizer, _ = _trained(english[:40], "plain")
    documents = [["the whale swam", "xyzzy \u0d9a"], ["a ship"]]
    found = report(tokenizer, documents)
    ids = [number for document in documents for text in document for number in tokenizer.encode(text).ids[1:-1]]
    assert found.words == 7
    assert found.tokens == len(ids)
    assert found.tokens_per_word == len(ids) / 7
    assert found.unknown_share == ids.count(UNKNOWN_ID) / len(ids)
    assert found.characters_per_token == (14 + 7 + 6) / len(ids)
    assert found.whole_share == 6 / 7


def test_no_text_has_no_report(english: list[Document]) -> None:
    tokenizer, _ = _trained(english[:40], "plain")
    for documents in ([], [[]], [[" "]]):
        with pytest.raises(BadInput, match="no held-out text"):
            report(tokenizer, documents)


def test_an_unknown_recipe_is_said() -> None:
    with pytest.raises(BadInput, match="does not know the tokenizer 'klingon'"):
        train_unigram(iter(["a"]), vocab_size=100, recipe="klingon")
