"""A lookup on several disjoint paths (Baumgart and Mies 2007, S/Kademlia, section 4.4).

Each path has its own candidates and follows only answers of its own peers; no peer is asked on two paths at the same
address.  A hostile peer misleads at most the path that meets it, and the results of the paths are merged.
"""

from collections.abc import Iterable
from dataclasses import replace

from core.base.ids import Contact, Key, PeerId
from core.dht.lookup import Lookup, LookupOptions
from core.dht.space import point, position


class DisjointLookup:
    """Several lookups of one key with the interface of one.

    Args:
        key: The key to approach.
        start: Dealt out to the paths in turn, nearest first.
        width: Number of nearest peers that must have answered on each path: the nearest of all may lie on any.
        options: Breadth of all paths together, with at least one query in flight on each, and limits on the influence
            of others on each path.
        paths: Number of paths; with fewer contacts to start from there are fewer.
    """

    def __init__(
        self,
        key: Key,
        start: Iterable[Contact],
        *,
        width: int,
        options: LookupOptions,
        paths: int,
    ) -> None:
        contacts = list(start)
        paths = max(1, min(paths, len(contacts)))
        taken: set[Contact] = set()
        self.key = key
        self.span = options.span
        self._width = width
        self._by: dict[PeerId, list[Lookup]] = {}
        """Paths on which a peer was asked: more than one only if it is said to be at several addresses."""
        each = replace(options, parallel=max(1, options.parallel // paths), parallel_near=None)
        self._lookups = [
            Lookup(key, contacts[index::paths], width=width, options=each, taken=taken) for index in range(paths)
        ]

    @property
    def width(self) -> int:
        """Number of nearest peers that must have answered."""
        return self._width

    @width.setter
    def width(self, width: int) -> None:
        self._width = width
        for lookup in self._lookups:
            lookup.width = width

    @property
    def done(self) -> bool:
        """Whether every path has come to its end."""
        return all(lookup.done for lookup in self._lookups)

    def add(self, contacts: Iterable[Contact], by: PeerId | None = None) -> None:
        """Add contacts to the path on which the peer that named them was asked.

        Args:
            contacts: The contacts.
            by: The peer that named them; None: they were known.
        """
        for lookup in self._lookups[:1] if by is None else self._by.get(by, ())[:1]:
            lookup.add(contacts, by)

    def take(self) -> list[Contact]:
        """Choose contacts to ask now; they count as asked."""
        chosen: list[Contact] = []
        for lookup in self._lookups:
            for contact in lookup.take():
                self._by.setdefault(contact.peer_id, []).append(lookup)
                chosen.append(contact)
        return chosen

    def answered(self, peer: PeerId) -> None:
        """Note that a peer has answered."""
        for lookup in self._by.get(peer, ()):
            lookup.answered(peer)

    def slow(self, peer: PeerId, asked: Contact | None = None) -> None:
        """Go on without a peer that has not answered the first sending.

        Args:
            peer: The peer.
            asked: The address that was asked; None: the present one.
        """
        for lookup in self._by.get(peer, ()):
            lookup.slow(peer, asked)

    def failed(self, peer: PeerId, asked: Contact | None = None) -> None:
        """Give up a peer that will not answer.

        Args:
            peer: The peer.
            asked: The address that was asked; None: the present one.
        """
        for lookup in self._by.get(peer, ()):
            lookup.failed(peer, asked)

    def nearest(self) -> set[PeerId]:
        """The `width` nearest peers on each path, asked or not, without silent ones."""
        return set[PeerId]().union(*(lookup.nearest() for lookup in self._lookups))

    @property
    def silent(self) -> int:
        """Number of possibly nearest peers that have not answered."""
        return sum(lookup.silent for lookup in self._lookups)

    def found(self, count: int) -> list[Contact]:
        """The nearest peers that have answered on any path, nearest first, at most `count`."""
        target = point(self.key)
        merged = [contact for lookup in self._lookups for contact in lookup.found(count)]
        merged.sort(key=lambda contact: position(contact.peer_id) ^ target)
        return merged[:count]
