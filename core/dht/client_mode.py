"""Client mode: whether a node cannot be reached, which may turn out while it runs."""

from dataclasses import dataclass


@dataclass(slots=True)
class ClientMode:
    """A flag that all parts of a node share."""

    client: bool
    """The node cannot be reached: it reads and writes, answers nobody, and stores nothing for others."""
