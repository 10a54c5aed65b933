"""The authority of a collaboration: whose word lets a peer in."""

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
from core.net.identity.issuers import issuer_builder, issuer_name, usage
from core.net.identity.passes import DEVICE_BYTES_MAX, PassRole, utc

LIFETIME_S: Final = 4 * 24 * 3600.0
"""Members go on for a long weekend without any desk."""


class Authority:
    """Issues passes (S000 appendix I.5, "joining the network").

    Args:
        keys: The issuer's key pair; its public key stands in the manifest, or in the moderators' list.
        manifest_id: The collaboration, 32 bytes.
        founder: The key that the manifest names; None: it is this one.
    """

    def __init__(self, keys: KeyPair, manifest_id: bytes, founder: PeerId | None = None) -> None:
        self._keys = keys
        self.id: PeerId = keys.peer_id
        self._name = issuer_name(manifest_id, self.id, founder=founder or self.id)
        own = issuer_builder(self._name, self.id).sign(keys.private_key, None)
        self.certificate = own.public_bytes(Encoding.DER)
        """The issuer's own certificate, DER, for programs of earlier versions."""

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
            x509.CertificateBuilder()
            .issuer_name(self._name)
            .serial_number(int.from_bytes(serial, "big") >> 1 | 1)
            .subject_name(x509.Name(names))
            .public_key(key)
            .not_valid_before(utc(now))
            .not_valid_after(utc(now + LIFETIME_S))
            .add_extension(usage(signs_certificates=False), critical=True)
            .sign(self._keys.private_key, None)
        )
        return certificate.public_bytes(Encoding.DER)

    def sign_time(self, nonce: bytes, now: float) -> SignedTime:
        """The time, for a newcomer that has drawn `nonce`."""
        return SignedTime(now, self._keys.sign(time_signed_bytes(nonce, now)), self.id)


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
