"""Asking a router for a port: PCP (RFC 6887) and its ancestor NAT-PMP (RFC 6886), both at the gateway's UDP port."""

import asyncio
import ipaddress
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

GATEWAY_PORT: Final = 5351
ANSWER_BYTES_MAX: Final = 1100
FIRST_WAIT_S: Final = 0.25
TRIES: Final = 3
"""Each waits twice as long as the one before."""
NONCE_BYTES: Final = 12
Transport = Literal["tcp", "udp"]

_PCP_VERSION, _PMP_VERSION = 2, 0
_MAP: Final = 1
_ANSWER: Final = 128
_UNSUPPORTED_VERSION: Final = 1
_IANA: Final[dict[Transport, int]] = {"tcp": 6, "udp": 17}
_PMP_OPERATION: Final[dict[Transport, int]] = {"udp": 1, "tcp": 2}
_PCP_HEADER: Final = struct.Struct("!BBHI16s")
_PCP_ANSWER: Final = struct.Struct("!BBBBII12x")
_PCP_MAP: Final = struct.Struct("!12sB3xHH16s")
_ANY: Final = bytes(10) + b"\xff\xff" + bytes(4)
"""0.0.0.0 as PCP writes it."""
_PMP_ADDRESS: Final = struct.Struct("!BBHI4s")
_PMP_MAP: Final = struct.Struct("!BBHHHI")
_PMP_MAPPED: Final = struct.Struct("!BBHIHHI")


class NoMapping(Exception):  # noqa: N818 - an outcome more than an error
    """The router does not answer, or does not want to."""


class OtherVersion(NoMapping):
    """The router speaks another version of the protocol."""


@dataclass(frozen=True, slots=True)
class GrantedMapping:
    """What the router gave."""

    external_port: int
    lifetime_s: float
    host: str = ""
    """The router's outer address, if the answer names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingRequest:
    """A port that we want forwarded; `lifetime_s` 0 gives it back."""

    transport: Transport
    port: int
    external_port: int
    lifetime_s: int
    nonce: bytes
    """Names the mapping to a PCP server; the same for asking, renewing and giving back."""


def pcp_request(request: MappingRequest, client: str) -> bytes:
    """A MAP request; `client` is our own address towards the gateway."""
    head = _PCP_HEADER.pack(_PCP_VERSION, _MAP, 0, request.lifetime_s, _v6(client))
    external_port = request.external_port if request.lifetime_s else 0
    return head + _PCP_MAP.pack(request.nonce, _IANA[request.transport], request.port, external_port, _ANY)


def pcp_answer(data: bytes, request: MappingRequest) -> GrantedMapping | None:
    """What an answer says; None when it is none to this wish.

    Raises:
        OtherVersion: the gateway knows NAT-PMP only.
        NoMapping: the gateway says no.
    """
    if len(data) >= 4 and data[0] == _PMP_VERSION and data[1] >= _ANSWER:
        raise OtherVersion("the gateway speaks NAT-PMP")
    if len(data) < _PCP_ANSWER.size + _PCP_MAP.size or data[:2] != bytes((_PCP_VERSION, _ANSWER | _MAP)):
        return None
    result, lifetime_s = _PCP_ANSWER.unpack_from(data)[3:5]
    nonce, transport, port, external_port, host = _PCP_MAP.unpack_from(data, _PCP_ANSWER.size)
    if (nonce, transport, port) != (request.nonce, _IANA[request.transport], request.port):
        return None
    if result == _UNSUPPORTED_VERSION:
        raise OtherVersion("the gateway does not speak this version of PCP")
    if result:
        raise NoMapping(f"the gateway answers with PCP result {result}")
    return _granted(request, GrantedMapping(external_port, lifetime_s, _text(host)))


def pmp_request(request: MappingRequest) -> bytes:
    """NAT-PMP's request for a mapping."""
    external_port = request.external_port if request.lifetime_s else 0
    return _PMP_MAP.pack(
        _PMP_VERSION, _PMP_OPERATION[request.transport], 0, request.port, external_port, request.lifetime_s
    )


