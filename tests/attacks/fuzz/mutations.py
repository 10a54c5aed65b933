"""Messages that are nearly right: real ones, recorded, with something changed."""

from collections.abc import Sequence
from random import Random
from typing import Any, Final

import msgspec

from tests.hostile_values import HOSTILE

KEPT: Final = 64
"""Number of recorded messages of each type; a new one takes the place of any other."""
EDGES: Final = (-1, 0, 1, 255, 2**16, 2**31, 2**53 - 1, 2**53, 2**63)
WAYS: Final = ("as it was", "bits", "cut", "longer", "swapped", "hostile", "number", "name", "doubled", "fewer")
"""What is changed."""
DIGEST_BYTES: Final = 32
FIELDS_MIN: Final = 2
"""A tag, and one field."""
DEEPER: Final = 0.8
"""How often a value within a list is changed, and not the list."""


class Recorded:
    """Real messages by type, as bytes, and new ones made from them.

    Args:
        random: Draws all.
    """

    def __init__(self, random: Random) -> None:
        self._random = random
        self._kept: dict[str, list[bytes]] = {}

    def keep(self, name: str, data: bytes) -> None:
        """Remember a message of a type."""
        kept = self._kept.setdefault(name, [])
        if len(kept) < KEPT:
            kept.append(data)
        else:
            kept[self._random.randrange(KEPT)] = data

    def draw(self, name: str) -> bytes | None:
        """One message of a type; None: none was recorded."""
        kept = self._kept.get(name)
        return self._random.choice(kept) if kept else None

    def mutated(self, data: bytes, known: Sequence[bytes]) -> bytes:
        """A message with one to three things changed.

        Args:
            data: The message.
            known: Ids that mean something to the receiver.
        """
        for _ in range(self._random.choice((1, 1, 1, 2, 3))):
            data = self._changed(data, self._random.choice(WAYS), known)
        return data

    def _changed(self, data: bytes, way: str, known: Sequence[bytes]) -> bytes:
        random = self._random
        match way:
            case "as it was":
                return data
            case "bits" | "cut" | "longer":
                return spoilt(data, way, random)
        fields = fields_of(data)
        if fields is None or len(fields) < FIELDS_MIN:
            return data
        place = random.randrange(1, len(fields))
        if way == "swapped":
            theirs = fields_of(self.draw(str(fields[0])) or b"")
            if theirs is not None and place < len(theirs):
                fields[place] = theirs[place]
        else:
            holder = fields
            while isinstance(holder[place], list) and holder[place] and random.random() < DEEPER:
                holder = holder[place]
                place = random.randrange(len(holder))
            _change(holder, place, way, random, known)
        return msgspec.msgpack.encode(fields)


def spoilt(data: bytes, way: str, random: Random) -> bytes:
    """Bytes with some of them changed, the end missing, or more after it.

    Args:
        data: The bytes.
        way: "bits", "cut" or "longer".
        random: Draws where.
    """
    if way == "cut":
        return data[: random.randrange(len(data) + 1)]
    if way == "longer":
        return data + random.randbytes(random.choice((1, 40)))
    changed = bytearray(data)
    for _ in range(random.randint(1, 3) if data else 0):
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def fields_of(data: bytes) -> list[Any] | None:
    """The fields of a message, whatever they are; None: it has none."""
    try:
        fields = msgspec.msgpack.decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return fields if isinstance(fields, list) else None


def _change(holder: list[Any], at: int, way: str, random: Random, known: Sequence[bytes]) -> None:
    """Change one value of a list."""
    value = holder[at]
    match way:
        case "hostile":
            holder[at] = random.choice(HOSTILE)
        case "number":
            holder[at] = _number(value, random)
        case "name" if isinstance(value, bytes) and known:
            holder[at] = random.choice(known) if len(value) == DIGEST_BYTES else random.randbytes(len(value))
        case "doubled" if isinstance(value, list | bytes):
            holder[at] = value + value
        case "fewer" if isinstance(value, list | bytes):
            holder[at] = value[:-1]


def _number(value: Any, random: Random) -> Any:
    """A number near the value, or at an edge."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return min(max(random.choice((value + 1, value - 1, value * 2, *EDGES)), -(2**63)), 2**64 - 1)
    if isinstance(value, float):
        return random.choice((value * 1.001, value * 1000, -value, 0.0, 1e-300, 1e30, float("nan"), float("inf")))
    return value
