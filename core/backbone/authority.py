"""The authority of a collaboration: whose word lets a peer in."""

from datetime import UTC, datetime
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from core.backbone.signed_time import SignedTime, time_signed_bytes
from core.base.bounds import USERNAME_BYTES_MAX
from core.base.content import digest
from core.base.ids import AccountId, PeerId, account_of
from core.base.problems import BadInput, ProofProblem
from core.base.signing import KeyPair
from core.net.identity.passes import DEVICE_BYTES_MAX, PassRole, issuer_name, utc

LIFETIME_S: Final = 4 * 24 * 3600.0
"""Members go on for a long weekend without any desk."""
# The authority's own certificate is always the same bytes: fixed dates, fixed serial, deterministic signature.
_BEGIN = datetime(2020, 1, 1, tzinfo=UTC)
_END = datetime(2120, 1, 1, tzinfo=UTC)


class Authority:
    """Issues passes (S000 appendix I.5, "joining the network").

    Args:
        keys: The authority's key pair; its public key stands in the manifest.
        manifest_id: The collaboration, 32 bytes.
    """

    def __init__(self, keys: KeyPair, manifest_id: bytes) -> None:
        self._keys = keys
        self._name = issuer_name(manifest_id)
        self.id: PeerId = keys.peer_id
        self.certificate = self._own_certificate()
        """The authority's certificate, DER: the root of trust of every connection in the collaboration."""

    def issue(
        self,
        request: bytes,
        *,
        username: str,
        device: str,
        now: float,
        role: PassRole = PassRole.MEMBER,
        account: AccountId | None = None,
    ) -> bytes:
        """A pass (DER) for the key that signed the certificate request, valid for `LIFETIME_S`.

        Args:
            request: Certificate request, DER (`core.net.identity.passes.pass_request`).
            username: Who it is for; the caller has made sure that it is them.
            device: A name for the computer; cut to what fits.
            now: Unix seconds.
            role: What its holder may do.
            account: Whose key it is; None, and left out, where it is an account's first.

        Raises:
            BadInput: the name cannot be used.
            ProofProblem: the request is unreadable, or its signature is not made with its key.
        """
        if not username.strip() or not username.isprintable() or len(username.encode()) > USERNAME_BYTES_MAX:
            hint = "Choose one of 1 to {most} bytes that can be printed."
            raise BadInput("The name {username} cannot be used.", repr(username[:20]), USERNAME_BYTES_MAX, hint=hint)
        key = Ed25519PublicKey.from_public_bytes(requested_key(request))
        names = [x509.NameAttribute(NameOID.COMMON_NAME, username.strip())]
        if label := _label(device):
            names.append(x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, label))
        if role is not PassRole.MEMBER:
            names.append(x509.NameAttribute(NameOID.TITLE, role))
        if account not in {None, account_of(PeerId(key.public_bytes_raw()))}:
            names.append(x509.NameAttribute(NameOID.USER_ID, account.hex()))
        serial = digest(key.public_bytes_raw() + int(now * 1000).to_bytes(8, "big"))[:8]
        certificate = (
            self._builder(serial)
            .subject_name(x509.Name(names))
            .public_key(key)
            .not_valid_before(utc(now))
            .not_valid_after(utc(now + LIFETIME_S))
            .add_extension(_usage(signs_certificates=False), critical=True)
            .sign(self._keys.private_key, None)
        )
        return certificate.public_bytes(Encoding.DER)

    def sign_time(self, nonce: bytes, now: float) -> SignedTime:
        """The time, for a newcomer that has drawn `nonce`."""
        return SignedTime(now, self._keys.sign(time_signed_bytes(nonce, now)))

    def _own_certificate(self) -> bytes:
        certificate = (
            self._builder(self.id[:8])
            .subject_name(self._name)
            .public_key(self._keys.private_key.public_key())
            .not_valid_before(_BEGIN)
            .not_valid_after(_END)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(signs_certificates=True), critical=True)
            .sign(self._keys.private_key, None)
        )
        return certificate.public_bytes(Encoding.DER)

    def _builder(self, serial: bytes) -> x509.CertificateBuilder:
        number = int.from_bytes(serial, "big") >> 1 | 1
        return x509.CertificateBuilder().issuer_name(self._name).serial_number(number)


def requested_key(request: bytes) -> PeerId:
    """The key for which a certificate request asks, and which its sender has proven to hold.

    Raises:
        ProofProblem: the request is unreadable, or its signature is not made with its key.
    """
    try:
        wanted = x509.load_der_x509_csr(request)
        key = wanted.public_key()
        if isinstance(key, Ed25519PublicKey) and wanted.is_signature_valid:
            return PeerId(key.public_bytes_raw())
    except (ValueError, TypeError, UnsupportedAlgorithm, x509.InvalidVersion) as error:
        raise ProofProblem("This is not a certificate request.") from error
    raise ProofProblem("The certificate request is not signed with the Ed25519 key that it names.")


def _label(device: str) -> str:
    """The device's name, printable and short enough."""
    printable = "".join(letter for letter in device if letter.isprintable()).strip()
    return printable.encode()[:DEVICE_BYTES_MAX].decode(errors="ignore").strip()


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )
