"""A look at what a link leads to, before anybody joins: nothing is kept, no pass is asked for, no folder is read."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import aiohttp
import msgspec

from core.backbone.desk_messages import (
    GRANT_BYTES_MAX,
    NEWER,
    OLDER,
    REFUSALS,
    SITES,
    CollaborationNow,
    InvitationCheck,
)
from core.backbone.link import Link
from core.backbone.support import FoundedEarlier, check_manifest
from core.base.manifest import Manifest
from core.base.problems import BadInput, NotTrusted, RemoteProblem, Sentence, WireProblem
from core.base.wire import PROTOCOL, Schema
from core.joining.introduction import (
    TIMEOUT_S,
    UNANSWERED,
    Impostor,
    Introduced,
    TurnedAway,
    at_first,
    read_answer,
    session_with,
    trusting,
)
from core.joining.sign_in import check_site

UPDATE: Final = "Update Potluck, then open the link again."
REFUSED: Final = frozenset({"link.withdrawn", "link.expired", "link.full", "link.closed", NEWER, OLDER})
"""Codes of refusals that a backbone may give; any other one says that it is closed."""
NOW: Final = Schema(CollaborationNow, named="the present state", bytes_max=1024, form="json")


class LinkProblem(TurnedAway):
    """A link that leads nowhere now.

    Args:
        why: Completes the code `link.WHY`.
        message: The same as a sentence.
        hint: What to do.
    """

    def __init__(self, why: str, message: str | Sentence, /, *values: object, hint: str | Sentence) -> None:
        super().__init__(message, *values, hint=hint)
        self.code = f"link.{why}"


@dataclass(frozen=True, slots=True)
class Invited:
    """What a link leads to, before anybody has joined."""

    manifest: Manifest
    signed: bytes
    """The manifest as its file has it."""
    download_bytes: int
    """Size of the collaboration's files, as the backbone says."""
    present: CollaborationNow | None = None
    """What goes on there, as the backbone says; None: it does not."""
    site: str = ""
    """Address of the page at which people sign in, where a newcomer has to; empty: a link's invitation lets them in."""


async def look(link: Link, now: Callable[[], float], *, member: bool = False, signs_in: bool = False) -> Invited:
    """Ask the backbone what the link leads to.

    Args:
        link: Link of the collaboration.
        now: Unix seconds.
        member: This computer is in the collaboration already, so that its invitation may have ended.
        signs_in: The person signs in, whether or not there is an invitation.

    Raises:
        NotTrusted: the backbone offers another collaboration, one that is not signed as its manifest says, or an
            address at which nobody should sign in.
        LinkProblem: the invitation lets nobody in, the collaboration has ended, or it needs another version; its code
            tells which.
    """

    async def seen(to: Link, introduced: Introduced) -> Invited:
        async with session_with(to, trusting(introduced.issuers, introduced.verifier(now))) as session:
            site = await site_of(session) if signs_in or not (member or link.invite) else ""
            try:
                present = await _present(session, to)
            except LinkProblem as problem:
                if not (member and problem.code.removeprefix("link.") in {"withdrawn", "expired", "full", "closed"}):
                    raise
                return Invited(introduced.manifest, introduced.signed, 0)
            async with asyncio.timeout(TIMEOUT_S):
                sizes = [await _blob_bytes(session, name) for name in set(introduced.manifest.blobs.values())]
        return Invited(introduced.manifest, introduced.signed, sum(sizes), present, site)

    try:
        invited = await at_first(link, now, seen)
    except Impostor as problem:
        if not isinstance(problem.__cause__, BadInput):
            raise
        raise LinkProblem("newer", "This version of Potluck cannot read the collaboration.", hint=UPDATE) from problem
    except UNANSWERED as error:
        hint = "Check the link and your connection, and try again later."
        raise LinkProblem("unreachable", "No backbone answers at {where}.", link.where, hint=hint) from error
    _check(invited.manifest, invited.present)
    return invited


def _check(manifest: Manifest, present: CollaborationNow | None) -> None:
    """Refuse what this version cannot take part in, or nobody can any more.

    Raises:
        LinkProblem: so it is.
    """
    try:
        check_manifest(manifest)
    except FoundedEarlier as problem:
        raise LinkProblem("older", problem.sentence, hint=problem.advice) from problem
    except BadInput as problem:
        raise LinkProblem("newer", problem.sentence, hint=UPDATE) from problem
    if present is not None and manifest.last_epoch is not None and present.epoch >= manifest.last_epoch:
        message = "{name} has come to its end; there is nothing left to compute."
        hint = "Ask the organiser for the link of another collaboration."
        raise LinkProblem("ended", message, manifest.name, hint=hint)


async def _present(session: aiohttp.ClientSession, link: Link) -> CollaborationNow | None:
    """What goes on there; None: the backbone is of a version that does not say.

    Raises:
        LinkProblem: it lets nobody in by this link.
    """
    question = msgspec.json.encode(InvitationCheck(link.invite, PROTOCOL))
    async with session.post("/v1/invitation", data=question) as response:
        if response.status in {404, 405}:
            return None
        body = await read_answer(response, GRANT_BYTES_MAX)
        try:
            if response.status == 200:
                return NOW.decode(body)
            refusal = REFUSALS.decode(body)
        except WireProblem as error:
            raise RemoteProblem("The backbone answered something unreadable ({status}).", response.status) from error
    known = refusal.code in REFUSED
    why = refusal.code.removeprefix("link.") if known else "closed"
    raise LinkProblem(why, refusal.message, hint=UPDATE if refusal.code == NEWER else refusal.hint)


async def site_of(session: aiohttp.ClientSession) -> str:
    """Where people sign in.

    Raises:
        LinkProblem: nowhere.
        NotTrusted: where nobody should.
    """
    async with session.get("/v1/site") as response:
        body = await read_answer(response, GRANT_BYTES_MAX) if response.status == 200 else b"{}"
    try:
        site = SITES.decode(body).site
    except WireProblem as error:
        raise RemoteProblem("The backbone answered something unreadable ({status}).", response.status) from error
    if not site:
        hint = "Copy the whole of the link, or ask the organiser for one with an invitation."
        raise LinkProblem("no_invitation", "This link has no invitation, and nobody signs in there.", hint=hint)
    return check_site(site)


async def _blob_bytes(session: aiohttp.ClientSession, name: str) -> int:
    async with session.head(f"/v1/blobs/{name}") as response:
        return response.content_length or 0


def wanted_folder(manifest: Manifest) -> str:
    """The folder or file of a volunteer's computer that a manifest names, the first of them; empty: none."""
    return next((source.path for source in manifest.sources if source.path), "")


def check_source(manifest: Manifest, allowed: Path | None) -> None:
    """A manifest comes from a stranger: it reads nothing on this computer that the person has not named.

    What the worst organiser gains: a sentence that names any text of up to 80 letters.

    Args:
        manifest: Manifest of the collaboration.
        allowed: The folder that the person named, absolute; None: none.

    Raises:
        NotTrusted: it wants another folder.
    """
    for source in manifest.sources:
        if source.path and (allowed is None or source.path != str(allowed)):
            message = "This collaboration wants to read the folder {path} on this computer."
            hint = "If you trust its organiser, allow it with --text and the folder's name."
            raise NotTrusted(message, repr(source.path[:80]), hint=hint)
