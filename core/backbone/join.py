"""Joining a collaboration by its link: manifest, blobs and pass, each checked, each kept for the next start."""

import asyncio
import secrets
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

import aiohttp
import msgspec

from core.backbone.admission_log import NameTaken
from core.backbone.blobs import fetch_blobs
from core.backbone.link import Link
from core.backbone.names import NAME_CHARS_MAX
from core.backbone.signed_time import TIME_NONCE_BYTES, read_time
from core.backbone.support import check_averaging
from core.backbone.welcome import (
    GRANT_BYTES_MAX,
    GRANTS,
    REFUSALS,
    KnownPeer,
    PassGrant,
    PassRequest,
)
from core.base.ids import PeerId
from core.base.manifest import MANIFEST_BYTES_MAX, Manifest, read_manifest
from core.base.problems import BadInput, NotTrusted, ProofProblem, RemoteProblem, UserProblem, WireProblem
from core.base.signing import Ed25519Verifier, KeyPair
from core.base.wire import PROTOCOL
from core.net.admission import Admission
from core.net.passes import USERNAME_BYTES_MAX, Pass, PassRole, pass_request, verify_authority, verify_pass
from core.net.tls import NO_CHECK_TIME
from core.system.atomic_files import write_atomic

TIMEOUT_S = 20.0


@dataclass(frozen=True, slots=True)
class JoinedCollaboration:
    """What a peer needs to take part."""

    manifest: Manifest
    manifest_path: Path
    blobs: Path
    authority: bytes
    """The authority's certificate, DER."""
    certificate: bytes
    """This peer's pass, DER."""
    contacts: list[KnownPeer]
    """The backbone itself first."""
    name: str
    """This peer's name in the collaboration, as its pass has it."""
    names: dict[PeerId, str]
    """Of others that the backbone has let in."""
    records: bytes
    """The newest records of the authority, signed; empty: there are none."""
    clock_ahead_s: float
    """How far the backbone's clock is ahead of this peer's, seconds."""

    @property
    def backbone(self) -> PeerId | None:
        """The backbone that let this peer in; None: it has not said who it is."""
        return PeerId(self.contacts[0].peer) if self.contacts else None

    def admission(self, key: KeyPair) -> Admission:
        """What lets this peer, with its key, among the others."""
        return Admission(
            keys=key,
            pass_der=self.certificate,
            authority_der=self.authority,
            manifest_id=self.manifest.id,
            records=self.records,
        )


class Joining:
    """Asks a backbone's welcome desk.

    Args:
        folder: Where this collaboration's things are kept.
        blobs: Where blobs are kept, named by their digests.
    """

    def __init__(self, *, link: Link, key: KeyPair, folder: Path, blobs: Path) -> None:
        self._link = link
        self._key = key
        self._folder = folder
        self._blobs = blobs

    async def join(
        self,
        *,
        username: str,
        device: str,
        now: Callable[[], float],
        random: Random,
        waiting: Callable[[str], None] = lambda _: None,
    ) -> JoinedCollaboration:
        """Get everything; tries again, with back-off, while the backbone does not answer.

        Args:
            username: The wanted name, which `core.backbone.names.usable_name` has made.  A peer that was let in before
                keeps its name; where the name is somebody else's, this peer gets it with four digits of its key.
            device: A name for this computer.
            now: Unix seconds.
            random: Jitter.
            waiting: Told, in a sentence, that the backbone does not answer.

        Raises:
            NotTrusted: something is not what its digest or signature says, or the invitation is not valid.
            BadInput: what the backbone holds is not a manifest.
        """
        delay_s = 0.5
        while True:
            try:
                return await self.try_once(username=username, device=device, now=now)
            except aiohttp.ClientConnectorCertificateError as error:
                raise NotTrusted(
                    "The server at the backbone's address cannot prove that it is this collaboration's backbone.",
                    hint="Ask the organiser for a new link.",
                ) from error
            except RemoteProblem as problem:
                waiting(f"The backbone at {self._link.where} is not ready yet: {problem.message}")
            except aiohttp.ClientConnectorDNSError:
                waiting(
                    f"No computer is called {self._link.where}, as the link says. It is looked for again and again."
                )
            except (aiohttp.ClientError, TimeoutError, OSError):
                waiting(f"Waiting for the backbone at {self._link.where}, which does not answer yet.")
            await asyncio.sleep(delay_s * random.uniform(0.5, 1.5))
            delay_s = min(2 * delay_s, 30.0)

    async def try_once(self, *, username: str, device: str, now: Callable[[], float]) -> JoinedCollaboration:
        """Like `join`, but fails when the backbone does not answer."""
        introduced = await _introduce(self._link, now)
        manifest, authority = introduced.manifest, introduced.authority
        check_averaging(manifest.averaging)
        proven = introduced.verifier(now)
        write_atomic(self._folder / "manifest.json", introduced.signed)
        async with _session(self._link, _trusting(authority, proven)) as session:
            await fetch_blobs(session, manifest.blobs.values(), self._blobs)
            try:
                grant = await self._ask_pass(session, username, device)
            except NameTaken:
                grant = await self._ask_pass(session, self._other_name(username), device)
        found = proven(grant.certificate)
        if found.peer != self._key.peer_id:
            raise RemoteProblem("The backbone gave the pass of another computer.")
        return JoinedCollaboration(
            manifest,
            self._folder / "manifest.json",
            self._blobs,
            authority,
            grant.certificate,
            grant.contacts,
            found.username,
            {PeerId(peer): name for peer, name in grant.names},
            grant.records,
            introduced.clock_ahead_s,
        )

    async def _ask_pass(self, session: aiohttp.ClientSession, username: str, device: str) -> PassGrant:
        request = PassRequest(self._link.invite, pass_request(self._key), username, device, PROTOCOL)
        async with session.post("/v1/pass", data=msgspec.json.encode(request)) as response:
            body = await _read(response, GRANT_BYTES_MAX)
            try:
                if response.status == 200:
                    return GRANTS.decode(body)
                refusal = REFUSALS.decode(body)
            except WireProblem as error:
                raise RemoteProblem(f"The backbone answered something unreadable ({response.status}).") from error
        if response.status in {429, 503}:
            raise RemoteProblem(refusal.message)
        kind = next((kind for kind in (BadInput, NameTaken) if kind.code == refusal.code), NotTrusted)
        raise kind(refusal.message, hint=refusal.hint)

    def _other_name(self, name: str) -> str:
        """The name with four digits of this peer's key, which are of no alphabet."""
        digits = f" {int.from_bytes(self._key.peer_id[:4], 'big') % 10_000:04}"
        room_bytes = USERNAME_BYTES_MAX - len(digits)
        return name[: NAME_CHARS_MAX - len(digits)].encode()[:room_bytes].decode(errors="ignore").rstrip() + digits


