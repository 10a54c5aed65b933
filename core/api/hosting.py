"""Collaborations as a person has them on this computer, its backbones among them, and from where others reach those."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.api.joined import KeptRefusal
from core.api.sentence import later
from core.api.turns import WhyNot


class BackboneState(StrEnum):
    """Where a backbone stands that this computer's person has founded."""

    RUNS = "runs"
    WAITS = "waits"
    """Its turn to run has come, and it does not yet."""
    OFF = "off"


class JoinedView(msgspec.Struct, frozen=True, kw_only=True):
    """A collaboration that this computer has joined, or whose charter its person holds."""

    id: str
    """Hex digest of the manifest."""
    name: str
    summary: str = ""
    organiser: str = ""
    joined: bool = True
    """False: it was left, or never joined, and its charter is here."""
    current: bool = False
    """Whether it is the one that comes first."""
    served: bool = False
    """Whether an engine takes part in it now."""
    why_not: WhyNot | None = None
    """Why it had its turn and is not served."""
    refusal: KeptRefusal | None = None
    """What it said when it let this computer take part no more."""
    goes_on_from: str = ""
    """Id of the collaboration from whose model it goes on; empty: none."""
    samples: int = 0
    """Samples of this computer that its model counts, as far as they are known here."""
    served_at: float = 0.0
    """Unix seconds of the last time that an engine took part; 0: never."""
    closed: bool = False
    """Whether its moderators let nobody new in."""
    charter: str = ""
    """Folder of its charter, which lets people in; empty: it is not here."""
    backbone: BackboneState | None = None
    """None: its backbone is another computer's affair."""
    alone: bool = False
    """Whether it lives on this computer only."""
    backbone_refusal: KeptRefusal | None = None
    """Why the backbone does not run."""


class Router(StrEnum):
    """What the router before this computer does for a backbone."""

    OPENS = "opens"
    """It leads calls from outside to the ports that Potluck asks for."""
    SHARED = "shared"
    """It does so, and has no address of its own on the Internet: another router, or the provider, stands before it."""
    CLOSED = "closed"
    NONE = "none"
    """There is none, as far as the system says."""


class WhereView(msgspec.Struct, frozen=True, kw_only=True):
    """Addresses at which others can find a backbone of this computer."""

    home: Annotated[str, Meta(max_length=64)] = ""
    """Address in the home network; empty: there is none."""
    outside: Annotated[str, Meta(max_length=64)] = ""
    """Address that the whole Internet can call; empty: there is none."""
    router: Router = Router.NONE

    @property
    def hosts(self) -> tuple[str, ...]:
        """The addresses that a link should name."""
        return tuple(filter(None, dict.fromkeys((self.outside, self.home))))

    @property
    def sentence(self) -> str:
        """Who can come in, and what helps, as a template without fields."""
        if self.outside:
            return WORDS[Router.OPENS if self.router is Router.OPENS else Router.NONE]
        return WORDS[self.router] if self.router is not Router.NONE or self.home else NOBODY


WORDS: Final[Mapping[Router, str]] = MappingProxyType(
    {
        Router.OPENS: (
            "Friends can come in from anywhere: your router leads them here. Your provider may change the address; "
            "then make a new link."
        ),
        Router.SHARED: (
            "Only computers in your home can come in: your provider, or a second router, shares one address among "
            "several homes. A provider with IPv6, or a rented server, would change that."
        ),
        Router.CLOSED: (
            "Only computers in your home can come in: your router opens no port by itself. Allow UPnP in the router, "
            "and look again; or forward the two ports that are told in the end, and name the address that others call."
        ),
        Router.NONE: "Others can come in wherever they can call this address.",
    }
)
NOBODY: Final = later("This computer has no network now: nobody else can come in.")
