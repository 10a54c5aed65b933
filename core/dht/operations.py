"""What a node has under way: several queries with one purpose.

An operation says what to ask, hears how that went, and knows when it is done.  It neither sends nor waits: the node
does that for all of them.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from core.dht.disjoint_lookup import DisjointLookup
from core.dht.lookup import Lookup
from core.dht.messages import PAD, Answer, Contact, Find, Nodes, Request


@dataclass(frozen=True, slots=True)
class Ask:
    """Please send this request; its query id is still to be chosen."""

    contact: Contact
    request: Request


class Operation(ABC):
    """Several queries with one purpose.

    Attributes:
        deadline: When it is to end with what it has.
    """

    def __init__(self, *, client: bool, deadline: float) -> None:
        self.client = client
        self.deadline = deadline

    @property
    @abstractmethod
    def done(self) -> bool:
        """Whether nothing is left to ask or to wait for."""

    @abstractmethod
    def asks(self) -> list[Ask]:
        """What to ask now; it counts as asked."""

    @abstractmethod
    def answered(self, contact: Contact, request: Request, answer: Answer, now: float) -> None:
        """The answer to one of the requests; `answer` is of the class that belongs to it."""

    def slow(self, contact: Contact, request: Request) -> None:  # noqa: B027 - an operation need not mind
        """A request is being repeated."""

    @abstractmethod
    def failed(self, contact: Contact, request: Request) -> None:
        """A request was not answered."""


class FindNode(Operation):
    """Finds the nearest peers of a key."""

    def __init__(self, lookup: Lookup | DisjointLookup, *, client: bool, deadline: float) -> None:
        super().__init__(client=client, deadline=deadline)
        self.lookup = lookup

    @property
    def done(self) -> bool:
        """Whether the nearest have answered."""
        return self.lookup.done

    def asks(self) -> list[Ask]:
        """Whom to ask for nearer peers."""
        return [Ask(contact, Find(0, self.client, self.lookup.key, PAD)) for contact in self.lookup.take()]

    def answered(self, contact: Contact, request: Request, answer: Answer, now: float) -> None:  # noqa: ARG002 - the base's
        """Contacts nearer to the key."""
        self.lookup.answered(contact.peer_id)
        if isinstance(answer, Nodes):
            self.lookup.add(answer.nodes, contact.peer_id)

    def slow(self, contact: Contact, request: Request) -> None:  # noqa: ARG002 - the base's
        """Go on without."""
        self.lookup.slow(contact.peer_id, contact)

    def failed(self, contact: Contact, request: Request) -> None:  # noqa: ARG002 - the base's
        """Go on without."""
        self.lookup.failed(contact.peer_id, contact)
