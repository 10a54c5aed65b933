"""Ways in: how people sign in at the page of a collaboration, as the organiser writes them in `ways.toml`.

address = "https://potluck.example.org"    # at which others open the page; alone, moderators sign in there

[passphrase]                               # a name and a passphrase
admit = "asked"                            # who gets in: "anybody", or those whom a moderator has let in

[github]                                   # an OAuth app of GitHub's, callback ADDRESS/in/back/github
client_id = "..."
client_secret = "..."
admit = "listed"                           # those whose names or numbers stand in a file beside this one
list = "people.txt"

[oidc.huggingface]                         # any issuer of OpenID Connect, callback ADDRESS/in/back/huggingface
title = "Hugging Face"
issuer = "https://huggingface.co"
client_id = "..."
client_secret = "..."
admit = "listed"
organisations = ["bigscience"]             # or all members of these
match = "sub"                              # what a line of a list is compared with; or "preferred_username"
"""

import tomllib
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Final
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from core.base.problems import BadInput, quoted

WAYS: Final = "ways.toml"
WAYS_BYTES_MAX: Final = 64 * 1024
LIST_BYTES_MAX: Final = 256 * 1024
LISTED_MAX: Final = 20_000
LISTED_LETTERS: Final = 255
WAYS_MAX: Final = 8
SUBJECT: Final = "sub"
PREFERRED: Final = "preferred_username"
"""The claim that has the name which somebody has chosen at an issuer."""
LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
_HINT: Final = "See docs/organiser.md, Ways in."

Short = Annotated[str, Meta(min_length=1, max_length=80)]
Secret = Annotated[str, Meta(max_length=512)]
Address = Annotated[str, Meta(min_length=1, max_length=255)]
Key = Annotated[str, Meta(pattern="^[a-z0-9-]{1,32}$")]


class Admit(StrEnum):
    """Who gets a ticket of those who have signed in."""

    ANYBODY = "anybody"
    LISTED = "listed"
    ASKED = "asked"


