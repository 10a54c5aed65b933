"""Where the backbone of a charter is found, as the charter remembers it: `ports.json`."""

from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from core.api.joined import LETTERS_MAX
from core.backbone.link import PLACES_MAX
from core.system.atomic_files import read_bounded, set_aside, write_atomic

PORTS = "ports.json"
LOCK = "backbone.lock"
"""File of a charter on which the backbone that runs there holds a lock."""
_BYTES_MAX = LETTERS_MAX + 1024


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
        data = read_bounded(charter / PORTS, _BYTES_MAX)
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
