"""What a backbone says of itself, checked against a link, and the connections to it before and after that."""

import asyncio
import math
import secrets
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, TypeVar

import aiohttp

from core.api import updates
from core.authority.records import LISTS_BYTES_MAX, AuthorityRecords, told_records
from core.backbone import desk_messages
from core.backbone.link import Link
from core.backbone.signed_time import TIME_NONCE_BYTES, read_time
from core.base.manifest import MANIFEST_BYTES_MAX, Manifest, read_manifest
from core.base.problems import BadInput, NotTrusted, Problem, ProofProblem, RemoteProblem, UserProblem, later
from core.base.signing import Ed25519Verifier
from core.net.identity.issuers import Issuers, issuers_of
from core.net.identity.passes import Pass, PassRole, verify_pass
from core.net.identity.tls import NO_CHECK_TIME

TIMEOUT_S = 20.0
STAGGER_S: Final = 0.25
"""Seconds between the first questions to the addresses of a link (RFC 8305, section 8: 100 ms to 2 s)."""
UNANSWERED: Final = (RemoteProblem, aiohttp.ClientError, TimeoutError, OSError)
"""What is raised where no backbone answers at an address, or none that is ready."""
NOT_A_BACKBONE: Final = later(
    "The server at the backbone's address cannot prove that it is this collaboration's backbone."
)
RETIRED: Final = later("The moderators have ended this backbone: it lets nobody in any more.")
T = TypeVar("T")


class TurnedAway(UserProblem):
    """What one backbone has answered: another one of the link may answer otherwise."""


class OtherProtocol(BadInput, TurnedAway):
    """The backbone's protocol is not this program's."""


class NewerProtocol(OtherProtocol):
    """The backbone's protocol is newer than this program's."""

    code = updates.NEWER


OTHER_PROTOCOLS: Final = {desk_messages.OLDER: OtherProtocol, desk_messages.NEWER: NewerProtocol}
"""By the code of a refusal."""


class Impostor(NotTrusted):
    """At no address of a link can be proven that its collaboration is there; anybody may have got them since."""

    @classmethod
    def after(cls, error: Exception) -> "Impostor":
        """What a person hears of the error at one address, which stays its cause."""
        made = cls(NOT_A_BACKBONE, hint="Ask the organiser for a new link.")
        if isinstance(error, Problem):
            made = cls(error.sentence, hint=error.advice)
        made.__cause__ = error
        return made


@dataclass(frozen=True, slots=True)
class Introduced:
    """What a backbone says before it is trusted, checked against the link."""

    manifest: Manifest
    signed: bytes
    issuers: Issuers
    clock_ahead_s: float
    """How far the backbone's clock is ahead of this computer's."""

    def verifier(self, now: Callable[[], float]) -> Callable[[bytes], Pass]:
        """Return what verifies a pass of this collaboration at the backbone's time."""
        return lambda der: verify_pass(der, self.issuers, now() + self.clock_ahead_s)


class _Failure(IntEnum):
    """Why an address of a link does not help, what a person should hear of first."""

    OWN = 0
    """This computer cannot take part: the same at all addresses."""
    REFUSED = 1
    SILENT = 2
    IMPOSTOR = 3
    """Something else than the link's collaboration."""


async def at_first(
    link: Link,
    now: Callable[[], float],
    then: Callable[[Link, Introduced], Awaitable[T]],
    *,
    known: bytes = b"",
    passed_over: Callable[[str, Exception], None] = lambda _where, _why: None,
) -> T:
    """Ask the addresses of a link one after another, `STAGGER_S` apart; `then` goes on with the first that can.

    An address with something else than the link's collaboration is passed over while there are others.  A problem of
    this computer's own is the same at all of them, and ends the search.

    Args:
        link: With one address or several.
        now: Unix seconds.
        then: Goes on where a backbone has introduced itself, with the link to that address alone.
        known: What moderators have said, as far as it is known here.
        passed_over: Told which address is, and why.

    Returns:
        What `then` does.

    Raises:
        Impostor: of no address can be proven that the link's collaboration is there.
        Problem: of a backbone that refuses, if no other lets this computer in; or this computer's own.
        RemoteProblem: no backbone is ready; an error of aiohttp or OSError: none answers.
    """
    failed: list[tuple[_Failure, Exception]] = []

    async def ask(number: int, to: Link) -> tuple[Link, Introduced | Exception]:
        await asyncio.sleep(STAGGER_S * number)
        try:
            return to, await introduce(to, now, known)
        except (Problem, aiohttp.ClientError, OSError) as error:
            return to, error

    asked = [asyncio.create_task(ask(*one)) for one in enumerate(link.each)]
    try:
        for answer in asyncio.as_completed(asked):
            to, said = await answer
            try:
                if isinstance(said, Exception):
                    raise said
                return await then(to, said)
            except (Problem, aiohttp.ClientError, OSError) as error:
                failure = _failure(error, introduced=said is not error)
                if failure is _Failure.OWN:
                    raise
                failed.append((failure, error))
                if failure is _Failure.IMPOSTOR and link.also:
                    passed_over(to.where, error)
    finally:
        for task in asked:
            task.cancel()
    failure, first = min(failed, key=lambda one: one[0])
    raise Impostor.after(first) if failure is _Failure.IMPOSTOR else first


