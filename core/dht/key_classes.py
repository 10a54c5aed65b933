"""Key classes: the form of the values under a key, checked by each holder and reader.

A key is a hash, so a holder could not tell its purpose.  The last four bytes of a classed key name its class; they do
not influence which peers are near to it.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from hashlib import sha256

from core.base.ids import KEY_BYTES, Key, hashed_key
from core.base.problems import WireProblem
from core.dht.messages import Record

CLASS_BYTES = 4
MEMBER_BYTES = 8
"""Bytes of a grouped key that tell the members of its group apart."""

Validator = Callable[[Key, Record], bool]
"""Whether a record may stand under a key.  May raise WireProblem or ValueError instead of returning False, as decoders
do."""


def own_records(decode: Callable[[bytes], object]) -> Validator:
    """Make the validator of keys under which each peer has one record, under no name but its own.

    Args:
        decode: Raises WireProblem for a value that is not valid.
    """

    def allows(key: Key, record: Record) -> bool:
        del key
        decode(record.value)
        return record.subkey == record.owner

    return allows


@cache
def class_mark(name: str) -> bytes:
    """The last bytes of all keys of a class."""
    return sha256(b"potluck key class\n" + name.encode()).digest()[:CLASS_BYTES]


def classed_key(name: str, *parts: bytes) -> Key:
    """Derive a key of a class.

    Args:
        name: The class.
        parts: Hashed into the key.
    """
    return Key(hashed_key(name.encode(), *parts)[: KEY_BYTES - CLASS_BYTES] + class_mark(name))


def grouped_key(name: str, group: Sequence[bytes], member: bytes) -> Key:
    """Derive a key of a class whose group all lies at the same peers, since their keys begin alike.

    Args:
        name: The class.
        group: Hashed into what all keys of the group have in common.
        member: Hashed into what they have not.
    """
    shared = hashed_key(name.encode(), *group)[: KEY_BYTES - CLASS_BYTES - MEMBER_BYTES]
    return Key(shared + hashed_key(name.encode(), *group, member)[:MEMBER_BYTES] + class_mark(name))


class KeyClasses:
    """Checks the form of records by the class of their key.

    Args:
        validators: By the name of the class.
        unknown: Whether records under keys of no known class are well-formed.
    """

    def __init__(self, validators: Mapping[str, Validator], *, unknown: bool = True) -> None:
        self._validators = {class_mark(name): validator for name, validator in validators.items()}
        self._unknown = unknown

    def allows(self, key: Key, record: Record) -> bool:
        """Whether the record is well-formed for the class of the key.

        Args:
            key: The key.
            record: The record under it.
        """
        validator = self._validators.get(key[-CLASS_BYTES:])
        if validator is None:
            return self._unknown
        try:
            return validator(key, record)
        except (WireProblem, ValueError):
            return False
