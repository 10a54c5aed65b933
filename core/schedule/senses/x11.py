"""The X server, for the senses that ask it."""

from collections.abc import Iterator
from types import ModuleType
from typing import Any, Final

import xcffib
import xcffib.xproto

_LONGS_MAX: Final = 1024
"""Upper bound on a property that is read, in units of four bytes."""


class Display:
    """A connection to the X server that DISPLAY names, for one sense.

    Raises:
        xcffib.ConnectionException: there is none, or it does not let this program in.
    """

    def __init__(self) -> None:
        self._connection = xcffib.connect()
        setup = self._connection.get_setup()
        self.root: int = setup.roots[self._connection.pref_screen].root
        self.core = self._connection.core
        """Requests of the core protocol."""

    def extension(self, module: ModuleType) -> Any:
        """Return the requests of an extension.

        Raises:
            xcffib.ExtensionNotPresentError: the server does not have it.
        """
        return self._connection(module.key)

    def new_id(self) -> int:
        """Return a number for something that is about to be made."""
        return int(self._connection.generate_id())

    def atom(self, name: str) -> int:
        """Return the number of a name."""
        return int(self.core.InternAtom(False, len(name), name).reply().atom)

    def numbers(self, window: int, atom: int) -> list[int]:
        """Return the values of a property of a window; empty when there are none."""
        anything = xcffib.xproto.GetPropertyType.Any
        value = self.core.GetProperty(False, window, atom, anything, 0, _LONGS_MAX).reply().value
        return [int(number) for number in value.to_atoms()]

    def watch(self, window: int) -> None:
        """Have changes of a window's properties, and its end, among the events."""
        mask = xcffib.xproto.EventMask.PropertyChange | xcffib.xproto.EventMask.StructureNotify
        self.core.ChangeWindowAttributesChecked(window, xcffib.xproto.CW.EventMask, [mask]).check()

    def raw_reply(self, cookie: Any) -> bytes:
        """Wait for the reply to a request, and return it as it came."""
        reply = self._connection.wait_for_reply(cookie.sequence)
        return bytes(reply.unpack(f"={reply.known_max}s")[0])

    def events(self) -> Iterator[Any]:
        """Wait for events, for ever.

        Raises:
            xcffib.ConnectionException: the server has gone.
        """
        self._connection.flush()
        while True:
            yield self._connection.wait_for_event()

    def close(self) -> None:
        """End the connection to the server."""
        self._connection.disconnect()
