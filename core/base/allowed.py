"""A person's numbers and words, read into a struct that bounds them: what is wrong is said with what would be right."""

import typing
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from core.base.problems import BadInput

T = TypeVar("T", bound=msgspec.Struct)
SHOWN_MAX = 40
"""Letters of a wrong value that are repeated in a sentence."""


def read_fields(given: Mapping[str, Any], kind: type[T], *, where: str) -> T:
    """The struct that a mapping describes.

    Args:
        given: Values by the names of the fields; a field that is a struct takes a mapping.
        kind: The struct; fields of it may be left out where they have a default.
        where: What comes before the name of a field in a sentence, such as "my.toml: [model] ".

    Raises:
        BadInput: a field is unknown, missing, or not what the struct allows; the sentence names it, and says what is.
    """
    fields = {field.encode_name: field for field in _struct(kind).fields}
    for name in given:
        if name not in fields:
            message = "{where}{name} is unknown."
            raise BadInput(message, where, f"{name!s:.{SHOWN_MAX}}", ", ".join(fields), hint="Allowed are: {names}.")
    for name, field in fields.items():
        if field.required and name not in given:
            raise BadInput("{where}{name} is missing.", where, name, allowed(field.type), hint="It must be {allowed}.")
    types = typing.get_type_hints(kind, include_extras=True)
    values = {name: _read(value, types[name], fields[name], where=where) for name, value in given.items()}
    return kind(**values)


def allowed(kind: inspect.Type) -> str:
    """What a field may hold, in words that go on after "must be"."""
    match kind:
        case inspect.IntType():
            return f"a whole number{_range(kind)}"
        case inspect.FloatType():
            return f"a number{_range(kind)}"
        case inspect.BoolType():
            return "true or false"
        case inspect.StrType():
            least = f"{kind.min_length} to " if kind.min_length else "at most "
            return f"a text of {least}{kind.max_length} letters" if kind.max_length is not None else "a text"
        case inspect.UnionType():
            parts = (part for part in kind.types if not isinstance(part, inspect.CustomType | inspect.NoneType))
            return " or ".join(allowed(part) for part in parts)
        case inspect.LiteralType():
            return f"one of {', '.join(map(str, kind.values))}"
        case inspect.VarTupleType():
            return f"a list of {kind.min_length or 0} to {kind.max_length} items, each {allowed(kind.item_type)}"
        case inspect.StructType() | inspect.DictType():
            return "a table"
    return "something else"


def _read(value: Any, kind: Any, field: inspect.Field, *, where: str) -> Any:
    if isinstance(field.type, inspect.StructType) and isinstance(value, Mapping):
        return read_fields(value, field.type.cls, where=f"{where}[{field.name}] ")
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise BadInput(
            "{where}{name} must be {allowed}, not {value}.",
            where,
            field.encode_name,
            allowed(field.type),
            f"{value!r:.{SHOWN_MAX}}",
            hint="Change it, or leave it out." if not field.required else "",
        ) from error


def _struct(kind: type[msgspec.Struct]) -> inspect.StructType:
    found = inspect.type_info(kind)
    assert isinstance(found, inspect.StructType)
    return found


def _range(kind: inspect.IntType | inspect.FloatType) -> str:
    least = f" from {kind.ge:,}" if kind.ge is not None else f" above {kind.gt:,}" if kind.gt is not None else ""
    if kind.le is not None:
        return f"{least}{' to' if kind.ge is not None else ' and at most' if least else ' of at most'} {kind.le:,}"
    return f"{least}{' and' if least else ''} below {kind.lt:,}" if kind.lt is not None else least