def _failure(error: Exception, *, introduced: bool) -> _Failure:
    """What an error tells of an address; `introduced` says whether a backbone has introduced itself there."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return _Failure.IMPOSTOR
    if isinstance(error, UNANSWERED):
        return _Failure.SILENT
    if not introduced:
        return _Failure.IMPOSTOR
    return _Failure.REFUSED if isinstance(error, (NotTrusted, TurnedAway)) else _Failure.OWN


async def introduce(link: Link, now: Callable[[], float], known: bytes = b"") -> Introduced:
    """Get manifest, issuers and signed time over a connection that is not trusted yet, from a link's first address.

    A newcomer knows no list of issuers but the one that it is given, each link of which has its signatures: a backbone
    may keep newer ones from it until it meets a member.

    Args:
        link: Names the collaboration.
        now: Unix seconds.
        known: What moderators have said, as far as it is known here.

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
        roles = await got(session, "/v1/roles", LISTS_BYTES_MAX, or_nothing=True)
        time = await got(session, f"/v1/time/{nonce.hex()}", MANIFEST_BYTES_MAX)
    manifest = read_manifest(signed, Ed25519Verifier())
    if manifest.id != link.manifest_id:
        raise NotTrusted(
            "The backbone offers another collaboration than the link names.", hint="Ask the organiser for the link."
        )
    said = read_time(time, nonce, manifest.authority_id)
    try:
        issuers = issuers_of(
            told_records(AuthorityRecords(manifest.authority_id, manifest.id), known, roles, said.time)
        )
    except RemoteProblem as problem:
        raise NotTrusted("The backbone gives false lists of moderators.", hint="Ask the organiser.") from problem
    if issuers.ends(said.issuer(manifest.authority_id)) != math.inf:
        raise NotTrusted(RETIRED, hint="Ask the organiser for a new link.")
    return Introduced(manifest, signed, issuers, said.time - now())


def session_with(link: Link, context: ssl.SSLContext) -> aiohttp.ClientSession:
    """Return a session with the backbone of a link, within `TIMEOUT_S` a request."""
    return aiohttp.ClientSession(
        link.base_url,
        connector=aiohttp.TCPConnector(ssl=context),
        timeout=aiohttp.ClientTimeout(total=TIMEOUT_S),
    )


def trusting(issuers: Issuers, proven: Callable[[bytes], Pass]) -> ssl.SSLContext:
    """Trusts a holder of an issuer's pass for a backbone; names of hosts mean nothing here.

    The connection ends with the handshake, before the invitation is sent, if the pass is another one.

    Args:
        issuers: The collaboration's.
        proven: Verifies a pass at the backbone's time.
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
    # The time is checked above, by the backbone's clock: the clock of this computer may be wrong.
    context.verify_flags = ssl.VerifyFlags(context.verify_flags | NO_CHECK_TIME)
    context.load_verify_locations(cadata=issuers.anchors)
    return context


async def got(session: aiohttp.ClientSession, path: str, bytes_max: int, *, or_nothing: bool = False) -> bytes:
    """The backbone's answer to a request.

    Args:
        session: With the backbone.
        path: What is asked for.
        bytes_max: Upper bound on the answer.
        or_nothing: Where a backbone of an earlier version has no such thing, the answer is empty.

    Raises:
        RemoteProblem: it is an error, or longer than `bytes_max`.
    """
    async with session.get(path) as response:
        if or_nothing and response.status == 404:
            return b""
        if response.status != 200:
            raise RemoteProblem("The backbone answered {status} to {path}.", response.status, path)
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
            raise RemoteProblem(
                "The backbone's answer to {path} is longer than {most} bytes.", response.url.path, bytes_max
            )
    return bytes(data)