@dataclass(frozen=True, slots=True)
class Invited:
    """What a link leads to, before anybody has joined."""

    manifest: Manifest
    signed: bytes
    """The manifest as its file has it."""
    download_bytes: int
    """Size of the collaboration's files, as the backbone says."""


async def look(link: Link, now: Callable[[], float]) -> Invited:
    """Ask the backbone what the link leads to; nothing is kept, and no pass is asked for.

    Args:
        link: Of the collaboration.
        now: Unix seconds.

    Raises:
        NotTrusted: the backbone offers another collaboration, or one that is not signed as its manifest says.
        UserProblem: the backbone does not answer.
    """
    try:
        introduced = await _introduce(link, now)
        async with _session(link, _trusting(introduced.authority, introduced.verifier(now))) as session:
            sizes = [await _blob_bytes(session, name) for name in set(introduced.manifest.blobs.values())]
    except (RemoteProblem, aiohttp.ClientError, TimeoutError, OSError) as error:
        raise UserProblem(
            f"The backbone at {link.where} does not answer as one.",
            hint="Check the link and your connection, and try again later.",
        ) from error
    return Invited(introduced.manifest, introduced.signed, sum(sizes))


@dataclass(frozen=True, slots=True)
class _Introduced:
    """What a backbone says before it is trusted, checked against the link."""

    manifest: Manifest
    signed: bytes
    authority: bytes
    clock_ahead_s: float
    """How far the authority's clock is ahead of this computer's."""

    def verifier(self, now: Callable[[], float]) -> Callable[[bytes], Pass]:
        """Return what verifies a pass of this collaboration at the authority's time."""
        return lambda der: verify_pass(der, self.manifest.authority_id, self.manifest.id, now() + self.clock_ahead_s)


async def _introduce(link: Link, now: Callable[[], float]) -> _Introduced:
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
    async with _session(link, context) as session:
        signed = await _get(session, "/v1/manifest", MANIFEST_BYTES_MAX)
        authority = await _get(session, "/v1/authority", MANIFEST_BYTES_MAX)
        time = await _get(session, f"/v1/time/{nonce.hex()}", MANIFEST_BYTES_MAX)
    manifest = read_manifest(signed, Ed25519Verifier())
    if manifest.id != link.manifest_id:
        raise NotTrusted(
            "The backbone offers another collaboration than the link names.", hint="Ask the organiser for the link."
        )
    verify_authority(authority, manifest.authority_id)
    return _Introduced(manifest, signed, authority, read_time(time, nonce, manifest.authority_id) - now())


async def _blob_bytes(session: aiohttp.ClientSession, name: str) -> int:
    async with session.head(f"/v1/blobs/{name}") as response:
        return response.content_length or 0


def _session(link: Link, context: ssl.SSLContext) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        link.base_url,
        connector=aiohttp.TCPConnector(ssl=context),
        timeout=aiohttp.ClientTimeout(total=TIMEOUT_S),
    )


def _trusting(authority: bytes, proven: Callable[[bytes], Pass]) -> ssl.SSLContext:
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


async def _get(session: aiohttp.ClientSession, path: str, bytes_max: int) -> bytes:
    async with session.get(path) as response:
        if response.status != 200:
            raise RemoteProblem(f"The backbone answered {response.status} to {path}.")
        return await _read(response, bytes_max)


async def _read(response: aiohttp.ClientResponse, bytes_max: int) -> bytes:
    data = bytearray()
    async for piece in response.content.iter_chunked(64 * 1024):
        data += piece
        if len(data) > bytes_max:
            raise RemoteProblem(f"The backbone's answer to {response.url.path} is longer than {bytes_max} bytes.")
    return bytes(data)
