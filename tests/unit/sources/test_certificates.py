"""Web servers with certificates of an authority of one's own: which are believed, and what is said of the others."""

import asyncio
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tuf.api.exceptions import DownloadError

from core.api.data_state import DataCode, why_stalled
from core.base.data_source import DataSource
from core.cli.organiser.moderate import certificate_warning
from core.joining.sign_in import PageProblem, begin
from core.text.sources.opening import open_source
from core.text.sources.source import Access, SourceStalled
from core.text.sources.texts import problem_of_trouble
from core.updates.source import UpdateFetcher
from tests.web_server import web_server

HERE = x509.IPAddress(ip_address("127.0.0.1"))
DAY = timedelta(days=1)


class Authority:
    """Signs certificates; its own is in a file that SSL_CERT_FILE can name."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "An authority of our own")])
        self._id = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        usage = dict.fromkeys(
            ("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement"), False
        )
        usage |= {"key_cert_sign": True, "crl_sign": True, "encipher_only": False, "decipher_only": False}
        made = self._certificate(self.name, self._key, ends=DAY).add_extension(self._id, critical=False)
        made = made.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        made = made.add_extension(x509.KeyUsage(**usage), critical=True)
        self.file = folder / "authority.pem"
        self.file.write_bytes(made.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))

    def server(self, host: x509.GeneralName, *, ends: timedelta = DAY, own: bool = False) -> ssl.SSLContext:
        """What a server of that name needs; `own`: signed with its own key instead."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "A server")])
        made = self._certificate(name, key, ends=ends, issuer=name if own else self.name)
        made = made.add_extension(x509.SubjectAlternativeName([host]), critical=False)
        if not own:
            signer = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(self._id)
            made = made.add_extension(signer, critical=False)
        path = self._folder / "server.pem"
        path.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
            + made.sign(key if own else self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        return context

    @staticmethod
    def _certificate(name: x509.Name, key: Any, *, ends: timedelta, issuer: x509.Name | None = None) -> Any:
        now = datetime.now(UTC)
        made = x509.CertificateBuilder().subject_name(name).issuer_name(issuer or name).public_key(key.public_key())
        return (
            made.serial_number(x509.random_serial_number()).not_valid_before(now - 9 * DAY).not_valid_after(now + ends)
        )


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Authority]:
    found = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(found.file))
    return found


def text_at(address: str, **secrets: str) -> str:
    source = open_source(DataSource(address=address), Access(secrets=secrets))
    shards = range(len(source.listing().shards))
    return "".join(text for shard in shards for piece in source.read(shard) for text in piece.texts)


@pytest.mark.parametrize(("secret", "header"), [("ada:lovelace", "Basic YWRhOmxvdmVsYWNl"), ("token", "Bearer token")])
def test_named_authority_is_believed(authority: Authority, secret: str, header: str) -> None:
    with web_server({"/a.txt": b"text"}, tls=authority.server(HERE)) as site:
        assert text_at(f"{site.url}/a.txt", **{site.url: secret}) == "text"
        assert {asked for _, _, asked in site.asked} == {header}


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"host": x509.DNSName("texts.org")}, "is not valid for '127.0.0.1'"),
        ({"host": HERE, "ends": -DAY}, "expired"),
        ({"host": HERE, "own": True}, "self-signed"),
    ],
)
def test_invalid_certificate_is_a_sentence(authority: Authority, how: dict[str, Any], why: str) -> None:
    with web_server({"/a.txt": b"text"}, tls=authority.server(**how)) as site, pytest.raises(SourceStalled) as caught:
        text_at(f"{site.url}/a.txt")
    trouble = caught.value
    assert (trouble.code, trouble.arguments["host"]) == (DataCode.CERTIFICATE, "127.0.0.1")
    assert why in problem_of_trouble(trouble).message
    assert why in str(why_stalled(trouble.code, trouble.arguments))  # type: ignore[arg-type]
    assert not site.asked


def test_unknown_authority_is_a_sentence(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    with web_server({"/a.txt": b"text"}, tls=authority.server(HERE)) as site:
        monkeypatch.delenv("SSL_CERT_FILE")
        with pytest.raises(SourceStalled) as caught:
            text_at(f"{site.url}/a.txt")
    assert "SSL_CERT_FILE" in problem_of_trouble(caught.value).hint


def test_server_without_tls_does_not_answer(authority: Authority) -> None:
    with web_server({"/a.txt": b"text"}) as site, pytest.raises(SourceStalled) as caught:
        text_at(f"{site.url}/a.txt".replace("http:", "https:"))
    assert caught.value.code == DataCode.NO_ANSWER


# --- the page of a collaboration -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"ends": 20 * DAY}, ""),
        ({"ends": 13 * DAY}, "The certificate of 127.0.0.1 ends on "),
        ({"ends": -DAY}, "Browsers refuse the certificate of 127.0.0.1: certificate has expired"),
        ({"own": True}, "Browsers refuse the certificate of 127.0.0.1: self-signed certificate"),
    ],
)
def test_moderator_is_told_before_the_pages_certificate_ends(
    authority: Authority, how: dict[str, Any], said: str
) -> None:
    with web_server({"/": b""}, tls=authority.server(HERE, **how)) as site:
        warning = certificate_warning(site.url)
        assert warning.startswith(said)
        assert bool(warning) is bool(said)
        assert not certificate_warning(site.url.replace("https", "http"))
    assert not certificate_warning(site.url), "nobody answers there"


def test_page_whose_certificate_has_ended_signs_nobody_in(authority: Authority) -> None:
    with web_server({"/": b""}, tls=authority.server(HERE, ends=-DAY)) as site:
        with pytest.raises(PageProblem, match="cannot prove that it is the one that its address names"):
            asyncio.run(begin(site.url, device="laptop"))
        assert not site.asked


def test_updates_are_led_from_https_nowhere_else(authority: Authority, tmp_path: Path) -> None:
    def got(address: str) -> bytes:
        with UpdateFetcher(tmp_path, lambda *_: None).download_file(address, 100) as file:
            return file.read()

    with web_server({"/a": b"a"}) as router, web_server({"/a": b"a"}, tls=authority.server(HERE)) as site:
        site.moved = {"/home": f"{router.url}/a", "/there": f"{site.url}/a"}
        with pytest.raises(DownloadError):
            got(f"{site.url}/home")
        assert router.asked == []
        assert got(f"{site.url}/there") == b"a"
