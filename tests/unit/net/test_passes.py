import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from core.backbone.authority import LIFETIME_S, Authority
from core.base.ids import account_of
from core.base.problems import BadInput, ProofProblem
from core.net.identity.issuers import Issuers
from core.net.identity.passes import PASS_BYTES_MAX, PassRole, pass_request, verify_pass
from tests.unit.net.people import (
    AUTHORITY,
    NOW,
    OTHER_RUN,
    RUN,
    SAME_KEY_OTHER_RUN,
    SAME_RUN_OTHER_KEY,
    issue,
    keys,
    verifier,
)


def verify(der: bytes, now: float = NOW):
    return verify_pass(der, Issuers(AUTHORITY.id, RUN), now)


def test_pass_names_its_holder_and_expiry():
    found = verify(issue("anna"))
    assert (found.peer, found.username, found.device) == (keys("anna").peer_id, "anna", "test")
    assert found.expires == NOW + LIFETIME_S


def test_only_the_authority_makes_a_pass_a_backbones():
    request = pass_request(keys("anna"))
    der = AUTHORITY.issue(request, username="anna", device="", now=NOW, role=PassRole.BACKBONE)
    assert verify(der).role is PassRole.BACKBONE
    for username in ("backbone", "title=backbone", "anna,T=backbone"):
        assert verify(issue("anna", username=username)).role is PassRole.MEMBER


@pytest.mark.parametrize("early_s", [-59.0, LIFETIME_S + 59.0])
def test_clocks_may_differ_a_little(early_s):
    assert verify(issue("anna"), NOW + early_s)


@pytest.mark.parametrize("early_s", [-61.0, LIFETIME_S + 61.0])
def test_a_pass_is_refused_outside_its_time(early_s):
    with pytest.raises(ProofProblem):
        verify(issue("anna"), NOW + early_s)


def test_pass_of_another_collaboration_is_refused():
    der = issue("anna", authority=SAME_KEY_OTHER_RUN)
    assert verify_pass(der, Issuers(AUTHORITY.id, OTHER_RUN), NOW)
    with pytest.raises(ProofProblem, match="another collaboration"):
        verify(der)


def test_the_pass_of_another_authority_is_refused():
    with pytest.raises(ProofProblem, match="authority"):
        verify(issue("anna", authority=SAME_RUN_OTHER_KEY))


def test_the_authoritys_own_certificate_is_no_pass():
    with pytest.raises(ProofProblem):
        verify(AUTHORITY.certificate)


@given(st.integers(0, 10_000), st.integers(1, 255))
def test_a_changed_pass_is_refused(place, change):
    der = bytearray(issue("anna"))
    der[place % len(der)] ^= change
    with pytest.raises(ProofProblem):
        verify(bytes(der))


@given(st.binary(max_size=600))
def test_garbage_is_refused(data):
    with pytest.raises(ProofProblem):
        verify(data)


def test_a_pass_with_the_longest_names_fits():
    der = AUTHORITY.issue(pass_request(keys("anna")), username="Ж" * 32, device="computer " * 20, now=NOW)
    assert len(der) <= PASS_BYTES_MAX
    found = verify(der)
    assert found.username == "Ж" * 32
    assert found.device.startswith("computer computer")


def test_a_further_computers_pass_with_the_longest_names_fits():
    account = account_of(keys("ben").peer_id)
    request = pass_request(keys("anna"))
    der = AUTHORITY.issue(request, username="Ж" * 32, device="computer " * 20, now=NOW, account=account)
    assert len(der) <= PASS_BYTES_MAX
    assert verify(der).account == account


def test_a_pass_without_an_account_is_of_its_keys_own():
    anna = account_of(keys("anna").peer_id)
    assert verify(issue("anna")).account == anna
    assert issue("anna", first="anna") == issue("anna")
    assert verify(issue("annas laptop", first="anna")).account == anna


def test_a_request_cannot_ask_for_an_account():
    wanted = x509.Name([x509.NameAttribute(NameOID.USER_ID, account_of(keys("ben").peer_id).hex())])
    request = x509.CertificateSigningRequestBuilder().subject_name(wanted).sign(keys("eve").private_key, None)
    der = AUTHORITY.issue(request.public_bytes(Encoding.DER), username="eve", device="", now=NOW)
    assert verify(der).account == account_of(keys("eve").peer_id)


@pytest.mark.parametrize("account", ["00", "00" * 17, "xy" * 16])
def test_a_pass_of_an_account_that_cannot_be_is_refused(account):
    names = [x509.NameAttribute(NameOID.COMMON_NAME, "anna"), x509.NameAttribute(NameOID.USER_ID, account)]
    found = x509.load_der_x509_certificate(issue("anna"))
    der = (
        x509.CertificateBuilder(issuer_name=found.issuer, subject_name=x509.Name(names), public_key=found.public_key())
        .serial_number(found.serial_number)
        .not_valid_before(found.not_valid_before_utc)
        .not_valid_after(found.not_valid_after_utc)
        .sign(keys("authority").private_key, None)
        .public_bytes(Encoding.DER)
    )
    with pytest.raises(ProofProblem):
        verify(der)


def test_a_banned_account_has_no_pass_by_any_key():
    passes = verifier()
    passes.read(issue("annas laptop", first="anna"), NOW)
    passes.banned = frozenset({account_of(keys("anna").peer_id)})
    for der in (issue("anna"), issue("annas laptop", first="anna"), issue("annas third", first="anna")):
        with pytest.raises(ProofProblem, match="revoked"):
            passes.read(der, NOW)
    assert passes.read(issue("ben"), NOW).username == "ben"
    assert passes.account(keys("annas laptop").peer_id) == passes.account(keys("anna").peer_id)
    assert passes.account(keys("unknown").peer_id) == account_of(keys("unknown").peer_id)


@pytest.mark.parametrize("name", ["", "   ", "a\nb", "x" * 65, "Ж" * 33])
def test_a_name_that_cannot_be_used_is_refused(name):
    with pytest.raises(BadInput):
        AUTHORITY.issue(pass_request(keys("anna")), username=name, device="", now=NOW)


def test_a_device_may_be_called_anything():
    der = AUTHORITY.issue(pass_request(keys("anna")), username="anna", device="\x00\n", now=NOW)
    assert verify(der).device == ""


@given(st.binary(max_size=400))
def test_a_request_that_is_none_is_refused(data):
    with pytest.raises(ProofProblem):
        AUTHORITY.issue(data, username="anna", device="", now=NOW)


def test_a_request_with_another_kind_of_key_is_refused():
    key = ec.generate_private_key(ec.SECP256R1())
    request = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([])).sign(key, SHA256())
    with pytest.raises(ProofProblem):
        AUTHORITY.issue(request.public_bytes(Encoding.DER), username="anna", device="", now=NOW)


def test_a_request_for_somebody_elses_key_is_refused():
    request = pass_request(keys("anna"))
    stolen = request.replace(keys("anna").peer_id, keys("eve").peer_id)
    assert stolen != request
    with pytest.raises(ProofProblem):
        AUTHORITY.issue(stolen, username="eve", device="", now=NOW)


def test_the_authoritys_certificate_is_always_the_same():
    assert Authority(keys("authority"), RUN).certificate == AUTHORITY.certificate
