"""Parameters of QUIC connections: sizes, timeouts, and a certificate that nobody checks."""

from datetime import UTC, datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from qh3.quic.configuration import QuicConfiguration

from core.base.wire import PROTOCOL

PACKET_BYTES: Final = 1400
"""Fits the usual tunnels: 1492 for PPPoE, less the headers of IPv6 and UDP, and some."""
IDLE_S: Final = 30.0
CID_BYTES: Final = 8


def caller_terms(*, room_bytes: int) -> QuicConfiguration:
    """Configuration of outgoing connections; `room_bytes`: unread bytes that the library takes."""
    return _terms(room_bytes, is_client=True)


def called_terms(*, room_bytes: int) -> QuicConfiguration:
    """Configuration of incoming connections; `room_bytes`: unread bytes that the library takes."""
    configuration = _terms(room_bytes, is_client=False)
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "potluck")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=3650))
        .sign(key, hashes.SHA256())
    )
    configuration.load_cert_chain(
        certificate.public_bytes(Encoding.PEM),
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
    )
    return configuration


def _terms(room_bytes: int, *, is_client: bool) -> QuicConfiguration:
    return QuicConfiguration(
        alpn_protocols=[f"potluck/{PROTOCOL}"],
        is_client=is_client,
        connection_id_length=CID_BYTES,
        idle_timeout=IDLE_S,
        max_data=room_bytes,
        max_stream_data=room_bytes,
        max_datagram_size=PACKET_BYTES,
        probe_datagram_size=False,
        verify_mode=0,
    )
