"""The link by which people join: where backbones are, which collaboration it must be, and the invitation."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlsplit

from core.api.joined import LETTERS_MAX, LINK_LETTERS_MAX
from core.authority.issuers import Issuer
from core.base.problems import BadInput
from core.net.addresses.hosts import Reach, is_literal, is_name, reach, read_host

SCHEME = "potluck"
PLACES_MAX: Final = 8
"""Upper bound on the addresses that are asked, the first of a link: it cannot make a program call many strangers."""
_MANIFEST = re.compile(r"^/([0-9a-f]{64})/?$")
INVITE_LETTERS_MAX: Final = 128
_INVITE = re.compile(rf"^[A-Za-z0-9_-]{{1,{INVITE_LETTERS_MAX}}}$")
_ALSO = "also="


@dataclass(frozen=True, slots=True)
class Link:
    """A link as people pass it on: `potluck://host:port/<manifest id in hex>?also=host:port,host:port#<invitation>`.

    Programs that know one address only pass over what stands behind the question mark.  By a link without an invitation
    members go on, and people come in who sign in at the collaboration's page.
    """

    host: str
    port: int
    manifest_id: bytes
    invite: str
    also: tuple[tuple[str, int], ...] = ()
    """Further addresses, host and port, at which a backbone may answer."""

    def __str__(self) -> str:
        also = ",".join(place(host, port) for host, port in self.also)
        more = f"?{_ALSO}{also}" if also else ""
        invite = f"#{self.invite}" if self.invite else ""
        return f"{SCHEME}://{place(self.host, self.port)}/{self.manifest_id.hex()}{more}{invite}"

    @property
    def where(self) -> str:
        """Host and port of each address, as people read them."""
        return ", ".join(place(each.host, each.port) for each in self.each)

    @property
    def each(self) -> list["Link"]:
        """The same link to one address at a time."""
        return [replace(self, host=host, port=port, also=()) for host, port in ((self.host, self.port), *self.also)]

    @property
    def is_near(self) -> bool:
        """Whether it leads nowhere but into this computer or its private network."""
        return all(reach(each.host) is not Reach.ANYWHERE for each in self.each)

    @property
    def base_url(self) -> str:
        """Where the welcome desk of the first address answers."""
        return f"https://{place(self.host, self.port)}"


def place(host: str, port: int) -> str:
    """Host and port, as in an address of the web."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def link_to(hosts: Sequence[str], port: int, manifest_id: bytes, invite: str) -> Link:
    """The link to a backbone that is found at several hosts.

    Args:
        hosts: At least one, the best first.
        port: Port of the welcome desk, at each of them.
        manifest_id: The collaboration.
        invite: Secret of the invitation.
    """
    first, *others = hosts
    return Link(first, port, manifest_id, invite, tuple((host, port) for host in others))


def with_desks(link: Link, issuers: Sequence[Issuer]) -> Link:
    """The link with the addresses of all desks that let people in, for a member: any of them renews its pass.

    Args:
        link: By which it has joined.
        issuers: Those of the moderators' newest list.
    """
    known = {(one.host, one.port) for one in link.each}
    told = dict.fromkeys((at.host, at.port) for one in issuers if one.until is None for at in one.places)
    found = [place for place in told if place not in known and (is_literal(place[0]) or is_name(place[0]))]
    return replace(link, also=(*link.also, *found)) if found else link


def read_hosts(said: Sequence[str]) -> tuple[str, ...]:
    """The hosts that a person typed for a link, each once.

    Raises:
        BadInput: no computer could call one of them, or a link has no room for all.
    """
    hosts = tuple(dict.fromkeys(filter(None, map(read_host, said))))
    hint = "Name fewer with --host."
    if len(hosts) > PLACES_MAX:
        raise BadInput("A link has at most {most} addresses, not {count}.", PLACES_MAX, len(hosts), hint=hint)
    if hosts:
        _check_letters(str(link_to(hosts, 65_535, bytes(32), "x" * INVITE_LETTERS_MAX)), LETTERS_MAX, hint=hint)
    return hosts


def _check_letters(link: str, most: int, *, hint: str) -> None:
    if len(link) > most:
        raise BadInput("A link has at most {most} letters, not {count}.", most, len(link), hint=hint)


def parse_link(text: str) -> Link:
    """The link in `text`, with the first `PLACES_MAX` of its addresses.

    Raises:
        BadInput: it is not valid; the sentence says what is missing.
    """
    hint = "A link looks like potluck://host:port/0123…#invitation; copy the whole of it from the organiser."
    _check_letters(text, LINK_LETTERS_MAX, hint=hint)
    try:
        parts = urlsplit(text.strip())
        host, port = parts.hostname, parts.port
        query = parts.query.removeprefix(_ALSO) if parts.query.startswith(_ALSO) else ""
        further = [urlsplit(f"//{each}") for each in query.split(",") if each]
        also = dict.fromkeys((each.hostname or "", each.port or 0) for each in further)
    except ValueError as error:
        raise BadInput("This link cannot be read: {error}.", error, hint=hint) from error
    if parts.scheme != SCHEME or not host or not port or not all(name and number for name, number in also):
        raise BadInput("This is not a Potluck link.", hint=hint)
    manifest = _MANIFEST.match(parts.path)
    if manifest is None:
        raise BadInput("This link does not say which collaboration it leads to.", hint=hint)
    if parts.fragment and not _INVITE.match(parts.fragment):
        raise BadInput("The invitation in this link cannot be read.", hint=hint)
    also.pop((host, port), None)
    link = Link(host, port, bytes.fromhex(manifest[1]), parts.fragment, tuple(also)[: PLACES_MAX - 1])
    for each in link.each:
        read_host(each.host)
    _check_letters(str(link), LETTERS_MAX, hint=hint)
    return link