class Passphrase(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Names and passphrases, which this site keeps itself."""

    admit: Admit = Admit.ASKED


class Client(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """This site, as another one knows it that says who people are."""

    client_id: Short
    client_secret: Secret = ""
    admit: Admit = Admit.ASKED
    list: Annotated[str, Meta(max_length=255)] = ""
    """The file of those who get in; empty: there is none."""
    listed: Annotated[tuple[Annotated[str, Meta(max_length=LISTED_LETTERS)], ...], Meta(max_length=LISTED_MAX)] = ()
    """Its lines, once it was read."""


class GitHub(Client, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An OAuth app of GitHub's, as its settings there have it."""

    site: Address = "https://github.com"
    api: Address = "https://api.github.com"


class OidcIssuer(Client, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An issuer of OpenID Connect, with what it knows of this site."""

    issuer: Address
    title: Annotated[str, Meta(max_length=80)] = ""
    """As people know it; empty: its address."""
    scopes: Annotated[tuple[Short, ...], Meta(min_length=1, max_length=8)] = ("openid", "profile")
    organisations: Annotated[tuple[Short, ...], Meta(max_length=64)] = ()
    """Their members are as if listed; the issuer says who is one (`orgs` or `groups` of its user information)."""
    match: Short = SUBJECT
    """Which claim a list has: `SUBJECT`, which the issuer gives to nobody else, or also `PREFERRED`."""


class WaysIn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All ways in of a collaboration, as its organiser writes them."""

    address: Address
    """The page's, without a path."""
    passphrase: Passphrase | None = None
    github: GitHub | None = None
    oidc: Annotated[dict[Key, OidcIssuer], Meta(max_length=WAYS_MAX)] = {}

    @property
    def clients(self) -> dict[str, GitHub | OidcIssuer]:
        """The ways at other sites, by the last part of their addresses here."""
        return {**({} if self.github is None else {"github": self.github}), **self.oidc}

    @property
    def told(self) -> tuple[str, ...]:
        """The ways in as an organiser reads them."""
        own = () if self.passphrase is None else (f"name and passphrase ({self.passphrase.admit})",)
        return (*own, *(f"{title_of(one)} ({one.admit})" for one in self.clients.values()))


def title_of(client: GitHub | OidcIssuer) -> str:
    """The name by which people know who lets them sign in."""
    return "GitHub" if isinstance(client, GitHub) else client.title or urlsplit(client.issuer).netloc


def parse_ways(text: str, read_list: Callable[[str], str]) -> WaysIn:
    """The ways in of a file's text.

    Args:
        text: The file's.
        read_list: Gives the text of a file of names that lies beside it.

    Raises:
        BadInput: it has a mistake; the sentence names the key and its bound.
    """
    try:
        found = msgspec.convert(tomllib.loads(text), WaysIn)
    except tomllib.TOMLDecodeError as error:
        raise BadInput("{file} cannot be read: {why}.", WAYS, str(error), hint=_HINT) from error
    except msgspec.ValidationError as error:
        why, _, place = str(error).partition(" - at ")
        at = place.strip("`").removeprefix("$").removeprefix(".") or "the file"
        raise BadInput("{file}, {place}: {why}.", WAYS, at, why, hint=_HINT) from error
    _check_address("address", found.address)
    if "github" in found.oidc or "passphrase" in found.oidc:
        raise _mistake("oidc", "the names github and passphrase are those of other ways")
    if found.passphrase is not None and found.passphrase.admit is Admit.LISTED:
        raise _mistake("passphrase.admit", "anybody can take a listed name: use 'asked' or 'anybody'")
    issuers = [one.issuer for one in found.oidc.values()]
    if len(set(issuers)) < len(issuers):
        raise _mistake("oidc", "two of them have one issuer")
    listed = {name: _with_list(name, one, read_list) for name, one in found.oidc.items()}
    github = None if found.github is None else _with_list("github", found.github, read_list)
    return msgspec.structs.replace(found, address=_as_browsers_say(found.address), oidc=listed, github=github)


def _with_list(name: str, client: GitHub | OidcIssuer, read_list: Callable[[str], str]) -> GitHub | OidcIssuer:
    """A way with the lines of its list, once what it says was checked."""
    where = name if isinstance(client, GitHub) else f"oidc.{name}"
    addresses = {"site": client.site, "api": client.api} if isinstance(client, GitHub) else {"issuer": client.issuer}
    for key, address in addresses.items():
        _check_address(f"{where}.{key}", address, path=True)
    organisations = client.organisations if isinstance(client, OidcIssuer) else ()
    if client.listed:
        raise _mistake(f"{where}.listed", "names stand in a file of their own: use list")
    if (client.admit is Admit.LISTED) != bool(client.list or organisations):
        raise _mistake(f"{where}.admit", "'listed', and a list or organisations, need each other")
    if isinstance(client, OidcIssuer) and client.match not in {SUBJECT, PREFERRED}:
        raise _mistake(f"{where}.match", f"a list is compared with '{SUBJECT}' or '{PREFERRED}'")
    if isinstance(client, OidcIssuer) and client.match != SUBJECT and not client.list:
        raise _mistake(f"{where}.match", "it says what a list is compared with, and there is no list")
    if isinstance(client, OidcIssuer) and "openid" not in client.scopes:
        raise _mistake(f"{where}.scopes", "'openid' is missing")
    if not client.list:
        return client
    if "/" in client.list or "\\" in client.list or client.list.startswith("."):
        raise _mistake(f"{where}.list", f"{quoted(client.list)} is not the name of a file beside {WAYS}")
    lines = [line.partition("#")[0].strip() for line in read_list(client.list).splitlines()]
    kept = tuple(line for line in lines if line)
    if len(kept) > LISTED_MAX or any(len(line) > LISTED_LETTERS for line in kept):
        bound = f"{client.list} has more than {LISTED_MAX} lines, or one of more than {LISTED_LETTERS} letters"
        raise _mistake(f"{where}.list", bound)
    return msgspec.structs.replace(client, listed=kept)


def _check_address(key: str, address: str, *, path: bool = False) -> None:
    """Refuse an address at which passwords would cross a network in the clear, or that is not one."""
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:
        raise _mistake(key, f"{quoted(address)} is not an address") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise _mistake(key, f"{quoted(address)} is not an address such as https://potluck.example.org")
    if parts.scheme == "http" and parts.hostname not in LOOPBACK:
        raise _mistake(key, "it has to begin with https://, except on this computer")
    if parts.path and not path:
        raise _mistake(key, "nothing may stand behind the name and the port")


def _as_browsers_say(address: str) -> str:
    """The origin of an address: in small letters, without the port that its scheme has anyway."""
    parts = urlsplit(address)
    usual = ":443" if parts.scheme == "https" else ":80"
    return f"{parts.scheme}://{parts.netloc.lower().removesuffix(usual).rstrip(':')}"


def _mistake(key: str, why: str) -> BadInput:
    return BadInput("{file}, {place}: {why}.", WAYS, key, why, hint=_HINT)
