"""A simulated router on loopback that speaks PCP, NAT-PMP and UPnP."""

import asyncio
import contextlib
import ipaddress
import struct
import xml.etree.ElementTree as ET
from collections.abc import AsyncIterator
from typing import Any

from aiohttp import web

OUTSIDE = "198.51.100.7"


class Gateway(asyncio.DatagramProtocol):
    """Answers at one UDP port as RFC 6887 and RFC 6886 say.  `mappings` is what stands: (transport, outer): inner."""

    def __init__(self, *, speaks: str = "pcp", lifetime_s: int = 120, taken: Any = (), result: int = 0) -> None:
        self.speaks, self.lifetime_s, self.taken, self.result = speaks, lifetime_s, set(taken), result
        self.mappings: dict[tuple[str, int], int] = {}
        self.nonces: dict[tuple[str, int], bytes] = {}
        self.asked: list[tuple[str, int]] = []
        """Transport and lifetime of each request."""
        self.changed = asyncio.Event()
        self.transport: Any = None
        self.deaf = 0
        """Number of requests that are lost on their way."""

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[int]:
        loop = asyncio.get_running_loop()
        self.transport, _ = await loop.create_datagram_endpoint(lambda: self, local_addr=("127.0.0.1", 0))
        try:
            yield self.transport.get_extra_info("sockname")[1]
        finally:
            self.transport.close()

    def datagram_received(self, data: bytes, addr: Any) -> None:
        if self.deaf:
            self.deaf -= 1
            return
        answer = self._pcp(data, addr) if data[0] == 2 else self._pmp(data)
        self.transport.sendto(b"noise", addr)
        self.transport.sendto(answer, addr)
        self.changed.set()

    def _grant(self, transport: str, inner: int, wanted: int, lifetime_s: int) -> int:
        self.asked.append((transport, lifetime_s))
        if not lifetime_s:
            for key in [key for key, port in self.mappings.items() if port == inner and key[0] == transport]:
                del self.mappings[key]
            return 0
        while (transport, wanted) in self.taken:
            wanted += 1
        self.mappings[transport, wanted] = inner
        return wanted

    def _pcp(self, data: bytes, addr: Any) -> bytes:
        if self.speaks == "nat-pmp":
            return struct.pack("!BBHI", 0, 128 | data[1], 1, 5)
        assert len(data) == 60
        lifetime_s, client = struct.unpack_from("!I16s", data, 4)
        assert ipaddress.IPv6Address(client).ipv4_mapped == ipaddress.ip_address(addr[0])
        nonce, protocol, inner, wanted, _ = struct.unpack_from("!12sB3xHH16s", data, 24)
        transport = {6: "tcp", 17: "udp"}[protocol]
        if not self.result:
            assert self.nonces.setdefault((transport, inner), nonce) == nonce
            wanted = self._grant(transport, inner, wanted, lifetime_s)
        lifetime_s = min(lifetime_s, self.lifetime_s)
        head = struct.pack("!BBBBII12x", 2, 129, 0, self.result, lifetime_s, 5)
        outside = ipaddress.IPv6Address(f"::ffff:{OUTSIDE}").packed
        return head + struct.pack("!12sB3xHH16s", nonce, protocol, inner, wanted, outside)

    def _pmp(self, data: bytes) -> bytes:
        if self.speaks == "pcp":
            return struct.pack("!BBHI", 2, 129, 1, 0)
        if data[1] == 0:
            return struct.pack("!BBHI4s", 0, 128, self.result, 5, ipaddress.ip_address(OUTSIDE).packed)
        _, operation, _, inner, wanted, lifetime_s = struct.unpack("!BBHHHI", data)
        wanted = self._grant({1: "udp", 2: "tcp"}[operation], inner, wanted, lifetime_s)
        return struct.pack(
            "!BBHIHHI", 0, 128 | operation, self.result, 5, inner, wanted, min(lifetime_s, self.lifetime_s)
        )


