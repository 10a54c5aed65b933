"""Where peers were last time, so that a backbone that starts again finds its swarm."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from core.base.contact import Contact
from core.base.problems import Problem
from core.system.atomic_files import read_bounded, set_aside, write_atomic

CONTACTS_MAX = 64
BYTES_MAX = 64 * 1024

_Contacts = Annotated[list[Contact], Meta(max_length=CONTACTS_MAX)]


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
