"""Access passes: short-lived X.509 certificates for (name, key, device, role, account), given by an issuer.

They are the access tokens of S000 appendix I.5.  The issuer's name holds the manifest id, so the pass of one
collaboration is refused by another even where both have the same authority (`core.net.identity.issuers`).  Names are as
short as may be: a pass has to fit a datagram beside a message.
"""

import warnings
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID, SignatureAlgorithmOID

from core.base.bounds import remember
from core.base.ids import ACCOUNT_BYTES, AccountId, PeerId, account_of
from core.base.problems import ProofProblem
from core.base.signing import Ed25519Verifier, KeyPair
from core.net.identity.issuers import Issuers

PASS_BYTES_MAX = 512
KNOWN_MAX = 10_000
"""Number of peers whose names are remembered."""
CLOCK_TOLERANCE_S = 60.0
DEVICE_BYTES_MAX = 32

# Exceptions that reading a hostile certificate may raise besides ValueError.
_UNREADABLE = (
    ValueError,
    TypeError,
    UnsupportedAlgorithm,
    x509.InvalidVersion,
    x509.DuplicateExtension,
    x509.UnsupportedGeneralNameType,
    Warning,
)


class PassRole(StrEnum):
    """What the authority lets the holder of a pass do; in a certificate it is the subject's title."""

    MEMBER = "member"
    """Take part.  It is not written down, and is what a role of a later version means here."""
    BACKBONE = "backbone"
    """Take part, and welcome newcomers."""


@dataclass(frozen=True, slots=True)
class Pass:
    """A peer's name, key, device and role, and until when it is admitted."""

    peer: PeerId
    username: str
    device: str
    begins: float
    """First time of validity, Unix seconds."""
    expires: float
    """Last time of validity, Unix seconds."""
    issuer: PeerId
    role: PassRole = PassRole.MEMBER
    further: AccountId | None = None
    """The account, where the key is a further one of it; None: it is the account's first."""

    @property
    def account(self) -> AccountId:
        """The person: all computers of one account count as one wherever people count."""
        return account_of(self.peer) if self.further is None else self.further

    def check_time(self, now: float) -> None:
        """Check that the pass is valid now, give or take `CLOCK_TOLERANCE_S`.

        Raises:
            ProofProblem: it is not.
        """
        if now > self.expires + CLOCK_TOLERANCE_S:
            raise ProofProblem("The pass of {username} has expired.", self.username)
        if now < self.begins - CLOCK_TOLERANCE_S:
            raise ProofProblem("The pass of {username} is not valid yet.", self.username)


def pass_request(keys: KeyPair) -> bytes:
    """A certificate request (DER) for this key, signed with it.  The authority fills in the names."""
    request = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([])).sign(keys.private_key, None)
    return request.public_bytes(Encoding.DER)


def verify_pass(der: bytes, issuers: Issuers, now: float) -> Pass:
    """Verify a pass, all but whether its holder was shut out.

    Args:
        der: The certificate.
        issuers: The collaboration's.
        now: Unix seconds.

    Raises:
        ProofProblem: not a pass, not of this collaboration, not valid now, or its issuer's passes have ended.
    """
    found = signed_pass(der, issuers)
    check_pass(found, issuers, now)
    return found


def check_pass(found: Pass, issuers: Issuers, now: float) -> None:
    """Check the time of a pass that was read, and that its issuer's passes have not ended.

    Raises:
        ProofProblem: so it is not.
    """
    found.check_time(now)
    if now > issuers.ends(found.issuer):
        raise ProofProblem(
            "The moderators have ended the passes of the backbone that let {username} in.", found.username
        )


def signed_pass(der: bytes, issuers: Issuers) -> Pass:
    """Verify who issued a pass, whenever it is valid, and whether or not the passes of that issuer have ended.

    Args:
        der: The certificate.
        issuers: The collaboration's.

    Raises:
        ProofProblem: not a pass, or not of this collaboration.
    """
    if len(der) > PASS_BYTES_MAX:
        raise ProofProblem("A pass has at most {most} bytes, not {count}.", PASS_BYTES_MAX, len(der))
    try:
        certificate = _strictly(der)
        found = _read(certificate, issuers)
        signed, signature = certificate.tbs_certificate_bytes, certificate.signature
    except _UNREADABLE as error:
        raise ProofProblem("This certificate is not a pass.") from error
    if not Ed25519Verifier().verify(found.issuer, signature, signed):
        raise ProofProblem("The pass was not issued by this collaboration's authority.")
    return found