DEVICE = "urn:schemas-upnp-org:device:InternetGatewayDevice:1"
SERVICE = "urn:schemas-upnp-org:service:WANIPConnection:1"
ROOT = f"""<?xml version="1.0"?>
<root xmlns="urn:schemas-upnp-org:device-1-0"><specVersion><major>1</major><minor>0</minor></specVersion>
<device><deviceType>{DEVICE}</deviceType><friendlyName>Router</friendlyName><manufacturer>M</manufacturer>
<modelName>R</modelName><UDN>uuid:1</UDN><deviceList><device>
<deviceType>urn:schemas-upnp-org:device:WANDevice:1</deviceType><friendlyName>W</friendlyName>
<manufacturer>M</manufacturer><modelName>W</modelName><UDN>uuid:2</UDN><deviceList><device>
<deviceType>urn:schemas-upnp-org:device:WANConnectionDevice:1</deviceType><friendlyName>C</friendlyName>
<manufacturer>M</manufacturer><modelName>C</modelName><UDN>uuid:3</UDN><serviceList><service>
<serviceType>{SERVICE}</serviceType><serviceId>urn:upnp-org:serviceId:WANIPConn1</serviceId>
<SCPDURL>/scpd.xml</SCPDURL><controlURL>/control</controlURL><eventSubURL>/event</eventSubURL>
</service></serviceList></device></deviceList></device></deviceList></device></root>"""


def _argument(name: str, kind: str, direction: str = "in") -> tuple[str, str]:
    argument = f"<argument><name>New{name}</name><direction>{direction}</direction>"
    return (
        f"{argument}<relatedStateVariable>{name}</relatedStateVariable></argument>",
        f'<stateVariable sendEvents="no"><name>{name}</name><dataType>{kind}</dataType></stateVariable>',
    )


def _scpd() -> str:
    target = [_argument("RemoteHost", "string"), _argument("ExternalPort", "ui2"), _argument("Protocol", "string")]
    add = [
        *target,
        _argument("InternalPort", "ui2"),
        _argument("InternalClient", "string"),
        _argument("Enabled", "boolean"),
        _argument("PortMappingDescription", "string"),
        _argument("LeaseDuration", "ui4"),
    ]
    ask = [_argument("ExternalIPAddress", "string", "out")]
    actions = {"AddPortMapping": add, "DeletePortMapping": target, "GetExternalIPAddress": ask}
    listed = "".join(
        f"<action><name>{name}</name><argumentList>{''.join(a for a, _ in arguments)}</argumentList></action>"
        for name, arguments in actions.items()
    )
    variables = "".join(dict.fromkeys(v for _, v in [*add, *ask]))
    return (
        '<?xml version="1.0"?><scpd xmlns="urn:schemas-upnp-org:service-1-0"><specVersion><major>1</major>'
        f"<minor>0</minor></specVersion><actionList>{listed}</actionList>"
        f"<serviceStateTable>{variables}</serviceStateTable></scpd>"
    )


