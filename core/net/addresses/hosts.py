"""Names and addresses of hosts, as people type them and peers tell them: which can be, and how far they reach.

IP addresses are those of the standard library, and names those of RFC 1123, section 2.1: letters, digits and hyphens
between dots, where the last part is not a number (`256.1.1.1` is not a name, but an IP address with a slip in it).
"""

import ipaddress
import re
from enum import StrEnum
from typing import Final

from core.base.problems import BadInput, quoted
from core.nat.peer_record import is_public

LABEL: Final = r"[0-9a-z](?:[0-9a-z-]{0,61}[0-9a-z])?"
_NAME: Final = re.compile(rf"(?=.{{1,253}}$)(?:{LABEL}\.)*(?![0-9]+\.?$){LABEL}\.?", re.IGNORECASE)
_AT_HOME: Final = ("local", "lan", "home", "internal", "home.arpa")
"""Ends of names that only a home's own router or computers know."""


class Reach(StrEnum):
    """From where computers can call a host."""

    HERE = "here"
    """From the same computer only."""
    HOME = "home"
    """From the same private network only."""
    ANYWHERE = "anywhere"
    """From the Internet, where its router and its firewall let calls through."""


SAID: Final = {
    Reach.HERE: "only from this computer",
    Reach.HOME: "only from your home network",
    Reach.ANYWHERE: "from anywhere, where your router lets it through",
}
"""What a person is told about how far an address reaches, after a verb such as "can be reached"."""


def is_literal(host: str) -> bool:
    """Whether it is an IP address, which needs no look-up.

    Scoped addresses and IPv4 mapped into IPv6 do not count: others cannot name the former, and the latter has a form of
    its own.
    """
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return "%" not in host and (address.version == 4 or address.ipv4_mapped is None)


def is_name(host: str) -> bool:
    """Whether it could be a host's name; any other text of a stranger is kept from the resolver."""
    return _NAME.fullmatch(host) is not None


def read_host(text: str) -> str:
    """The host that a person typed, without the brackets in which addresses put IPv6; empty where nothing was typed.

    Raises:
        BadInput: no computer could call it.
    """
    inner = text[1:-1] if text.startswith("[") and text.endswith("]") and ":" in text else text
    if is_literal(inner):
        address = ipaddress.ip_address(inner)
        scoped = address.version == 6 and address.is_link_local
        if not (address.is_unspecified or address.is_multicast or scoped or inner == "255.255.255.255"):
            return str(address)
    elif not text or is_name(text):
        return text
    hint = "Write an IP address, or a name such as potluck.example.org, without a port."
    raise BadInput("{text} is not an address that others could call.", quoted(text, 60), hint=hint)


def reach(host: str) -> Reach:
    """How far a host that `read_host` takes can be reached, by what it is called; nothing is asked."""
    name = host.rstrip(".").lower()
    if is_literal(name):
        if ipaddress.ip_address(name).is_loopback:
            return Reach.HERE
        return Reach.ANYWHERE if is_public(name) else Reach.HOME
    if name == "localhost" or name.endswith(".localhost"):
        return Reach.HERE
    return Reach.HOME if "." not in name or name.endswith(tuple(f".{end}" for end in _AT_HOME)) else Reach.ANYWHERE
