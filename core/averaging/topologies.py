"""Who sends what to whom within a round.  A new topology is a module and one line in `TOPOLOGIES`."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from core.averaging.allreduce.butterfly import Butterfly
from core.averaging.allreduce.topology import Topology
from core.averaging.grid.grid import Grid

TOPOLOGIES: Final[Mapping[str, type[Topology]]] = MappingProxyType({"butterfly": Butterfly, "grid": Grid})
"""Every topology by the name that a plan gives it."""

__all__ = ["TOPOLOGIES", "Butterfly", "Grid", "Topology"]
