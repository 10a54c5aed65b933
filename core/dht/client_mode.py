"""Whether a node can be reached, which may turn out while it runs."""

from dataclasses import dataclass


@dataclass(slots=True)
class ClientMode:
    """All parts of a node look at the same one."""

    client: bool
    """Cannot be reached: reads and writes, answers nobody, stores nothing for others."""
