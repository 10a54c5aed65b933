"""What people are told: templates with values in the program's text, each of which has its words in every language."""

import ast
import itertools
import re

import pytest

from app import translations as catalogues

FIELD = re.compile(r"\{(\w+)\}")
LANGUAGES = sorted(catalogues.FOLDER.glob("potluck_*.ts"))
MISSING_MOST = {"potluck_de": 0}
FURTHER_MISSING_MOST = 100
"""Who adds a sentence need not know each language: until a release, which has all, it is English there."""
HINT = "translations are found by the template: give the values after it"
ADDRESS = re.compile(
    r"(?<=[\w,;)] )(?:Sie|Ihnen|Ihr(?:e[mnrs]?)?)\b"
    r"|\b(?:[Dd]u|[Dd]ich|[Dd]eine?[mnrs]?|[Ee]uch|[Ee]uer)\b"
    r"|^(?:Aktualisiere|Beende|Berichtige|Bring|Gib|Lass|Nimm|Prüfe|Schreibe|Sorge|Starte|Versuche|Wähle|Warte)\b"
)
"""German to the reader; "Sie" at the beginning of a sentence may be they, or she, and so may "Ihr"."""
SECOND_WORD = re.compile(r"Backbone|Computer|Freiwillig|Moderator|Organisation|Thread|\bPass\b|[Pp]ausier")
"""German for an idea that has another word in docs/glossary.md."""


@pytest.fixture(scope="module")
def modules(sources):
    return [source.tree for source in sources if source.room in {"app", "core"}]


@pytest.fixture(scope="module")
def tellings(modules):
    return tuple(catalogues.tellings(modules))


@pytest.fixture(scope="module")
def found(modules):
    return set(catalogues.sentences(modules))


def shown(telling):
    return ast.unparse(telling.call)[:200]


def is_text(node):
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def test_many_sentences_are_found(tellings):
    assert len(tellings) > 1000
    assert sum(bool(telling.values) for telling in tellings) > 300


def test_sentence_is_neither_f_string_nor_sum(tellings):
    for telling in tellings:
        assert all(map(is_text, itertools.chain(*telling.texts))), f"{HINT}: {shown(telling)}"
        sums = [one for one in telling.given if isinstance(one, ast.BinOp)]
        assert not any(is_text(part) for one in sums for part in ast.walk(one)), f"{HINT}: {shown(telling)}"


def test_each_field_of_a_sentence_has_one_value(tellings):
    for telling in tellings:
        later = shown(telling).startswith(("tr(", "text.tr(")) and not telling.values
        if telling.values is None or later or any(isinstance(value, ast.Starred) for value in telling.values):
            continue
        texts = [[text.value for text in one] or [""] for one in telling.texts]
        fields = [len(set(FIELD.findall(" ".join(one)))) for one in itertools.product(*texts)]
        assert max(fields) == len(telling.values), shown(telling)


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda file: file.stem)
def test_every_sentence_is_translated(found, language):
    known = set(catalogues.translations(language))
    most = MISSING_MOST.get(language.stem, FURTHER_MISSING_MOST)
    assert len(found - known) <= most, "run python -m app.translations, and translate what it lists"
    assert known - found == set(), "run python -m app.translations"


def test_german_sentences_address_nobody():
    for sentence, said in catalogues.translations(catalogues.FOLDER / "potluck_de.ts").items():
        assert not ADDRESS.search(said), f"see German words in docs/glossary.md: {said}"
        you = re.search(r"\b[Yy]ou", sentence)
        assert not you or not re.search(r"^Sie\b|\bIhr(?:e[mnrs]?)?\b", said), f"German words: {said}"


def test_german_has_one_word_for_each_idea():
    packaged = (catalogues.ROOT / "packaging/linux/org.potluck.Potluck.metainfo.xml").read_text(encoding="utf-8")
    german = re.findall(r'<\w+ xml:lang="de">(.*)</', packaged)
    assert german
    for said in (*german, *catalogues.translations(catalogues.FOLDER / "potluck_de.ts").values()):
        assert not SECOND_WORD.search(said), f"see German words in docs/glossary.md: {said}"
