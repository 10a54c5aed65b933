"""A client of the QUIC library without this program's checks, against an endpoint of this program."""

import asyncio
from collections.abc import Callable
from typing import Any

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from qh3.quic.connection import QuicConnection
from qh3.tls import CipherSuite

from core.net.carriers import quic
from core.net.carriers.quic import QuicEndpoint

THERE = ("192.0.2.9", 9)
HERE = ("192.0.2.1", 1)
EPOCH_ONE_RTT = 3


class Reader(asyncio.BufferedProtocol):
    """Reads all that comes."""

    def __init__(self) -> None:
        self.transport: Any = None
        self.lost = 0
        self.read = 0
        self.last = b""
        self._buffer = bytearray(65536)

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost += 1

    def get_buffer(self, sizehint: int) -> memoryview:
        return memoryview(self._buffer)

    def buffer_updated(self, nbytes: int) -> None:
        self.read += nbytes
        self.last = bytes(self._buffer[nbytes - 1 : nbytes])

    def eof_received(self) -> bool:
        return True

    def pause_writing(self) -> None:
        """Nothing to pause."""

    def resume_writing(self) -> None:
        """Nothing to resume."""


class Attack:
    """An endpoint of this program, and a client of the library without its checks."""

    def __init__(self, spoil: Callable[[bytes], bytes] = bytes) -> None:
        self.loop = asyncio.get_running_loop()
        self.escaped: list[Any] = []
        self.loop.set_exception_handler(lambda _, context: self.escaped.append(context))
        self.sent: list[bytes] = []
        self.readers: list[Reader] = []
        self.endpoint = QuicEndpoint(send=lambda data, _: self.sent.append(data), accept=self._accept)
        configuration = quic.caller_terms(room_bytes=quic.ROOM_BYTES)
        configuration.cipher_suites = [CipherSuite.AES_128_GCM_SHA256]
        self.client = QuicConnection(configuration=configuration)
        self.key: tuple[Any, ...] = ()
        self._number = 5000
        call = self.client._call_core

        def noting(operation: Any, *arguments: Any) -> Any:
            if operation.__name__ == "install_packet_key" and arguments[:2] == ("send", EPOCH_ONE_RTT):
                self.key = arguments[3:6]
            if operation.__name__ == "send_crypto":
                arguments = (*arguments[:2], spoil(arguments[2]))
            return call(operation, *arguments)

        self.client._call_core = noting  # type: ignore[method-assign]
        self.client.connect(HERE, now=self.loop.time())

    def _accept(self) -> Reader:
        self.readers.append(Reader())
        return self.readers[-1]

    @property
    def connections(self) -> int:
        return len(self.endpoint.connections)

    @property
    def transport(self) -> Any:
        return self.readers[0].transport

    def depart(self) -> None:
        """The client's packets, to us."""
        for data, _ in self.client.datagrams_to_send(self.loop.time()):
            self.endpoint.received(data, THERE)

    async def turns(self, count: int = 1, *, answered: bool = True) -> None:
        """Packets travel both ways."""
        for _ in range(count):
            self.depart()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            sent, self.sent = self.sent, []
            for data in sent if answered else ():
                self.client.receive_datagram(data, HERE, self.loop.time())

    async def connected(self) -> "Attack":
        self.client.send_stream_data(0, b"hi")
        await self.turns(8)
        assert self.transport is not None
        return self

    def forged(self, frames: bytes) -> bytes:
        """A packet with these frames, as RFC 9001 section 5 protects it."""
        key, iv, mask_key = self.key
        self._number += 1
        own_id = next(iter(self.endpoint.ids))
        head = bytes((0x43,)) + own_id + self._number.to_bytes(4, "big")
        nonce = bytes(a ^ b for a, b in zip(iv, self._number.to_bytes(12, "big"), strict=True))
        body = AESGCM(key).encrypt(nonce, frames, head)
        mask = Cipher(algorithms.AES(mask_key), modes.ECB()).encryptor().update(body[:16])
        first = bytes((head[0] ^ mask[0] & 0x1F,))
        return first + head[1:9] + bytes(a ^ b for a, b in zip(head[9:], mask[1:5], strict=True)) + body


def initials() -> list[bytes]:
    """The first packets of a sound connection."""
    client = QuicConnection(configuration=quic.caller_terms(room_bytes=quic.ROOM_BYTES))
    client.connect(HERE, now=0.0)
    return [data for data, _ in client.datagrams_to_send(0.0)]