class Router(asyncio.DatagramProtocol):
    """A UPnP router: answers the search, describes itself, and takes mappings."""

    def __init__(self, *, permanent_only: bool = False, refuses: bool = False, control: str = "/control") -> None:
        self.permanent_only, self.refuses, self.control = permanent_only, refuses, control
        self.mappings: dict[tuple[str, int], tuple[str, int, int]] = {}
        """(transport, outer): (host, inner, lease)."""
        self.transport: Any = None
        self.location = ""

    @contextlib.asynccontextmanager
    async def open(self, *, location: str = "") -> AsyncIterator[int]:
        app = web.Application()
        app.router.add_get("/root.xml", self._root)
        app.router.add_get("/scpd.xml", _description)
        app.router.add_post("/control", self._control)
        app.router.add_get("/elsewhere", _elsewhere)
        app.router.add_get("/endless", _endless)
        app.router.add_get("/deep", _deep)
        app.router.add_get("/slow", _slow)
        app.router.add_get("/late.xml", _late)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        self.location = location.replace("PORT", str(port)) or f"http://127.0.0.1:{port}/root.xml"
        loop = asyncio.get_running_loop()
        self.transport, _ = await loop.create_datagram_endpoint(lambda: self, local_addr=("127.0.0.1", 0))
        try:
            yield self.transport.get_extra_info("sockname")[1]
        finally:
            self.transport.close()
            await runner.cleanup()

    def datagram_received(self, data: bytes, addr: Any) -> None:
        if b"M-SEARCH" in data and DEVICE.encode() in data:
            lines = (
                "HTTP/1.1 200 OK",
                "CACHE-CONTROL: max-age=60",
                "EXT:",
                f"LOCATION: {self.location}",
                f"ST: {DEVICE}",
            )
            self.transport.sendto("\r\n".join([*lines, f"USN: uuid:1::{DEVICE}", "", ""]).encode(), addr)

    async def _root(self, _: web.Request) -> web.Response:
        return web.Response(text=ROOT.replace("/control", self.control), content_type="text/xml")

    async def _control(self, request: web.Request) -> web.Response:
        action = request.headers["SOAPAction"].strip('"').rpartition("#")[2]
        said = {e.tag.rpartition("}")[2]: e.text or "" for e in ET.fromstring(await request.text()).iter()}
        answer = ""
        match action:
            case "GetExternalIPAddress":
                answer = f"<NewExternalIPAddress>{OUTSIDE}</NewExternalIPAddress>"
            case "AddPortMapping" if self.refuses:
                return _fault(718)
            case "AddPortMapping" if self.permanent_only and said["NewLeaseDuration"] != "0":
                return _fault(725)
            case "AddPortMapping":
                key = said["NewProtocol"].lower(), int(said["NewExternalPort"])
                if self.mappings.get(key, ("127.0.0.1",))[0] != said["NewInternalClient"]:
                    return _fault(718)
                self.mappings[key] = (
                    said["NewInternalClient"],
                    int(said["NewInternalPort"]),
                    int(said["NewLeaseDuration"]),
                )
            case "DeletePortMapping":
                self.mappings.pop((said["NewProtocol"].lower(), int(said["NewExternalPort"])), None)
        body = f'<u:{action}Response xmlns:u="{SERVICE}">{answer}</u:{action}Response>'
        return web.Response(text=_envelope(body), content_type="text/xml")


async def _elsewhere(_: web.Request) -> web.Response:
    raise web.HTTPFound("/root.xml")


async def _endless(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    with contextlib.suppress(ConnectionError):
        while True:
            await response.write(b" " * 65536)
    return response


async def _deep(_: web.Request) -> web.Response:
    device = ROOT[ROOT.index("<device>") : ROOT.index("<device>", ROOT.index("<device>") + 1)]
    head, end = ROOT[: ROOT.index("<device>")], "</deviceList></device>"
    return web.Response(text=f"{head}{device * 1000}{end * 1000}</root>", content_type="text/xml")


async def _slow(_: web.Request) -> web.Response:
    service = ROOT[ROOT.index("<service>") : ROOT.index("</serviceList>")].replace("/scpd.xml", "/late.xml")
    return web.Response(text=ROOT.replace("</serviceList>", f"{service * 10}</serviceList>"), content_type="text/xml")


async def _late(request: web.Request) -> web.Response:
    await asyncio.sleep(0.1)
    return await _description(request)


async def _description(_: web.Request) -> web.Response:
    return web.Response(text=_scpd(), content_type="text/xml")


def _envelope(body: str) -> str:
    return (
        '<?xml version="1.0"?><s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" '
        f's:encodingStyle="http://schemas.xmlsoap.org/soap/encoding/"><s:Body>{body}</s:Body></s:Envelope>'
    )


def _fault(code: int) -> web.Response:
    body = (
        "<s:Fault><faultcode>s:Client</faultcode><faultstring>UPnPError</faultstring><detail>"
        f'<UPnPError xmlns="urn:schemas-upnp-org:control-1-0"><errorCode>{code}</errorCode>'
        "<errorDescription>no</errorDescription></UPnPError></detail></s:Fault>"
    )
    return web.Response(text=_envelope(body), content_type="text/xml", status=500)
