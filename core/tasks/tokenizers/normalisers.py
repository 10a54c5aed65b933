"""How text is made alike before it is cut into pieces, by the name of a recipe.

All of them are local to words: a text whose words stand with single spaces between them, as sentences do
(`core.text.order.sentences`), is normalised word by word to the same as in one go.  So a tokenizer may remember what it
made of a word.  That is so because NFKC, NFKD and our expressions take a space for a text's end, and all else goes
letter by letter.  Only the last expression joins spaces, so words that become nothing, or get a space at an end, are
exceptions.

What most words become, Python says in a fraction of the time (`plain_word` and the like); where they say None, only the
normaliser can say it.

The recipes `albert` and `bengali` are idempotent; `plain` is, except for a capital i with a dot before
certain marks, and stays as it is, so that collaborations that use it do.
"""

import re
import string
import unicodedata
from typing import Final

from tokenizers import Regex, normalizers

PLAIN: Final = "plain"
ALBERT: Final = "albert"
BENGALI: Final = "bengali"

CONTROLS: Final = "[\u0001-\u0008\u000b\u000e-\u001f\u007f\u008f\u009f]"
SPACES: Final = r"[\t\n\f\r\u1680\u200b\u200e\u200f\u2028\u2029\u2581\ufeff\ufffd]"
"""NMT's white space except the joiners U+200C and U+200D, which NMT takes for spaces: they stand within Bengali
words, and র‍্যাব would become two."""

BEFORE: Final = (
    (CONTROLS, ""),
    (SPACES, " "),
    # Invisible, wherever they are: a place to hyphenate, and one not to break a line at.
    (r"[\u00ad\u2060]", ""),
    # Khanda ta as it was written before Unicode 4.1: ta, hasanta, joiner.
    ("\u09a4\u09cd\u200d", "\u09ce"),
    # Ra with a ya-phala (র‍্য) needs a joiner, else it is ya with a reph (র্য).  Both joiners are in use for it.
    (r"\u09b0[\u200c\u200d]+(?=\u09cd\u09af)", "\u09b0\u200d"),
    # Elsewhere joiners choose between shapes of the same letters.
    (r"\u200c|\u200d(?!\u09cd\u09af)|(?<!\u09b0)\u200d", ""),
)
"""What must happen before NFKC, since what is left out may stand between letters that NFKC joins."""

AFTER: Final = (
    # Ra typed as ba with a dot.  NFKC leaves ড়, ঢ় and য় as a letter and a dot, however they were typed.
    ("\u09ac\u09bc", "\u09b0"),
    # The letter aa typed as a and the sign for aa.
    ("\u0985\u09be", "\u0986"),
    # The signs for o and au typed in halves.  NFKC joins halves in their right order only, and without a
    # candrabindu between them.
    ("\u09be\u09c7", "\u09cb"),
    ("\u09d7\u09c7", "\u09cc"),
    ("\u09c7\u0981\u09be", "\u09cb\u0981"),
    ("\u09c7\u0981\u09d7", "\u09cc\u0981"),
    # A hasanta that was typed twice shows once.
    (r"\u09cd{2,}", "\u09cd"),
    # A danda: places that were reserved for it, a sign for four annas, and a pipe, all written for one.
    (r"[\u09e4\u09f7|]", "\u0964"),
    ("\u09e5|\u0964\u0964", "\u0965"),
    # A colon within a word is a visarga: দু:খ is দুঃখ.  At the end of a word it may be a colon, and stays one.
    (r"(?<=[\u0985-\u09cc\u09ce\u09dc-\u09df]):(?=[\u0985-\u09b9\u09ce])", "\u0983"),
)
"""Code points that Bengali readers do not tell apart.  Dandas and visarga are those of Indic NLP's normaliser, which
sahajBERT used (S000, appendix I.3); it takes a colon behind any Bengali letter for a visarga, speakers' names before
what they say among them.  The letters are what people type for each other, as the Bengali normalisers of
bnunicodenormalizer and csebuetnlp have found."""

