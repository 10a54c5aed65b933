"""Amounts as people write them: 2mbit, 50GB, yes."""

import re
from typing import Final

from core.api.rules import read_programs
from core.base.problems import BadInput, quoted

_NUMBER: Final = re.compile(r"(\d{1,15}(?:[.,]\d{1,6})?)\s*([a-z/]*)", re.IGNORECASE)
_THOUSANDS: Final = re.compile(r"[1-9]\d{0,2},\d{3}")
_SCALES: Final = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_NO_LIMIT: Final = frozenset({"none", "no", "off", "unlimited", "no limit", "nolimit"})
_RATE_HINT: Final = "Write it like this: 2mbit (a second), 500kbit, 1.5MB, or none for no limit."
_VOLUME_HINT: Final = "Write it like this: 50GB, 800MB, or none for no limit."


def read_rate(text: str) -> float | None:
    """Bytes a second; None: no limit.

    Raises:
        BadInput: it cannot be read.
    """
    if text.lower() in _NO_LIMIT:
        return None
    if text == "0":  # needs no unit; whether so little can be is decided elsewhere
        return 0.0
    number, unit = _parted(text, _RATE_HINT)
    unit = re.sub(r"/s(ec)?$|ps$", "", unit)
    bits = re.fullmatch(r"([kmgt]?)(?:bits?|b)", unit, re.IGNORECASE)
    if bits is None:
        found = re.fullmatch(r"([kmgt]?)bytes?", unit, re.IGNORECASE)
        if found is None:
            raise BadInput("{text} has no unit of speed.", quoted(text), hint=_RATE_HINT)
        return number * _SCALES[found[1].lower()]
    if unit.endswith("B"):
        return number * _SCALES[bits[1].lower()]
    if unit.endswith("b") and "/" not in text and not text.endswith("ps"):
        raise BadInput("{text} could mean bits or bytes.", quoted(text), hint=_RATE_HINT)
    return number * _SCALES[bits[1].lower()] / 8


def read_volume(text: str) -> int | None:
    """Bytes; None: no limit.

    Raises:
        BadInput: it cannot be read.
    """
    if text.lower() in _NO_LIMIT:
        return None
    if text == "0":
        return 0
    number, unit = _parted(text, _VOLUME_HINT)
    found = re.fullmatch(r"([kmgt]?)(?:b|bytes?)", unit, re.IGNORECASE)
    if found is None:
        raise BadInput("{text} has no unit of an amount.", quoted(text), hint=_VOLUME_HINT)
    return round(number * _SCALES[found[1].lower()])


def read_choice(text: str) -> bool:
    """Yes or no.

    Raises:
        BadInput: neither.
    """
    word = text.lower()
    if word in {"yes", "on", "true", "1"}:
        return True
    if word in {"no", "off", "false", "0"}:
        return False
    raise BadInput("{text} is neither yes nor no.", quoted(text), hint="Say yes or no.")


def read_whole(text: str, hint: str = "Write it in digits, as in 4.") -> int:
    """A whole number.

    Args:
        text: As it was written.
        hint: What else it may be.

    Raises:
        BadInput: it is not valid.
    """
    if not (text.isascii() and text.isdecimal() and len(text) < 16):
        raise BadInput("{text} is not a whole number from 0 on.", quoted(text), hint=hint)
    return int(text)


def read_gigabytes(text: str) -> int:
    """Whole gigabytes: 4, 4GB, 1TB.

    Raises:
        BadInput: it is not valid.
    """
    hint = "Write whole gigabytes, as in 4 or 4GB."
    number, unit = _parted(text, hint)
    found = re.fullmatch(r"([kmgt])b|", unit, re.IGNORECASE)
    gigabytes = number * _SCALES[(found[1] or "g").lower()] / _SCALES["g"] if found is not None else 0.5
    if gigabytes % 1:
        raise BadInput("{text} is not a whole number of gigabytes.", quoted(text), hint=hint)
    return int(gigabytes)


def read_limit(text: str) -> int | None:
    """A whole number; None: no limit.

    Raises:
        BadInput: it is neither.
    """
    hint = "Write it in digits, as in 40, or none for no limit."
    return None if text.lower() in _NO_LIMIT else read_whole(text.removesuffix("%").strip(), hint)


def read_experts(text: str) -> int | None:
    """Number of experts: 6, off; None: auto.

    Raises:
        BadInput: it is not valid.
    """
    word = text.lower()
    if word == "auto":
        return None
    hint = "Write it in digits, as in 6, or off for none, or auto for as many as memory allows."
    return 0 if word in _NO_LIMIT else read_whole(text, hint)


def read_names(text: str) -> list[str]:
    """Names of programs, with commas between them; "none" alone: no name."""
    return [] if text.lower() in _NO_LIMIT else read_programs(text)


def read_none(text: str) -> str:
    """Words as they are; "none" alone: no word."""
    return "" if text.lower() in _NO_LIMIT else text


def _parted(text: str, hint: str) -> tuple[float, str]:
    found = _NUMBER.fullmatch(text.strip())
    if found is None:
        raise BadInput("{text} is not a valid amount.", quoted(text), hint=hint)
    if _THOUSANDS.fullmatch(found[1]):
        message = "{text} could mean two amounts, a thousand times apart."
        raise BadInput(message, quoted(text), hint, hint="Leave the comma out. {advice}")
    return float(found[1].replace(",", ".")), found[2]
