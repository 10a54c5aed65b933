"""Several issuers in one collaboration: real handshakes, and whose passes hold how long."""

import math
import ssl
from itertools import permutations

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from core.backbone.authority import LIFETIME_S, Authority
from core.base.bounds import USERNAME_BYTES_MAX
from core.base.ids import PeerId, account_of
from core.base.problems import ProofProblem
from core.net.identity.issuers import Issuers, issuer_name
from core.net.identity.passes import (
    DEVICE_BYTES_MAX,
    PASS_BYTES_MAX,
    PassRole,
    PassVerifier,
    pass_request,
    utc,
    verify_pass,
)
from core.net.identity.tls import Credentials, SecureChannel
from tests.unit.net.people import AUTHORITY, NOW, OTHER_RUN, RUN, id_of, issue, keys

SECOND, THIRD = (Authority(keys(name), RUN, AUTHORITY.id) for name in ("second", "third"))


def among(**until: float) -> Issuers:
    return Issuers(AUTHORITY.id, RUN, {id_of(name): ends for name, ends in until.items()})


BOTH = among(second=math.inf)


def shown(name: str, by: Authority, issuers: Issuers = BOTH) -> Credentials:
    return Credentials(keys=keys(name), pass_der=issue(name, authority=by), passes=accepting(issuers))


def accepting(issuers: Issuers) -> PassVerifier:
    passes = PassVerifier(AUTHORITY.id, RUN)
    passes.issuers = issuers
    return passes


def shake(calling: Credentials, called: Credentials) -> bool:
    """Whether two sides come to an understanding."""
    client, server = SecureChannel(calling, server_side=False), SecureChannel(called, server_side=True)
    try:
        for _ in range(4):
            done = client.handshake()
            server.feed(client.take())
            both = server.handshake() and done
            client.feed(server.take())
    except ssl.SSLError:
        return False
    return both


def forged() -> bytes:
    """A pass that names the second issuer, and has the third one's signature."""
    real = x509.load_der_x509_certificate(issue("eve", authority=SECOND))
    builder = x509.CertificateBuilder(issuer_name=real.issuer, subject_name=real.subject, public_key=real.public_key())
    builder = builder.serial_number(1).not_valid_before(utc(NOW)).not_valid_after(utc(NOW + 60))
    return builder.sign(keys("third").private_key, None).public_bytes(Encoding.DER)


def test_peers_of_two_issuers_meet_in_every_handshake():
    people = [shown(name, by) for name, by in (("a", AUTHORITY), ("b", AUTHORITY), ("c", SECOND), ("d", SECOND))]
    assert all(shake(one, other) for one, other in permutations(people, 2))


def test_nobody_meets_who_has_a_pass_of_another_key():
    honest = shown("a", AUTHORITY)
    assert not shake(shown("eve", THIRD), honest)
    assert not shake(honest, shown("eve", THIRD))
    with pytest.raises(ProofProblem, match="any authority"):
        verify_pass(issue("eve", authority=THIRD), BOTH, NOW)
    assert not shake(Credentials(keys=keys("eve"), pass_der=forged(), passes=accepting(BOTH)), honest)
    with pytest.raises(ProofProblem, match="not issued"):
        verify_pass(forged(), BOTH, NOW)


def test_earlier_passes_of_the_first_issuer_hold_beside_others():
    earlier = issuer_name(RUN, AUTHORITY.id, founder=AUTHORITY.id)
    assert len(earlier.rdns) == 1
    assert verify_pass(issue("a"), BOTH, NOW).issuer == AUTHORITY.id
    assert verify_pass(issue("a", authority=SECOND), BOTH, NOW).issuer == id_of("second")


def test_pass_of_a_further_issuer_belongs_to_one_collaboration():
    there = Issuers(AUTHORITY.id, OTHER_RUN, {id_of("second"): math.inf})
    with pytest.raises(ProofProblem, match="another collaboration"):
        verify_pass(issue("a", authority=SECOND), there, NOW)


@pytest.mark.parametrize(("ends", "late_s", "holds"), [(NOW + 100, 50, True), (NOW + 100, 150, False), (0.0, 0, False)])
@pytest.mark.parametrize("issuer", ["second", "authority"])
def test_ended_issuers_passes_hold_no_longer(ends, late_s, holds, issuer):
    verifier = accepting(BOTH)
    by = {"second": SECOND, "authority": AUTHORITY}[issuer]
    found = verifier.read(issue("a", authority=by), NOW)
    verifier.check(found, NOW + 150)
    verifier.issuers = Issuers(AUTHORITY.id, RUN, {id_of("second"): math.inf} | {by.id: ends})
    if holds:
        verifier.check(found, NOW + late_s)
    else:
        with pytest.raises(ProofProblem, match="have ended the passes"):
            verifier.check(found, NOW + late_s)
        with pytest.raises(ProofProblem, match="have ended the passes"):
            verifier.read(issue("b", authority=by), NOW + late_s)


def test_stolen_issuers_passes_open_no_connection():
    honest = shown("a", SECOND, Issuers(AUTHORITY.id, RUN, {id_of("second"): math.inf, AUTHORITY.id: 0.0}))
    assert not shake(shown("eve", AUTHORITY), honest)
    assert shake(shown("b", SECOND), honest)


def test_issuers_last_as_long_as_in_one_of_two_lists():
    one, other = among(second=NOW, third=0.0), among(second=math.inf)
    merged = one.beside(other)
    assert [merged.ends(id_of(name)) for name in ("authority", "second", "third")] == [math.inf, math.inf, 0.0]


def test_longest_pass_of_a_further_issuer_fits():
    der = SECOND.issue(
        pass_request(keys("a")),
        username="n" * USERNAME_BYTES_MAX,
        device="d" * DEVICE_BYTES_MAX,
        now=NOW,
        role=PassRole.BACKBONE,
        account=account_of(PeerId(bytes(32))),
    )
    assert len(der) <= PASS_BYTES_MAX
    assert verify_pass(der, BOTH, NOW).expires == NOW + LIFETIME_S


def test_connections_follow_the_issuers_without_a_restart():
    guest = shown("b", SECOND)
    passes = accepting(Issuers(AUTHORITY.id, RUN))
    honest = Credentials(keys=keys("a"), pass_der=issue("a"), passes=passes)
    assert not shake(guest, honest)
    passes.issuers = BOTH
    assert shake(guest, honest)
