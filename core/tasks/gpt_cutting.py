"""The numbers of the character-level GPT, its alphabet, and its rows, windows of letters: all that needs no torch."""

from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import Annotated, Final

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from core.base.manifest import Manifest, Numbers, checked
from core.base.problems import BadInput
from core.tasks.cutter import Row
from core.tasks.task import Blobs
from core.text.order.documents import Document

COUNTS: Final = "counts"
"""The blob that says of each letter of the alphabet how often it stands in the text for training."""
TAIL_SHARE: Final = 0.25
"""A rest of a text that has fewer new letters than this share of a sample's is left out."""


class GptNumbers(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Sizes of the model and of what it is fed."""

    alphabet: Annotated[int, Meta(ge=2, le=4096)] = 96
    length: Annotated[int, Meta(ge=8, le=1024)] = 64
    heads: Annotated[int, Meta(ge=1, le=32)] = 4
    head_width: Annotated[int, Meta(ge=2, le=128)] = 16
    layers: Annotated[int, Meta(ge=1, le=48)] = 2
    micro_batch: Annotated[int, Meta(ge=1, le=1024)] = 32
    held_out: Annotated[int, Meta(ge=1, le=16_384)] = 256


def gpt_numbers(numbers: Numbers) -> GptNumbers:
    """The numbers of a manifest, checked.

    Raises:
        BadInput: a number is unknown, missing, or out of its range.
    """
    return checked(numbers, GptNumbers, of="task")


def read_counts(blobs: Blobs) -> dict[str, int]:
    """How often each letter of the alphabet stands in the text for training; the first one stands for all others.

    Raises:
        BadInput: the blob is missing, or no such counts.
    """
    return blobs.decode(COUNTS, dict[str, Annotated[int, Meta(ge=0, le=2**53)]])


class Alphabet:
    """Numbers for letters.

    Args:
        letters: In the order of their numbers; the first one, whatever it is, stands for all that are not here.
        size: As many letters there are to be.

    Raises:
        BadInput: these make no such alphabet.
    """

    def __init__(self, letters: Sequence[str], size: int) -> None:
        if len(letters) != size or any(len(letter) != 1 for letter in letters[1:]):
            raise BadInput("The alphabet does not fit the numbers.", hint="Ask the organiser.")
        known = sorted((ord(letter), number) for number, letter in enumerate(letters) if number)
        self._letters = ["\ufffd", *letters[1:]]
        self._codes = np.array([-1, *(code for code, _ in known)], np.int64)
        self._numbers = np.array([0, *(number for _, number in known)], np.int32)

    def numbers_of(self, text: str) -> NDArray[np.int32]:
        """The numbers of a text's letters."""
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.int64)
        places = np.searchsorted(self._codes, codes, side="right") - 1
        return np.where(self._codes[places] == codes, self._numbers[places], 0).astype(np.int32)

    def text_of(self, numbers: NDArray[np.integer]) -> str:
        """The text of some letters' numbers, with a replacement character for what is not in the alphabet."""
        return "".join(self._letters[number] for number in numbers.tolist())


def windows(
    found: Iterable[Document], alphabet: Alphabet, length: int, *, tail: bool = False
) -> Iterator[NDArray[np.int32]]:
    """Documents as one text, cut into samples of letters.

    Args:
        found: The documents, whose sentences are joined by line ends.
        alphabet: A number for each letter.
        length: Letters of a sample, and one more: each begins with the letter with which the one before ends.
        tail: Give a rest of the text, too, that is not much shorter than a sample, with letters before it again.
    """
    rest = np.empty(0, np.int32)
    whole: NDArray[np.int32] | None = None
    for document in found:
        rest = np.concatenate((rest, alphabet.numbers_of("\n".join([*document, ""]))))
        begin = 0
        while len(rest) - begin > length:
            whole = rest[begin : begin + length + 1]
            yield whole
            begin += length
        rest = rest[begin:]
    if tail and whole is not None and len(rest) - 1 >= TAIL_SHARE * length:
        yield np.concatenate((whole[:-1], rest))[-length - 1 :]


class GptCutter:
    """Cuts windows of `length` + 1 letters (`core.tasks.cutter.Cutter`).

    Args:
        numbers: Say how long.
        alphabet: A number for each letter.
    """

    def __init__(self, numbers: GptNumbers, alphabet: Alphabet) -> None:
        self.width = numbers.length + 1
        self.numbers_max = numbers.alphabet - 1
        self.tokens = numbers.length
        self._alphabet = alphabet

    def cut(self, documents: Iterable[Document], chance: Random) -> Iterator[Row]:  # noqa: ARG002 - letters need none
        """The windows; the last one goes back into the one before, so that little of a text is left out."""
        for window in windows(documents, self._alphabet, self.tokens, tail=True):
            yield window.astype(np.uint16)

    def text_of(self, row: Row) -> str:
        """Its letters; those that the alphabet lacks are a replacement character."""
        return self._alphabet.text_of(row)


def open_cutter(manifest: Manifest, blobs: Blobs) -> GptCutter:
    """The cutter of a manifest.

    Raises:
        BadInput: numbers or blobs cannot be used.
    """
    numbers = gpt_numbers(manifest.numbers)
    return GptCutter(numbers, Alphabet(list(read_counts(blobs)), numbers.alphabet))