class PassVerifier:
    """Decides whose pass holds: at a handshake or a first datagram, and again whenever a known pass is used.

    Args:
        authority_id: The authority's public key, from the manifest.
        manifest_id: The collaboration.
    """

    def __init__(self, authority_id: PeerId, manifest_id: bytes) -> None:
        self.issuers = Issuers(authority_id, manifest_id)
        """Whose passes hold, by the newest records of the authority."""
        self.known: OrderedDict[PeerId, Pass] = OrderedDict()
        """The newest pass of each peer that has shown one, who showed it last at the end."""
        self.revoked: frozenset[PeerId] = frozenset()
        """Peers whose passes hold no longer, by the newest records of the authority."""
        self.banned: frozenset[AccountId] = frozenset()
        """Accounts of which no pass holds any longer, of whatever key, by the same records."""
        self.held: frozenset[PeerId] = frozenset()
        """Peers that a single moderator keeps out for some days; no backbone is."""
        self.since = 0.0
        """No pass holds that began before this, Unix seconds, by the same records."""

    def read(self, der: bytes, now: float) -> Pass:
        """The pass in a certificate.

        Args:
            der: The certificate.
            now: Unix seconds.

        Raises:
            ProofProblem: not a pass, not of this authority or collaboration, not valid now, or revoked.
        """
        found = signed_pass(der, self.issuers)
        self.check(found, now)
        remember(self.known, found.peer, found, KNOWN_MAX)
        return found

    def refuse(
        self, revoked: frozenset[PeerId], banned: frozenset[AccountId], held: frozenset[PeerId] = frozenset()
    ) -> None:
        """Take in whose passes hold no longer: those of these keys, all of these accounts, and for now of the held."""
        self.revoked, self.banned, self.held = revoked, banned, held

    def account(self, peer: PeerId) -> AccountId:
        """A peer's account, as its newest pass says; of a peer that has shown none its key's own."""
        found = self.known.get(peer)
        return account_of(peer) if found is None else found.account

    def check(self, found: Pass, now: float) -> None:
        """Check that a pass that was read still holds.

        Args:
            found: The pass.
            now: Unix seconds.

        Raises:
            ProofProblem: it has expired, was revoked, or its issuer's passes have ended.
        """
        check_pass(found, self.issuers, now)
        held = found.peer in self.held and found.role is not PassRole.BACKBONE
        if held or found.peer in self.revoked or found.account in self.banned or found.begins < self.since:
            raise ProofProblem("The pass of {username} was revoked.", found.username)


def pass_end(der: bytes) -> float:
    """When a pass ends that an authority has given to this peer, Unix seconds."""
    return x509.load_der_x509_certificate(der).not_valid_after_utc.timestamp()


def _strictly(der: bytes) -> x509.Certificate:
    """Load a certificate; one that makes the library warn is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return x509.load_der_x509_certificate(der)


def _read(certificate: x509.Certificate, issuers: Issuers) -> Pass:
    key = certificate.public_key()
    if not isinstance(key, Ed25519PublicKey) or certificate.signature_algorithm_oid != SignatureAlgorithmOID.ED25519:
        raise ProofProblem("A pass is made with Ed25519 keys.")
    issuer = issuers.named(certificate.issuer)
    names = {attribute.oid: str(attribute.value) for attribute in certificate.subject}
    username = names.get(NameOID.COMMON_NAME)
    if username is None:
        raise ProofProblem("The pass names nobody.")
    return Pass(
        PeerId(key.public_bytes_raw()),
        username,
        names.get(NameOID.ORGANIZATIONAL_UNIT_NAME, ""),
        certificate.not_valid_before_utc.timestamp(),
        certificate.not_valid_after_utc.timestamp(),
        issuer,
        PassRole.BACKBONE if names.get(NameOID.TITLE) == PassRole.BACKBONE else PassRole.MEMBER,
        _account(names.get(NameOID.USER_ID)),
    )


def _account(said: str | None) -> AccountId | None:
    if said is None:
        return None
    account = AccountId(bytes.fromhex(said))
    if len(account) != ACCOUNT_BYTES:
        raise ProofProblem("The pass names an account that cannot be.")
    return account


def utc(seconds: float) -> datetime:
    """Unix seconds in the form of certificates: whole seconds, UTC."""
    return datetime.fromtimestamp(int(seconds), tz=UTC)
