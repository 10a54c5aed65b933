"""Several machines behind one deadline.  Written once, used by everyone who owns more than one."""

from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

from core.base.machine import Lost, Machine, Received, Send, Tick, earliest

E = TypeVar("E")


class Composite(Generic[E]):
    """Routes each message, and each other event, to the machine of its class; ticks and losses to all concerned.

    Machines may be exchanged while it runs (`put`, `remove`): an averaging round lives only as long as its round.
    Outputs of the machines are passed on unchanged; the owner picks its events out and sends the rest.
    """

    def __init__(self, parts: Mapping[str, tuple[Machine[Any, E], tuple[type, ...]]] | None = None) -> None:
        self._machines: dict[str, Machine[Any, E]] = {}
        self._routes: dict[type, str] = {}
        for name, (machine, types) in (parts or {}).items():
            self.put(name, machine, types)

    def put(self, name: str, machine: Machine[Any, E], types: tuple[type, ...]) -> None:
        """Add or replace a part.

        Args:
            name: The part's name, by which it is replaced or removed.
            machine: The part.
            types: The classes of messages and events that it handles, and no other part.

        Raises:
            ValueError: another part already takes one of the classes.
        """
        for kind in types:
            if self._routes.get(kind, name) != name:
                raise ValueError(f"{kind.__name__} already goes to {self._routes[kind]}")
        self.remove(name)
        self._machines[name] = machine
        self._routes.update(dict.fromkeys(types, name))

    def remove(self, name: str) -> None:
        """Forget the part `name`; what is for it is dropped from now on."""
        self._machines.pop(name, None)
        self._routes = {kind: part for kind, part in self._routes.items() if part != name}

    @property
    def deadline(self) -> float | None:
        """The earliest deadline of any part."""
        return earliest(*(machine.deadline for machine in self._machines.values()))

    def handle(self, event: Any, now: float) -> Sequence[Send[Any] | E]:
        """Give the event to the parts that it concerns, and collect their outputs in the order of the parts."""
        match event:
            case Tick():
                due = [m for m in self._machines.values() if m.deadline is not None and m.deadline <= now]
                return [output for machine in due for output in machine.handle(event, now)]
            case Lost():
                parts = list(self._machines.values())
                return [output for machine in parts for output in machine.handle(event, now)]
        name = self._routes.get(type(event.message if isinstance(event, Received) else event))
        return [] if name is None else self._machines[name].handle(event, now)
