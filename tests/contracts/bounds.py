"""Whether a stranger's numbers are bounded: read from the types of a struct, so that a new field is not forgotten."""

import msgspec
from msgspec import inspect


def unbounded(kind: type[msgspec.Struct]) -> list[str]:
    """The fields of a struct that lack a bound: numbers one on each side, texts and mappings one on their length."""
    found = inspect.type_info(kind)
    assert isinstance(found, inspect.StructType)
    return [field.name for field in found.fields if not _bounded(field.type)]


def _bounded(kind: inspect.Type) -> bool:
    match kind:
        case inspect.IntType() | inspect.FloatType():
            return any(x is not None for x in (kind.ge, kind.gt)) and any(x is not None for x in (kind.le, kind.lt))
        case inspect.StrType() | inspect.DictType() | inspect.ListType():
            return kind.max_length is not None
        case inspect.BoolType() | inspect.LiteralType():
            return True
        case inspect.UnionType():
            return all(_bounded(part) for part in kind.types)
        case inspect.StructType():
            return not unbounded(kind.cls)
    return False


def unbounded_numbers(kind: type[msgspec.Struct]) -> list[str]:
    """The fields of a struct, and of what it holds, whose numbers lack a bound on a side."""
    return _unbounded_numbers(inspect.type_info(kind), kind.__name__)


def _unbounded_numbers(kind: inspect.Type, name: str) -> list[str]:
    match kind:
        case inspect.IntType() | inspect.FloatType():
            return [] if _bounded(kind) else [name]
        case inspect.StructType():
            held = [(field.type, f"{kind.cls.__name__}.{field.name}") for field in kind.fields]
        case inspect.UnionType():
            held = [(part, name) for part in kind.types]
        case inspect.VarTupleType() | inspect.ListType():
            held = [(kind.item_type, name)]
        case inspect.TupleType():
            held = [(item, name) for item in kind.item_types]
        case inspect.DictType():
            held = [(kind.key_type, name), (kind.value_type, name)]
        case _:
            held = []
    return [found for part, called in held for found in _unbounded_numbers(part, called)]
