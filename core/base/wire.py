"""Strangers' bytes as values of a type, messages above all: a schema, length-prefixed fragments, a limit on every size.

On a stream each message travels as one or more fragments:

    byte 0        flags: BULK (0x01) says which of two channels, LAST (0x02) ends the message
    bytes 1-3     length of the fragment's payload, big-endian
    payload

Control and bulk are reassembled apart, so a control message may overtake a bulk message between its fragments.
A datagram carries one whole message and needs no fragments.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, Final, Generic, Literal, TypeVar, Union

import msgspec

from core.base.problems import WireProblem

PROTOCOL: Final = 11
"""Version of peers' messages and of the arithmetic of their steps: counted up when peers of the version before would
not understand the messages, or be led to another state."""
FLAG_BULK = 0x01
FLAG_LAST = 0x02
FLAG_BESIDE = 0x04
HEADER_BYTES = 4
FRAGMENT_BYTES_MAX = 256 * 1024 + 4096
CONTROL_BYTES_MAX = 64 * 1024
BULK_BYTES_MAX = 2 * 1024 * 1024

Plane = Literal["stream", "datagram"]
T = TypeVar("T")


class Schema(Generic[T]):
    """The one place where bytes of strangers become values: whatever is wrong with them is a WireProblem.

    A type bounds its numbers and lengths.  Values nested more deeply than the type are refused, or skipped in a field
    that it does not know, up to the interpreter's depth of recursion.

    Args:
        kind: The type of the values, which does not contain itself.
        named: What the bytes should be, for the problem's sentence.
        bytes_max: Upper bound on the bytes of one value, looked at before they are decoded.
        form: How values are encoded.
    """

    def __init__(
        self, kind: type[T], *, named: str, bytes_max: int, form: Literal["msgpack", "json"] = "msgpack"
    ) -> None:
        self._named = named
        self._bytes_max = bytes_max
        self._encoder = msgspec.msgpack.Encoder() if form == "msgpack" else msgspec.json.Encoder()
        self._decoder: Any = msgspec.msgpack.Decoder(kind) if form == "msgpack" else msgspec.json.Decoder(kind)

    def encode(self, value: T) -> bytes:
        """Encode a value of this program, whatever its size."""
        return self._encoder.encode(value)

    def decode(self, data: bytes | bytearray | memoryview) -> T:
        """Decode the value in `data`.

        Raises:
            WireProblem: there are too many bytes, or they are not a value of the type.
        """
        if len(data) > self._bytes_max:
            raise WireProblem(f"not {self._named}: {len(data)} bytes, the limit is {self._bytes_max}")
        try:
            value: T = self._decoder.decode(data)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise WireProblem(f"not {self._named}: {error}") from error
        return value


class Message(msgspec.Struct, frozen=True, array_like=True):
    """Base of everything peers say to each other.  Subclass with `frozen=True, tag="room.name"`."""

    plane: ClassVar[Plane] = "stream"
    """Datagrams for what is small and wants one round trip, streams for everything else."""
    bulk: ClassVar[bool] = False
    """Bulk yields to control on a stream."""
    beside: ClassVar[bool] = False
    """Bulk that goes beside a round's: a little of it overtakes other bulk, and it does not end the transfer."""


class MessageCodec:
    """Turns messages of the given classes into bytes and back.

    Args:
        types: Every message class that may arrive; anything else is a WireProblem.
    """

    def __init__(self, types: Sequence[type[Message]]) -> None:
        self.types = tuple(types)
        self._schema: Schema[Message] = Schema(
            Union[self.types],  # type: ignore[arg-type]  # noqa: UP007 - of classes that are known only here
            named="a message",
            bytes_max=BULK_BYTES_MAX,
        )

    def encode(self, message: Message) -> bytes:
        """Encode a message as MessagePack with its tag."""
        return self._schema.encode(message)

    def decode(self, data: bytes | bytearray | memoryview) -> Message:
        """The message in `data`.

        Raises:
            WireProblem: not MessagePack, an unknown class, or a field outside its schema.
        """
        return self._schema.decode(data)


def fragment_header(length: int, flags: int) -> bytes:
    """The 4 bytes before a fragment of `length` bytes."""
    return bytes((flags, length >> 16 & 0xFF, length >> 8 & 0xFF, length & 0xFF))


class FrameDecoder:
    """Cuts a byte stream into whole messages' bytes; remembers at most one unfinished message per channel.

    So the worst sender has a link hold two bulk messages and one of control, none of them finished.

    Yields `bytearray` objects that nobody else holds, so a decoded payload may keep a view of them.
    """

    def __init__(self) -> None:
        self._header = bytearray()
        """The part of a header that has arrived."""
        self._flags = 0
        self._missing = 0
        """Bytes of the fragment under way that have not arrived."""
        self._partial = {channel: bytearray() for channel in (0, FLAG_BULK, FLAG_BESIDE)}

    def feed(self, data: bytes | bytearray | memoryview) -> list[bytearray]:
        """All messages that `data` completes, in order.

        Raises:
            WireProblem: an unknown flag, or a size beyond its limit.  The stream is beyond repair then.
        """
        complete: list[bytearray] = []
        position = 0
        with memoryview(data) as view:
            while position < len(view):
                if not self._missing:
                    end = position + HEADER_BYTES - len(self._header)
                    self._header += view[position:end]
                    position = end
                    if len(self._header) < HEADER_BYTES:
                        break
                    self._begin()
                end = min(position + self._missing, len(view))
                self._partial[self._flags & ~FLAG_LAST] += view[position:end]
                self._missing -= end - position
                position = end
                if not self._missing and self._flags & FLAG_LAST:
                    complete.append(self._take())
        return complete

    @property
    def pending_bytes(self) -> int:
        """Memory held for what is not complete yet."""
        return len(self._header) + sum(len(part) for part in self._partial.values())

    def _begin(self) -> None:
        """Begin a frame, whose header is complete."""
        self._flags = self._header[0]
        self._missing = int.from_bytes(self._header[1:], "big")
        self._header.clear()
        self._check(self._flags, self._missing)

    def _take(self) -> bytearray:
        channel = self._flags & ~FLAG_LAST
        message, self._partial[channel] = self._partial[channel], bytearray()
        return message

    def _check(self, flags: int, length: int) -> None:
        channel = flags & ~FLAG_LAST
        if channel not in self._partial:
            raise WireProblem(f"unknown flags {flags:#x}")
        if length > FRAGMENT_BYTES_MAX:
            raise WireProblem(f"a fragment of {length} bytes, the limit is {FRAGMENT_BYTES_MAX}")
        limit = BULK_BYTES_MAX if channel else CONTROL_BYTES_MAX
        if len(self._partial[channel]) + length > limit:
            raise WireProblem(f"a message of more than {limit} bytes")
