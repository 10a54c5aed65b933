"""What a person asks of an engine about their own account, which has a key for each of their computers."""

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta


class AccountAct(StrEnum):
    """What a member asks about its own account."""

    LIST = "list"
    ADD = "add"
    """Make a link for one further computer."""
    END = "end"
    """Let another computer of the account in no more."""


class AccountWish(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a person wants of their account."""

    act: AccountAct = AccountAct.LIST
    who: Annotated[str, Meta(max_length=100)] = ""
    """The computer that ends: its name, or the beginning of its key in hex."""


class DeviceView(msgspec.Struct, frozen=True):
    """One computer of the account."""

    name: str
    """What it called itself when it came; empty: an earlier version let it in."""
    key: str
    at: float
    """When it was let in, Unix seconds."""
    is_me: bool
    ended: bool


class AccountView(msgspec.Struct, frozen=True):
    """The account after what was asked."""

    name: str
    devices: tuple[DeviceView, ...]
    """In the order in which they came."""
    link: str = ""
    """Lets one further computer in; empty: none was asked for."""
    until: float = 0.0
    """When the link ends, Unix seconds."""
    told: bool = True
    """False: what was ended is known to the backbone only, and its last pass holds until its time is over."""
