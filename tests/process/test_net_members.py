"""What a member with a pass may send on its links."""

import asyncio
import contextlib
import ssl
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA384
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from core.net.identity.tls import show_pass
from tests.process.net_people import CODEC, Ask, Peer, Say, acquainted, admission_of, in_loop

pytestmark = pytest.mark.process


@in_loop
async def test_message_of_datagrams_on_a_stream_ends_the_link():
    async with acquainted() as (anna, ben):
        anna.say(ben, Say("hello"))
        await ben.book.until(lambda book: book.heard)
        anna.host.links.to(ben.id).send(CODEC.encode(Ask("without a share of the processor")), bulk=True)
        await anna.book.until(lambda book: book.lost)
        assert ben.texts() == ["hello"]
        assert ben.trace["net.drop.plane"] == 1


class KeyUpdates:
    """Requests for new keys on a connection (RFC 8446, sections 4.6.3 and 7), which no TLS library of Python makes."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def _derived(self, label: bytes, length: int) -> bytes:
        named = b"tls13 " + label
        info = length.to_bytes(2, "big") + bytes((len(named),)) + named + bytes(1)
        return HKDFExpand(SHA384(), length, info).derive(self._secret)

    def next(self) -> bytes:
        """The first record under the present keys: KeyUpdate, and the other side is to answer with another."""
        head, inner = b"\x17\x03\x03\x00\x16", b"\x18\x00\x00\x01\x01" + bytes((22,))
        record = head + AESGCM(self._derived(b"key", 32)).encrypt(self._derived(b"iv", 12), inner, head)
        self._secret = self._derived(b"traffic upd", 48)
        return record


@in_loop
async def test_requests_for_new_keys_without_end_end_the_link(tmp_path: Path):
    async with Peer("ben") as ben:
        admission = admission_of("anna", now=ben.clock.now())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.keylog_filename = str(tmp_path / "secrets")
        show_pass(context, admission.keys, admission.pass_der)
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        anna = context.wrap_bio(incoming, outgoing)
        reader, writer = await asyncio.open_connection("127.0.0.1", ben.port)
        while not ben.host.links.streams():
            with contextlib.suppress(ssl.SSLWantReadError):
                anna.do_handshake()
            writer.write(outgoing.read())
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.1):
                    incoming.write(await reader.read(20_000))
        (line,) = [one for one in (tmp_path / "secrets").read_text().splitlines() if one.startswith("CLIENT_TRAFFIC")]
        updates = KeyUpdates(bytes.fromhex(line.split()[2]))
        with contextlib.suppress(ConnectionError):
            for _ in range(2000):
                writer.write(updates.next())
                await writer.drain()
            async with asyncio.timeout(20):
                while await reader.read(20_000):
                    pass
        assert ben.trace["net.drop.wire"] == 1
        writer.close()
