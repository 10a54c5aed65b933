"""Issuers: keys whose passes hold in a collaboration, and how TLS comes to trust them.

The first issuer is the key that the manifest names; moderators may name further ones, and end any
(`core.authority.roles`).  A pass names its issuer: the collaboration, and of a further issuer 16 digits of its key as
well.  Two issuers of one name in one TLS context fail in most handshakes, since OpenSSL tries the first one alone.

A trust anchor is a name and a key (RFC 5280, section 6.1.1), so a peer makes the certificate that its TLS library wants
by itself, of the key alone.  Its signature means nothing: OpenSSL does not check that of an anchor.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from core.authority.records import AuthorityRecords
from core.base.ids import PeerId
from core.base.problems import ProofProblem

# An issuer's certificate is always the same: fixed dates, fixed serial.
_BEGIN = datetime(2020, 1, 1, tzinfo=UTC)
_END = datetime(2120, 1, 1, tzinfo=UTC)
NAME_DIGITS: Final = 16


@dataclass(frozen=True)
class Issuers:
    """All issuers of one collaboration.

    Attributes:
        founder: The key that the manifest names.
        manifest_id: The collaboration.
        until: When the passes of each end, Unix seconds; infinite: it goes on giving some.
    """

    founder: PeerId
    manifest_id: bytes
    until: Mapping[PeerId, float] = field(default_factory=dict)

    @cached_property
    def _by_name(self) -> dict[x509.Name, PeerId]:
        return {issuer_name(self.manifest_id, key, founder=self.founder): key for key in (self.founder, *self.until)}

    @cached_property
    def anchors(self) -> bytes:
        """Certificates of all whose passes may hold, DER, one behind the other."""
        return b"".join(_anchor(name, key) for name, key in self._by_name.items() if self.ends(key) > 0.0)

    def ends(self, issuer: PeerId) -> float:
        """When the passes of an issuer end, Unix seconds; infinite: not yet; 0.0: it is not an issuer."""
        return self.until.get(issuer, math.inf if issuer == self.founder else 0.0)

    def named(self, name: x509.Name) -> PeerId:
        """The issuer that a certificate names.

        Raises:
            ProofProblem: it is of another collaboration, or of nobody who gives passes here.
        """
        issuer = self._by_name.get(name)
        if issuer is not None:
            return issuer
        of = [str(one.value) for one in name.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
        if of == [self.manifest_id.hex()]:
            raise ProofProblem("The pass was not issued by any authority of this collaboration.")
        raise ProofProblem("The pass belongs to another collaboration.")

    def beside(self, other: "Issuers") -> "Issuers":
        """These and others, each as long as it lasts in one of both."""
        keys = dict.fromkeys((self.founder, *self.until, *other.until))
        longer = {key: max(self.ends(key), other.ends(key)) for key in keys}
        return Issuers(self.founder, self.manifest_id, longer)


def issuers_of(records: AuthorityRecords) -> Issuers:
    """All issuers of a collaboration, by what its moderators have said."""
    return Issuers(records.seal.founder, records.seal.manifest_id, records.chain.issuing)


def issuer_name(manifest_id: bytes, issuer: PeerId, *, founder: PeerId) -> x509.Name:
    """An issuer's X.509 name in the collaboration `manifest_id`.

    Args:
        manifest_id: The collaboration.
        issuer: The issuer's key.
        founder: The key that the manifest names, whose name is that of earlier versions.
    """
    names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, manifest_id.hex())]
    if issuer != founder:
        names.append(x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, issuer.hex()[:NAME_DIGITS]))
    return x509.Name(names)


def issuer_builder(name: x509.Name, key: PeerId) -> x509.CertificateBuilder:
    """The certificate of an issuer, which has to be signed.

    Args:
        name: Its X.509 name.
        key: The issuer's.
    """
    return (
        x509.CertificateBuilder()
        .issuer_name(name)
        .subject_name(name)
        .serial_number(int.from_bytes(key[:8], "big") >> 1 | 1)
        .public_key(Ed25519PublicKey.from_public_bytes(key))
        .not_valid_before(_BEGIN)
        .not_valid_after(_END)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage(signs_certificates=True), critical=True)
    )


def usage(*, signs_certificates: bool) -> x509.KeyUsage:
    """What the key in a certificate is for."""
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


def _anchor(name: x509.Name, key: PeerId) -> bytes:
    certificate = issuer_builder(name, key).sign(Ed25519PrivateKey.generate(), None)
    return certificate.public_bytes(Encoding.DER)
