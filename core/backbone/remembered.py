"""What a backbone that starts again has of its last run: its own key, and where peers were."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from core.base.contact import Contact
from core.base.problems import Damaged, Problem
from core.base.signing import SEED_BYTES, KeyPair
from core.system.atomic_files import read_bounded, set_aside, write_atomic

CONTACTS_MAX = 64
BYTES_MAX = 64 * 1024

_Contacts = Annotated[list[Contact], Meta(max_length=CONTACTS_MAX)]


def backbone_key(path: Path) -> KeyPair:
    """The backbone's own identity; made at the first start, kept so that links stay valid.

    Raises:
        Damaged: the file is unreadable; it was set aside.
    """
    try:
        seed = read_bounded(path, SEED_BYTES)
    except ValueError:
        seed = b""
    if seed is None:
        key = KeyPair.generate()
        write_atomic(path, key.seed)
        return key
    if len(seed) != SEED_BYTES:
        aside = set_aside(path)
        raise Damaged(
            "The backbone's key is damaged.", aside.name, hint="It was kept as {name}; start again for a new one."
        )
    return KeyPair(seed)


class RememberedContacts:
    """A file with contacts.  A damaged one is set aside: whoever asks us will make us known again.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.contacts: Sequence[Contact] = self._load()

    def save(self, contacts: Sequence[Contact]) -> bool:
        """Keep the most useful; an empty list changes nothing.  False: the disk refused."""
        known = list(contacts[:CONTACTS_MAX])
        if not known or known == self.contacts:
            return True
        try:
            write_atomic(self._path, msgspec.json.encode(known))
        except (OSError, Problem):
            return False
        self.contacts = known
        return True

    def _load(self) -> list[Contact]:
        try:
            data = read_bounded(self._path, BYTES_MAX)
            return [] if data is None else msgspec.json.decode(data, type=_Contacts)
        except ValueError:
            set_aside(self._path)
            return []