_LATIN: Final = string.ascii_letters + "ßàáâãäåæçèéêëìíîïðñòóôõöøùúûüýþÿœÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞŸŒ"
_SIGNS: Final = (
    "\u0981-\u0983\u0985-\u098c\u098f\u0990\u0993-\u09a8\u09aa-\u09b0\u09b2\u09b6-\u09b9\u09bc-\u09c4\u09c7\u09c8"
    "\u09cb-\u09ce\u09d7\u09dc\u09dd\u09df-\u09e3"
)
"""The Bengali letters and signs of Unicode 4.1, which every later version normalises alike."""
KNOWN_LETTERS: Final = _LATIN + _SIGNS
"""What a set of a regular expression says; no mark and no digit is among them."""
_MARKS: Final = re.escape(string.digits + string.punctuation) + "‘’“”–—"  # noqa: RUF001
KNOWN_LETTERS_MAX: Final = 64
"""Upper bound on a word: the time in which Python normalises signs in a row grows with the square of their number."""
_OF_ALBERT: Final = re.compile(f"[{string.ascii_letters}{_MARKS}]{{1,{KNOWN_LETTERS_MAX}}}").fullmatch
_KNOWN: Final = re.compile(f"[{KNOWN_LETTERS}{_MARKS}\u0964\u0965\u09e6-\u09ef]{{1,{KNOWN_LETTERS_MAX}}}").fullmatch
_HOMOGENISED: Final = re.compile("|".join(pattern for pattern, _ in AFTER)).search


def plain() -> normalizers.Normalizer:
    """NMT and NFKC, multiple spaces collapsed, letters lowered."""
    return normalizers.Sequence(
        [
            normalizers.Nmt(),
            normalizers.NFKC(),
            normalizers.Replace(Regex(r"\s+"), " "),
            normalizers.Lowercase(),
        ]
    )


def plain_word(word: str) -> str | None:
    """What `plain` makes of a word of Latin or Bengali letters, digits and marks."""
    return unicodedata.normalize("NFKC", word).lower() if _KNOWN(word) else None


def albert() -> normalizers.Normalizer:
    """ALBERT's (v2): NFKD without accents, letters lowered, SentencePiece's own NMT and NFKC, plain quotes.

    What counts as an accent are all marks, the vowel signs and the hasanta of Indian scripts among them: of Bengali
    words one in twenty is left as it was.
    """
    return normalizers.Sequence(
        [
            normalizers.NFKD(),
            normalizers.StripAccents(),
            normalizers.Lowercase(),
            normalizers.Nmt(),
            normalizers.NFKC(),
            normalizers.Replace(Regex("``|''"), '"'),
            normalizers.Replace(Regex(r"\s+"), " "),
        ]
    )


def albert_word(word: str) -> str | None:
    """What `albert` makes of a word of ASCII letters, digits and marks, without quotes in pairs."""
    return word.lower() if _OF_ALBERT(word) and "''" not in word and "``" not in word else None


def bengali() -> normalizers.Normalizer:
    """NMT and NFKC, Bengali code points homogenised, letters lowered, spaces collapsed (S000, appendix I.3).

    NFKC stands on both sides of lower-casing, which takes some letters apart.  No vowel sign is touched by either.
    """
    return normalizers.Sequence(
        [
            *(normalizers.Replace(Regex(pattern), said) for pattern, said in BEFORE),
            normalizers.NFKC(),
            normalizers.Lowercase(),
            normalizers.NFKC(),
            *(normalizers.Replace(Regex(pattern), said) for pattern, said in AFTER),
            normalizers.Replace(Regex(r"\s+"), " "),
        ]
    )


def bengali_word(word: str) -> str | None:
    """What `bengali` makes of a word of Latin or Bengali letters, digits and marks that needs no homogenising."""
    said = plain_word(word)
    return None if said is None or _HOMOGENISED(said) else said
