"""What a backbone that starts again has of its last run: where it is found, its own key, and where peers were."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from core.api.joined import LETTERS_MAX
from core.backbone.link import PLACES_MAX
from core.base.ids import Contact
from core.base.problems import Damaged, Problem
from core.base.signing import SEED_BYTES, KeyPair
from core.system.atomic_files import read_bounded, set_aside, write_atomic

PORTS = "ports.json"
LOCK = "backbone.lock"
"""File of a charter on which the backbone that runs there holds a lock."""
PORTS_BYTES_MAX = LETTERS_MAX + 1024
CONTACTS_MAX = 64
BYTES_MAX = 64 * 1024

_Contacts = Annotated[list[Contact], Meta(max_length=CONTACTS_MAX)]


class Ports(msgspec.Struct, frozen=True):
    """Where the backbone listened last time: it tries the same ports again, so that links and addresses stay valid."""

    peers: Annotated[int, Meta(ge=0, le=65_535)] = 0
    desk: Annotated[int, Meta(ge=0, le=65_535)] = 0
    host: str = ""
    """The address that others were told, for links of later invitations."""
    also: Annotated[tuple[str, ...], Meta(max_length=PLACES_MAX)] = ()
    """Further addresses, which links name as well."""

    @property
    def hosts(self) -> tuple[str, ...]:
        """All addresses, the first one first; empty: none was told."""
        return (self.host, *self.also) if self.host else ()


def read_ports(charter: Path) -> Ports:
    """Where the backbone listened last time; a damaged file is set aside.

    Args:
        charter: The charter's folder.
    """
    try:
        data = read_bounded(charter / PORTS, PORTS_BYTES_MAX)
        return Ports() if data is None else msgspec.json.decode(data, type=Ports)
    except ValueError:
        set_aside(charter / PORTS)
        return Ports()


def write_ports(charter: Path, ports: Ports) -> None:
    """Remember where the backbone is found.

    Args:
        charter: The charter's folder.
        ports: What is remembered.

    Raises:
        NoSpace: the disk is full.
        UserProblem: the system does not allow it.
    """
    write_atomic(charter / PORTS, msgspec.json.encode(ports))


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
