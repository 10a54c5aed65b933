"""Port mapping by PCP (RFC 6887) and its ancestor NAT-PMP (RFC 6886), both at the gateway's UDP port."""

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
"""Number of attempts; each timeout is twice as long as the one before."""
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
"""0.0.0.0 in PCP's form."""
_PMP_ADDRESS: Final = struct.Struct("!BBHI4s")
_PMP_MAP: Final = struct.Struct("!BBHHHI")
_PMP_MAPPED: Final = struct.Struct("!BBHIHHI")


class NoMapping(Exception):  # noqa: N818 - an outcome more than an error
    """The router does not answer, or refuses."""


class PortTaken(NoMapping):
    """Another computer has this port of the router; another number may be free."""


class OtherVersion(NoMapping):
    """The router speaks another version of the protocol."""


@dataclass(frozen=True, slots=True)
class GrantedMapping:
    """A mapping that the router granted."""

    external_port: int
    lifetime_s: float
    host: str = ""
    """The router's external address, if the answer names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingRequest:
    """A port to be forwarded; `lifetime_s` 0 releases it."""

    transport: Transport
    port: int
    external_port: int
    lifetime_s: int
    nonce: bytes
    """Names the mapping to a PCP server; the same for asking, renewing and releasing."""


def pcp_request(request: MappingRequest, client: str) -> bytes:
    """Encode a MAP request of PCP.

    Args:
        request: The wanted mapping.
        client: This computer's address towards the gateway.
    """
    head = _PCP_HEADER.pack(_PCP_VERSION, _MAP, 0, request.lifetime_s, _v6(client))
    external_port = request.external_port if request.lifetime_s else 0
    return head + _PCP_MAP.pack(request.nonce, _IANA[request.transport], request.port, external_port, _ANY)


def pcp_answer(data: bytes, request: MappingRequest) -> GrantedMapping | None:
    """Decode an answer of PCP.

    Args:
        data: The datagram.
        request: The request.

    Returns:
        The mapping; None: it does not answer this request.

    Raises:
        OtherVersion: the gateway knows NAT-PMP only.
        NoMapping: the gateway refuses.
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
    """Encode a mapping request of NAT-PMP."""
    external_port = request.external_port if request.lifetime_s else 0
    return _PMP_MAP.pack(
        _PMP_VERSION, _PMP_OPERATION[request.transport], 0, request.port, external_port, request.lifetime_s
    )


def pmp_answer(data: bytes, request: MappingRequest) -> GrantedMapping | None:
    """Decode an answer of NAT-PMP, as `pcp_answer` does one of PCP.

    Args:
        data: The datagram.
        request: The request.
    """
    operation = _ANSWER | _PMP_OPERATION[request.transport]
    if len(data) < 4 or data[:2] != bytes((_PMP_VERSION, operation)):
        return None
    _check_pmp(data)
    if len(data) < _PMP_MAPPED.size:
        return None
    _, _, _, _, port, external_port, lifetime_s = _PMP_MAPPED.unpack_from(data)
    return _granted(request, GrantedMapping(external_port, lifetime_s)) if port == request.port else None


def _granted(request: MappingRequest, granted: GrantedMapping) -> GrantedMapping:
    """Raises NoMapping: the gateway grants a mapping without a port."""
    if request.lifetime_s and not granted.external_port:
        raise NoMapping("the gateway grants a port and names none")
    return granted


def pmp_address_request() -> bytes:
    """Encode NAT-PMP's request for the external address."""
    return bytes((_PMP_VERSION, 0))


def pmp_address_answer(data: bytes) -> str | None:
    """Decode the router's external address; None: the datagram does not answer that request.

    Raises:
        NoMapping: the gateway does not know it.
    """
    if len(data) < 4 or data[:2] != bytes((_PMP_VERSION, _ANSWER)):
        return None
    _check_pmp(data)
    return str(ipaddress.IPv4Address(_PMP_ADDRESS.unpack_from(data)[4])) if len(data) >= _PMP_ADDRESS.size else None


class GatewayQueries(asyncio.DatagramProtocol):
    """Requests to one gateway, one after the other; only the gateway's own answers are heard."""

    def __init__(self) -> None:
        self._transport: asyncio.DatagramTransport | None = None
        self._answers: asyncio.Queue[bytes] = asyncio.Queue(maxsize=16)

    @classmethod
    async def open(cls, gateway: str, port: int) -> "GatewayQueries":
        """Open a socket that is connected to the gateway.

        Args:
            gateway: Its address.
            port: Its UDP port.

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
        """This computer's address towards the gateway."""
        assert self._transport is not None
        return str(self._transport.get_extra_info("sockname")[0])

    async def ask(self, request: bytes, read: Callable[[bytes], Any]) -> Any:
        """Send a request until an answer can be read.

        Args:
            request: The encoded request.
            read: Decodes an answer; None: it is not the right one.

        Raises:
            NoMapping: no answer, or a refusal.
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
        """Close the socket to the gateway."""
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: Any) -> None:
        """Adopt the socket that asyncio has opened."""
        self._transport = transport

    def datagram_received(self, data: bytes, addr: Any) -> None:
        """Queue an answer, if it is not too long."""
        del addr
        if len(data) <= ANSWER_BYTES_MAX and not self._answers.full():
            self._answers.put_nowait(data)

    def error_received(self, exc: Exception) -> None:
        """Ignore an error such as a closed port, which most routers have; the request is retransmitted anyway."""


def _check_pmp(data: bytes) -> None:
    result = int.from_bytes(data[2:4], "big")
    if result:
        raise NoMapping(f"the gateway answers with NAT-PMP result {result}")


def _v6(host: str) -> bytes:
    """An address in PCP's form: 16 bytes, IPv4 mapped into IPv6."""
    ip = ipaddress.ip_address(host)
    return ip.packed if ip.version == 6 else ipaddress.IPv6Address(f"::ffff:{host}").packed


def _text(packed: bytes) -> str:
    ip = ipaddress.IPv6Address(packed)
    return str(ip.ipv4_mapped or ip)
