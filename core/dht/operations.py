"""Operations: several queries with one purpose.

An operation says what to ask, takes the answers, and knows when it is done.  It neither sends nor waits: the query
runner does that for all operations.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from core.base.ids import Contact
from core.dht.disjoint_lookup import DisjointLookup
from core.dht.lookup import Lookup
from core.dht.messages import PAD, Answer, Find, Nodes, Request


@dataclass(frozen=True, slots=True)
class Ask:
    """A request to send; its query id and the mark of client mode are filled in when it is."""

    contact: Contact
    request: Request


class Operation(ABC):
    """Several queries with one purpose."""

    @property
    @abstractmethod
    def done(self) -> bool:
        """Whether nothing is left to ask or to wait for."""

    @abstractmethod
    def asks(self) -> list[Ask]:
        """Requests to send now; they count as sent."""

    @abstractmethod
    def answered(self, contact: Contact, request: Request, answer: Answer, now: float) -> None:
        """Take the answer to one of the requests.

        Args:
            contact: The contact that answered.
            request: The request.
            answer: Answer of the class that belongs to the request.
            now: Unix seconds.
        """

    def slow(self, contact: Contact, request: Request) -> None:  # noqa: B027 - an operation need not mind
        """Note that a request is being repeated.

        Args:
            contact: The contact that has not answered yet.
            request: The request.
        """

    @abstractmethod
    def failed(self, contact: Contact, request: Request) -> None:
        """Note that a request was not answered.

        Args:
            contact: The contact that did not answer.
            request: The request.
        """


class FindNode(Operation):
    """Finds the peers nearest to a key (Kademlia's FIND_NODE)."""

    def __init__(self, lookup: Lookup | DisjointLookup) -> None:
        self.lookup = lookup

    @property
    def done(self) -> bool:
        """Whether the nearest peers have answered."""
        return self.lookup.done

    def asks(self) -> list[Ask]:
        """Requests for peers nearer to the key."""
        return [Ask(contact, Find(0, False, self.lookup.key, PAD)) for contact in self.lookup.take()]

    def answered(self, contact: Contact, request: Request, answer: Answer, now: float) -> None:  # noqa: ARG002 - the base's
        """Add contacts nearer to the key."""
        self.lookup.answered(contact.peer_id)
        if isinstance(answer, Nodes):
            self.lookup.add(answer.nodes, contact.peer_id)

    def slow(self, contact: Contact, request: Request) -> None:  # noqa: ARG002 - the base's
        """Let the lookup go on without a slow peer."""
        self.lookup.slow(contact.peer_id, contact)

    def failed(self, contact: Contact, request: Request) -> None:  # noqa: ARG002 - the base's
        """Let the lookup go on without a failed peer."""
        self.lookup.failed(contact.peer_id, contact)
