"""TLS 1.3 with certificates on both sides.  The roots of trust are the collaboration's issuers.

S000 appendix I.5 demands properties of requests and responses, which hold for every byte of such a connection:

    who sent it            the certificate's key signed the handshake
    still allowed          the certificate is a pass: verified at the handshake, and again as long as the link lives
    for me                 the dialler checks the key that it called; the handshake binds both sides' keys together
    fresh, not repeated    new key shares and record numbers for every connection; no early data, no resumption
    unmodified             authenticated encryption
    matching response      requests carry an id inside one connection with one peer
"""

import contextlib
import secrets
import ssl
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import cast

from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat

from core.base.ids import PeerId
from core.base.problems import WireProblem
from core.base.signing import KeyPair
from core.net.identity.issuers import Issuers
from core.net.identity.passes import PassVerifier

# X509_V_FLAGNO_CHECK_TIME: a pass's time is checked by `verify_pass` against this program's clock, which knows how far
# the system's clock is off, and with the tolerance that the collaboration grants.
NO_CHECK_TIME = 0x200000
OWED_BYTES_MAX = 1024
"""Bytes of its own answers that TLS may keep until something is written.  Each request for new keys (RFC 8446, section
4.6.3) makes one of 27 bytes, and nothing is written to a side that reads nothing."""


class Credentials:
    """One peer's key and pass, and the trust anchors that it demands of others.

    Args:
        keys: The peer's identity.
        pass_der: Its pass (core.net.identity.passes).
        passes: Knows the issuers whose passes hold, which may change.
    """

    def __init__(self, *, keys: KeyPair, pass_der: bytes, passes: PassVerifier) -> None:
        self._keys = keys
        self._passes = passes
        self.renew(pass_der)

    @property
    def peer_id(self) -> PeerId:
        """The id of the peer that shows them."""
        return self._keys.peer_id

    def renew(self, pass_der: bytes) -> None:
        """Use another pass for connections from now on.

        Raises:
            OSError: it cannot be shown, such as with a full disk; then the one before is used on.
        """
        issuers = self._passes.issuers
        server = self._context(ssl.PROTOCOL_TLS_SERVER, pass_der, issuers)
        self._client = self._context(ssl.PROTOCOL_TLS_CLIENT, pass_der, issuers)
        self._server, self.pass_der, self._issuers = server, pass_der, issuers

    def wrap(self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, *, server_side: bool) -> ssl.SSLObject:
        """One side of a new connection, over buffers in memory.

        Args:
            incoming: Bytes that arrived.
            outgoing: Bytes to send.
            server_side: Whether this peer was called.
        """
        if self._issuers != self._passes.issuers:
            with contextlib.suppress(OSError):  # the next connection tries again
                self.renew(self.pass_der)
        context = self._server if server_side else self._client
        return context.wrap_bio(incoming, outgoing, server_side=server_side)

    def _context(self, protocol: int, pass_der: bytes, issuers: Issuers) -> ssl.SSLContext:
        context = _modern(protocol)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_REQUIRED
        context.verify_flags = ssl.VerifyFlags(context.verify_flags | NO_CHECK_TIME)
        context.load_verify_locations(cadata=issuers.anchors)
        show_pass(context, self._keys, pass_der)
        return context


def _modern(protocol: int) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    if protocol == ssl.PROTOCOL_TLS_SERVER:
        context.num_tickets = 0  # no resumption: every connection shows its passes
    return context


def server_context(*, key: KeyPair, pass_der: bytes) -> ssl.SSLContext:
    """TLS of a server for strangers without a pass: it shows its pass and asks for none."""
    context = _modern(ssl.PROTOCOL_TLS_SERVER)
    show_pass(context, key, pass_der)
    return context


def show_pass(context: ssl.SSLContext, key: KeyPair, pass_der: bytes) -> None:
    """Show a pass in connections from now on.

    OpenSSL takes keys from files only: encrypted under a password that lives for this call, and removed at once.

    Args:
        context: Context of the connections.
        key: The pass's.
        pass_der: The pass.
    """
    password = secrets.token_hex(32).encode()
    secret = key.private_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(password))
    certificate = x509.load_der_x509_certificate(pass_der).public_bytes(Encoding.PEM)
    with tempfile.TemporaryDirectory(prefix="potluck-") as folder:
        path = Path(folder) / "pass.pem"
        path.touch(mode=0o600)
        path.write_bytes(certificate + secret)
        context.load_cert_chain(path, password=password)


class SecureChannel:
    """One connection's TLS over buffers in memory, without a socket: the owner of the socket moves the bytes.

    Args:
        credentials: This peer's key and pass.
        server_side: Whether this peer was called.
    """

    def __init__(self, credentials: Credentials, *, server_side: bool) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = credentials.wrap(self._incoming, self._outgoing, server_side=server_side)
        self._read = cast("Callable[[int, memoryview], int]", self._tls.read)
        self.feed = self._incoming.write
        """Takes bytes that arrived."""
        self.take = self._outgoing.read
        """Returns all bytes that are to be sent now."""
        self.write = self._tls.write
        """Encrypts; afterwards `take` has the records."""

    def handshake(self) -> bool:
        """Go on with the handshake; True when it is complete.

        Raises:
            ssl.SSLError: it failed; the bytes that `take` returns tell the other side.
        """
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True

    @property
    def peer_pass(self) -> bytes:
        """The certificate whose key the other side has proven to hold, DER; empty before the handshake."""
        return self._tls.getpeercert(binary_form=True) or b""

    def read_into(self, view: memoryview) -> tuple[int, bool]:
        """Decrypt what has arrived into `view`.

        Returns:
            The number of bytes, and whether the other side has said goodbye.

        Raises:
            ssl.SSLError: the bytes are not the other side's.
            WireProblem: the other side asks for new keys without end.
        """
        filled = 0
        try:
            while filled < len(view):
                count = self._read(len(view) - filled, view[filled:])
                if not count:
                    return filled, True
                filled += count
        except ssl.SSLWantReadError:
            pass
        if self._outgoing.pending > OWED_BYTES_MAX:
            raise WireProblem("requests for new keys without end")
        return filled, False

    def say_goodbye(self) -> None:
        """Tell the other side that nothing more follows."""
        with contextlib.suppress(ssl.SSLError):
            self._tls.unwrap()


def reason_of(error: Exception) -> str:
    """A short reason for the end of a connection, without the details that differ from time to time."""
    return (getattr(error, "reason", None) or str(error))[:80]
