"""Where sentences end: in scripts that say so with a full stop, a danda (। and ॥) or marks of their own.

A compiled expression finds marks that may end a sentence, one in about eighty letters; a few rules say which of them
do.  A full stop ends no sentence in numbers and addresses (no space follows), after titles and other abbreviations,
after initials, after the number that begins a sentence, and before a word in small letters.  A danda always does.
"""

import re
from typing import Final

_STOPS: Final = "." + "\u2026"  # full stop, ellipsis
_ASKS: Final = "!?\u203d\u061f\u037e\u055c\u055e\u1367\u1945\u2047\u2048\u2049"
"""Latin, Arabic, Greek, Armenian, Ethiopic, Limbu."""
_ENDS: Final = "\u0964\u0965\u09e4\u09e5\u09f7" + "\u06d4\u0589\u1362\u104a\u104b\u17d4\u17d5\u166e\u1803\u1809"
"""Danda and double danda, two places reserved for them, a sign written for one; Urdu, Armenian, Ethiopic, Burmese,
Khmer, Cree, Mongolian."""
_WIDE: Final = "\u3002\uff01\uff1f\uff61\uff0e"  # Chinese and Japanese: no space follows
_CLOSING: Final = "\"'\u201d\u2019\u00bb\u203a)\\]}\u300d\u300f\u300b\uff09"
_OPENING: Final = "\"'\u201c\u2018\u00ab\u2039(\\[{\u300c\u300e\u300a\uff08\u2014\u2013*_"

_PIPE: Final = "|"
"""Behind text of an Indian script it stands for a danda, which older keyboards lack."""
_MARKS: Final = f"[{_STOPS}{_ASKS}{_ENDS}{_WIDE}{_PIPE}]"
_MARK: Final = re.compile(f"({_MARKS}{_MARKS}*)([{_CLOSING}]*)(\\s*)(?=[{_OPENING}\\s]*(\\S?))")
"""Marks, what closes behind them, the space then, and the first letter of what follows.  The set stands twice, since a
search for one letter of a set takes a third of the time of one for several."""
_WORD_BEFORE: Final = re.compile(rf"(?:.*[\s\-{_OPENING}])?(.*)")
_INDIC: Final = re.compile("[\u0900-\u0dff]+ ?$")
_DOTTED: Final = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]$")
"""U.S, e.g, a.m, without the last stop."""

WORD_LETTERS: Final = 24
"""How far back the word before a full stop is looked for: no abbreviation is longer."""
INDIC_LETTERS: Final = 3
"""A word of an Indian script before a full stop that has no more code points is an abbreviation (ডা., মো., এ. কে.):
sentences end in a danda, or, where people write full stops, seldom in so short a word."""

_WORDS: Final = """
dr mr mrs ms messrs mme mlle prof st ste rev hon gen col maj capt cpt lt sgt cpl adm cmdr gov sen rep pres supt fr sr jr
mt ft vs cf viz al eds ed vol vols pp fig figs eq eqs sec ch chap no nos nr op cit approx ca dept univ assn bros inc ltd
co corp est ave blvd rd jan feb mar apr jun jul aug sept sep oct nov dec tel ext min max
ডাঃ মোঃ মোসাঃ মিসেস প্রফেসর ইঞ্জি অধ্যা অ্যাড অ্যাডভোকেট এডভোকেট লিমি প্রাঃ পৃষ্ঠা খ্রিঃ খ্রী খ্রি ক্যাপ্টেন লেঃ ব্রিগে
"""
_ABBREVIATIONS: Final = frozenset(_WORDS.split())
_MAY_END: Final = frozenset(
    ("inc", "ltd", "co", "corp", "al", "sr", "jr", "ed", "est", "ave", "blvd", "rd", "min", "max")
)
"""Abbreviations that end a sentence where the next word begins with a capital letter as well as not."""


def sentences_of(text: str) -> list[str]:
    """The sentences of a paragraph, in order, with single spaces between their words; none is empty.

    White space aside, they are the paragraph: nothing is lost, and nothing is added.
    """
    text = " ".join(text.split())
    found, begin = [], 0
    for mark in _MARK.finditer(text):
        if _ends(text, mark, begin):
            found.append(text[begin : mark.end(2)])
            begin = mark.end()
    found.append(text[begin:])
    return [sentence for sentence in found if sentence]


def _ends(text: str, mark: re.Match[str], begin: int) -> bool:
    """Whether a mark ends the sentence that begins at a place."""
    marks, closing, space, after = mark.groups()
    if marks == ".":  # as most are
        return bool(space and not after.islower() and (closing or not _is_short(text, mark.start(), begin)))
    if mark.end() == len(text):
        return False  # what follows is the end, with or without it
    if marks[-1] in _WIDE:
        return True
    piped = marks[0] == _PIPE and _INDIC.search(text, max(begin, mark.start() - 2), mark.start()) is not None
    if piped or any(one in _ENDS for one in marks):
        return bool(space) or after.isalpha()
    if not space or after.islower() or marks[0] == _PIPE:
        return False
    if any(one in _ASKS for one in marks):
        return True
    return after.isupper()  # an ellipsis: in scripts without capital letters nothing tells


def _is_short(text: str, place: int, begin: int) -> bool:
    """Whether the full stop at a place belongs to an abbreviation, an initial, or a number that counts."""
    found = _WORD_BEFORE.match(text, max(begin, place - WORD_LETTERS), place)
    word = found[1] if found else ""
    if not word:
        return False
    if word.isdigit():
        return place - len(word) == begin and len(word) <= 3
    if len(word) == 1:
        return word.isalpha() and word != "I"
    if _INDIC.match(word):
        return len(word) <= INDIC_LETTERS or word in _ABBREVIATIONS
    small = word.lower()
    if small in _MAY_END:
        return False
    return small in _ABBREVIATIONS or (_DOTTED.match(word) is not None and small not in ("a.m", "p.m"))