def pmp_answer(data: bytes, request: MappingRequest) -> GrantedMapping | None:
    """As `pcp_answer`."""
    operation = _ANSWER | _PMP_OPERATION[request.transport]
    if len(data) < 4 or data[:2] != bytes((_PMP_VERSION, operation)):
        return None
    _check_pmp(data)
    if len(data) < _PMP_MAPPED.size:
        return None
    _, _, _, _, port, external_port, lifetime_s = _PMP_MAPPED.unpack_from(data)
    return _granted(request, GrantedMapping(external_port, lifetime_s)) if port == request.port else None


def _granted(request: MappingRequest, granted: GrantedMapping) -> GrantedMapping:
    """Raises NoMapping: the gateway says yes, and names no port."""
    if request.lifetime_s and not granted.external_port:
        raise NoMapping("the gateway grants a port and names none")
    return granted


def pmp_address_request() -> bytes:
    """NAT-PMP's question for the outer address."""
    return bytes((_PMP_VERSION, 0))


def pmp_address_answer(data: bytes) -> str | None:
    """The router's outer address; None when it is no answer to that.

    Raises:
        NoMapping: the gateway does not know.
    """
    if len(data) < 4 or data[:2] != bytes((_PMP_VERSION, _ANSWER)):
        return None
    _check_pmp(data)
    return str(ipaddress.IPv4Address(_PMP_ADDRESS.unpack_from(data)[4])) if len(data) >= _PMP_ADDRESS.size else None


class GatewayQueries(asyncio.DatagramProtocol):
    """Questions to one gateway, one after the other; only the gateway's own answers are heard."""

    def __init__(self) -> None:
        self._transport: asyncio.DatagramTransport | None = None
        self._answers: asyncio.Queue[bytes] = asyncio.Queue(maxsize=16)

    @classmethod
    async def open(cls, gateway: str, port: int) -> "GatewayQueries":
        """A connected socket.

        Raises:
            NoMapping: the gateway cannot be reached.
        """
        try:
            _, made = await asyncio.get_running_loop().create_datagram_endpoint(cls, remote_addr=(gateway, port))
        except OSError as error:
            raise NoMapping(f"the gateway cannot be reached: {error}") from error
        return made

    @property
    def own_host(self) -> str:
        """Our address towards the gateway."""
        assert self._transport is not None
        return str(self._transport.get_extra_info("sockname")[0])

    async def ask(self, request: bytes, read: Callable[[bytes], Any]) -> Any:
        """Ask until `read` makes something of an answer.

        Raises:
            NoMapping: no answer, or one that says no.
        """
        assert self._transport is not None
        wait_s = FIRST_WAIT_S
        for _ in range(TRIES):
            self._transport.sendto(request)
            try:
                async with asyncio.timeout(wait_s):
                    while (answer := read(await self._answers.get())) is None:
                        pass
            except TimeoutError:
                wait_s *= 2
            else:
                return answer
        raise NoMapping("the gateway does not answer")

    def close(self) -> None:
        """Give the socket back."""
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: Any) -> None:
        """Asyncio's."""
        self._transport = transport

    def datagram_received(self, data: bytes, addr: Any) -> None:
        """Asyncio's."""
        del addr
        if len(data) <= ANSWER_BYTES_MAX and not self._answers.full():
            self._answers.put_nowait(data)

    def error_received(self, exc: Exception) -> None:
        """Asyncio's: a closed port, as most routers have; asking again is all that follows."""


def _check_pmp(data: bytes) -> None:
    result = int.from_bytes(data[2:4], "big")
    if result:
        raise NoMapping(f"the gateway answers with NAT-PMP result {result}")


def _v6(host: str) -> bytes:
    """An address as PCP writes it: 16 bytes, IPv4 mapped into IPv6."""
    ip = ipaddress.ip_address(host)
    return ip.packed if ip.version == 6 else ipaddress.IPv6Address(f"::ffff:{host}").packed


def _text(packed: bytes) -> str:
    ip = ipaddress.IPv6Address(packed)
    return str(ip.ipv4_mapped or ip)
