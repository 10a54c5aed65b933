"""Messages of every type with hostile values, made from the types' own schemas: no new field is forgotten."""

import math
from collections.abc import Sequence
from functools import cache
from random import Random
from typing import Any

import msgspec
from msgspec import inspect

from core.base.wire import Message

NESTED = msgspec.Raw(b"\x91" * 5000 + b"\xc0")
"""5,000 arrays in each other."""
HOSTILE: tuple[Any, ...] = (
    *(None, True, -1, 0, 2**31, 2**53 - 1, 2**53, 2**63, 2**64 - 1, -(2**63)),
    *(math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324),
    *(b"", b"x", bytes(31), bytes(33), bytes(5000), "", "x" * 5000, "\x1b[2J\u202e\0"),
    *([], [[]], {}, {"x": []}, NESTED, msgspec.Raw(b"\xa2\xff\xfe"), msgspec.Raw(b"\xdd\xff\xff\xff\xff")),
)
"""What a field is given in place of a value, whatever its type: most of it does not fit."""
LENGTH_MAX = 300
"""Elements of a hostile array at most, however many its type allows."""

DIFFERENT_MAX = 8
"""Different elements among them."""


def encoded(kind: type[Message], random: Random, *, spoilt: float, known: Sequence[bytes] = ()) -> bytes:
    """Return one message of a type as bytes.

    Args:
        kind: The type.
        random: Draws the values.
        spoilt: The share of fields whose value need not fit the schema; 0: the message is well-formed.
        known: Ids that mean something to the receiver; bytes of their length are drawn from them, mostly.
    """
    return msgspec.msgpack.encode(_value(_schema_of(kind), random, spoilt, known))


@cache
def _schema_of(kind: type[Message]) -> inspect.Type:
    return inspect.type_info(kind)


def _value(kind: inspect.Type, random: Random, spoilt: float, known: Sequence[bytes]) -> Any:  # noqa: C901 - a table
    if random.random() < spoilt:
        return random.choice(HOSTILE)
    match kind:
        case inspect.StructType():
            fields = [_value(field.type, random, spoilt, known) for field in kind.fields]
            return fields if kind.tag is None else [kind.tag, *fields]
        case inspect.UnionType():
            return _value(random.choice(kind.types), random, spoilt, known)
        case inspect.VarTupleType() | inspect.ListType():
            most = min(LENGTH_MAX if kind.max_length is None else kind.max_length, LENGTH_MAX)
            length = random.choice([kind.min_length or 0, min(most, 1), min(most, 3), most])
            few = [_value(kind.item_type, random, spoilt / 10, known) for _ in range(min(length, DIFFERENT_MAX))]
            return random.choices(few, k=length) if length > len(few) else few
        case inspect.TupleType():
            return [_value(item, random, spoilt, known) for item in kind.item_types]
        case inspect.IntType() | inspect.FloatType():
            return random.choice(_numbers(kind))
        case inspect.BytesType() | inspect.MemoryViewType() | inspect.StrType():
            return _text(kind, random, known)
        case inspect.LiteralType():
            return random.choice(kind.values)
        case inspect.EnumType():
            return random.choice([member.value for member in kind.cls])
        case inspect.BoolType():
            return random.random() < 0.5
    return None


def _numbers(kind: inspect.IntType | inspect.FloatType) -> list[Any]:
    """The least and the greatest that fit, and some between."""
    step = 1 if isinstance(kind, inspect.IntType) else 1e-9
    least = kind.ge if kind.ge is not None else -(2**63) if kind.gt is None else kind.gt + step
    most = kind.le if kind.le is not None else 2**63 - 1 if kind.lt is None else kind.lt - step
    return [least, most, *(number for number in (0, 1, 2, 3) if least <= number <= most)]


def _text(kind: Any, random: Random, known: Sequence[bytes]) -> Any:
    least, most = getattr(kind, "min_length", None) or 0, getattr(kind, "max_length", None) or 70_000
    length = random.choice([least, min(most, least + 1), min(most, 64), most])
    if isinstance(kind, inspect.StrType):
        hosts = [text for text in ("127.0.0.1", "::1", "a.name", "1.2.3.4%é..b") if least <= len(text) <= most]
        return random.choice([*hosts, "\u202e" * length])
    fits = [name for name in known if least <= len(name) <= most]
    return random.choice(fits) if fits and random.random() < 0.7 else random.randbytes(length)
