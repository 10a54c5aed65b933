"""What of a record is text: a value that is text, a list of texts, or a conversation, also within a record in it."""

from typing import Final

SAID: Final = ("content", "value", "text")
"""Where a message has what was said."""
ABSENT: Final = object()
"""In the place of a value that a record does not have."""


def value_in(record: object, column: str) -> object:
    """What stands in a column of a record; `ABSENT`: it has none.

    Args:
        record: The record.
        column: Its name; "doc.text" is the field "text" of the record in "doc".
    """
    if not isinstance(record, dict):
        return ABSENT
    if column in record:
        return record[column]
    first, dot, rest = column.partition(".")
    if not dot or first not in record:
        return ABSENT
    return None if record[first] is None else value_in(record[first], rest)


def said_in(value: object, depth: int = 2) -> str | None:
    """A value as text: a list's texts with a blank line between them, of messages what was said; None: it has none.

    Args:
        value: Text, a list of texts, or messages as chats have them: (role, content) or (from, value).
        depth: Number of lists that may stand within each other.
    """
    if value is None or isinstance(value, str):
        return value or ""
    if not isinstance(value, list) or not depth:
        return None
    parts: list[str] = []
    for one in value:
        if isinstance(one, dict) and not any(key in one for key in SAID):
            return None
        said = said_in(next(one[key] for key in SAID if key in one) if isinstance(one, dict) else one, depth - 1)
        if said is None:
            return None
        parts.append(said)
    return "\n\n".join(filter(None, parts))


def texts_in(record: object) -> list[str]:
    """The names of a record's fields that hold text, those of records in it too."""
    found = []
    for name, value in record.items() if isinstance(record, dict) else ():
        if said_in(value):
            found.append(name)
        elif isinstance(value, dict):
            found += [f"{name}.{inner}" for inner, said in value.items() if said_in(said)]
    return found


def is_utf8(text: str) -> bool:
    """Whether a text has only letters: JSON can hold halves of some, and CSV bytes that are not text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
