"""What a backbone says of itself, checked against a link, and the connections to it before and after that."""

import secrets
import ssl
from collections.abc import Callable
from dataclasses import dataclass

import aiohttp

from core.backbone.link import Link
from core.backbone.signed_time import TIME_NONCE_BYTES, read_time
from core.base.manifest import MANIFEST_BYTES_MAX, Manifest, read_manifest
from core.base.problems import NotTrusted, ProofProblem, RemoteProblem
from core.base.signing import Ed25519Verifier
from core.net.passes import Pass, PassRole, verify_authority, verify_pass
from core.net.tls import NO_CHECK_TIME

TIMEOUT_S = 20.0


@dataclass(frozen=True, slots=True)
class Introduced:
    """What a backbone says before it is trusted, checked against the link."""

    manifest: Manifest
    signed: bytes
    authority: bytes
    clock_ahead_s: float
    """How far the authority's clock is ahead of this computer's."""

    def verifier(self, now: Callable[[], float]) -> Callable[[bytes], Pass]:
        """Return what verifies a pass of this collaboration at the authority's time."""
        return lambda der: verify_pass(der, self.manifest.authority_id, self.manifest.id, now() + self.clock_ahead_s)


async def introduce(link: Link, now: Callable[[], float]) -> Introduced:
    """Get manifest, authority and signed time over a connection that is not trusted yet.

    Raises:
        NotTrusted: they are not what the link names.
        BadInput: what the backbone holds is not a manifest.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    nonce = secrets.token_bytes(TIME_NONCE_BYTES)
    async with session_with(link, context) as session:
        signed = await got(session, "/v1/manifest", MANIFEST_BYTES_MAX)
        authority = await got(session, "/v1/authority", MANIFEST_BYTES_MAX)
        time = await got(session, f"/v1/time/{nonce.hex()}", MANIFEST_BYTES_MAX)
    manifest = read_manifest(signed, Ed25519Verifier())
    if manifest.id != link.manifest_id:
        raise NotTrusted(
            "The backbone offers another collaboration than the link names.", hint="Ask the organiser for the link."
        )
    verify_authority(authority, manifest.authority_id)
    return Introduced(manifest, signed, authority, read_time(time, nonce, manifest.authority_id) - now())


def session_with(link: Link, context: ssl.SSLContext) -> aiohttp.ClientSession:
    """Return a session with the backbone of a link, within `TIMEOUT_S` a request."""
    return aiohttp.ClientSession(
        link.base_url,
        connector=aiohttp.TCPConnector(ssl=context),
        timeout=aiohttp.ClientTimeout(total=TIMEOUT_S),
    )


def trusting(authority: bytes, proven: Callable[[bytes], Pass]) -> ssl.SSLContext:
    """Trusts a holder of the authority's pass for a backbone; names of hosts mean nothing here.

    The connection ends with the handshake, before the invitation is sent, if the pass is another one.

    Args:
        authority: The authority's certificate.
        proven: Verifies a pass at the authority's time.
    """

    class BackboneOnly(ssl.SSLObject):
        """One connection, whose handshake includes the check of the server's pass."""

        def do_handshake(self) -> None:
            super().do_handshake()
            try:
                found = proven(self.getpeercert(binary_form=True) or b"")
            except ProofProblem as error:
                raise ssl.SSLCertVerificationError(str(error)) from error
            if found.role is not PassRole.BACKBONE:
                raise ssl.SSLCertVerificationError(f"The pass of {found.username} is not a backbone's.")

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.sslobject_class = BackboneOnly
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    # The time is checked above, by the authority's clock: the clock of this computer may be wrong.
    context.verify_flags = ssl.VerifyFlags(context.verify_flags | NO_CHECK_TIME)
    context.load_verify_locations(cadata=authority)
    return context


async def got(session: aiohttp.ClientSession, path: str, bytes_max: int) -> bytes:
    """The backbone's answer to a request.

    Raises:
        RemoteProblem: it is an error, or longer than `bytes_max`.
    """
    async with session.get(path) as response:
        if response.status != 200:
            raise RemoteProblem(f"The backbone answered {response.status} to {path}.")
        return await read_answer(response, bytes_max)


async def read_answer(response: aiohttp.ClientResponse, bytes_max: int) -> bytes:
    """The body of an answer.

    Raises:
        RemoteProblem: it is longer than `bytes_max`.
    """
    data = bytearray()
    async for piece in response.content.iter_chunked(64 * 1024):
        data += piece
        if len(data) > bytes_max:
            raise RemoteProblem(f"The backbone's answer to {response.url.path} is longer than {bytes_max} bytes.")
    return bytes(data)
