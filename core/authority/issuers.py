"""Issuers as moderators name them: keys whose passes hold beside those of the manifest's key, and where they give them.

The list is a part of `core.authority.roles.Roles`.  An issuer is also a place to ask for a pass (a desk); one that a
list has left out has no pass that holds, and the manifest's key stays one until a list ends it.

What the worst issuer gains: passes for anybody, as the manifest's key, and the address of a stranger that members ask;
until the moderators end it.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.base.ids import Peer32, PeerId
from core.base.problems import BadInput, quoted

ISSUERS_MAX: Final = 8
PLACES_MAX: Final = 2
"""Number of addresses of one issuer's desk."""
HOST_BYTES_MAX: Final = 255
ISSUER_NAME_BYTES_MAX: Final = 40
RETIRING_S: Final = 4 * 24 * 3600 + 3600
"""Life of a pass and an hour: all that a retired issuer has given end by themselves."""
ALIKE_BYTES: Final = 8
"""Length of the beginning of a key by which certificates tell issuers apart."""


class IssuerPlace(msgspec.Struct, frozen=True, array_like=True):
    """An address at which an issuer lets people in."""

    host: Annotated[str, Meta(min_length=1, max_length=HOST_BYTES_MAX)]
    port: Annotated[int, Meta(ge=1, le=65535)]

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @classmethod
    def read(cls, said: str) -> "IssuerPlace":
        """The place that a person has typed, with its port.

        Raises:
            BadInput: it is not one.
        """
        host, _, port = said.rpartition(":")
        try:
            return msgspec.convert((host.strip("[]"), int(port)), cls)
        except (ValueError, msgspec.ValidationError) as error:
            hint = "Write HOST:PORT, as the backbone has told it."
            raise BadInput("{words} is not the address of a backbone.", quoted(said), hint=hint) from error


class Issuer(msgspec.Struct, frozen=True, array_like=True):
    """A key whose passes hold in the collaboration, or did."""

    key: Peer32
    name: Annotated[str, Meta(min_length=1, max_length=ISSUER_NAME_BYTES_MAX)]
    places: Annotated[tuple[IssuerPlace, ...], Meta(max_length=PLACES_MAX)] = ()
    until: Annotated[int, Meta(ge=0, lt=2**53)] | None = None
    """None: it gives passes.  Else none of its passes holds after this, Unix seconds: later than the list's own time
    where it has retired, and earlier where its key was stolen, since then."""


def check_issuers(issuers: Sequence[Issuer]) -> None:
    """Refuse issuers that cannot be told apart, or shown.

    Raises:
        BadInput: they are such.
    """
    if len({one.key[:ALIKE_BYTES] for one in issuers}) < len(issuers):
        raise BadInput("A backbone stands in the list twice.")
    for one in issuers:
        words = (one.name, *(each.host for each in one.places))
        if not all(each.strip() and each.isprintable() for each in words):
            raise BadInput("The name or address of a backbone cannot be shown.", hint="Use printable letters.")
        if len(one.name.encode()) > ISSUER_NAME_BYTES_MAX:
            raise BadInput("The name of a backbone is too long.", ISSUER_NAME_BYTES_MAX, hint="It has {most} bytes.")


def issuing(issuers: Sequence[Issuer], founder: PeerId) -> Mapping[PeerId, float]:
    """When the passes of each issuer end, Unix seconds; infinite: it goes on giving some.

    Args:
        issuers: Those of a list.
        founder: The manifest's key, which is one where the list does not name it.

    Raises:
        BadInput: nobody gives passes.
    """
    ends = {founder: math.inf} | {
        PeerId(one.key): math.inf if one.until is None else float(one.until) for one in issuers
    }
    if math.inf not in ends.values():
        raise BadInput("Nobody would be left who gives passes.", hint="Add another backbone first.")
    return ends
