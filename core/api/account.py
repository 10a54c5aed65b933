"""What a person asks of an engine about their own account, which has a key for each of their computers."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.api.sentence import later


class AccountAct(StrEnum):
    """What a member asks about its own account."""

    LIST = "list"
    ADD = "add"
    """Make a link for one further computer."""
    END = "end"
    """Let another computer of the account in no more."""
    SIGN_OUT = "sign-out"
    """Let this computer in no more, until its person brings it back."""
    TAKE_OUT = "take-out"
    """Let no computer of the account in any more, and tell its name to nobody."""


WAYS_OUT: Final[Mapping[AccountAct, tuple[str, str]]] = MappingProxyType(
    {
        AccountAct.SIGN_OUT: (
            later(
                "This computer gives its pass up and leaves the collaboration. What it gave stays in the model, under "
                "your name. It comes in again when you sign in, or by a link of another computer of yours."
            ),
            later("You are signed out here."),
        ),
        AccountAct.TAKE_OUT: (
            later(
                "None of your computers gets a pass any more; the others stop within some hours. Your name leaves the "
                "board, and nobody else gets it; what you gave stays in the model, without a name. This cannot be "
                "taken back. If you signed in with a browser, take your account out there as well."
            ),
            later("Your account is taken out."),
        ),
    }
)
"""What a person reads before they go, and once they have gone."""


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
    collaboration: str = ""
    """Hex digest of the manifest."""
