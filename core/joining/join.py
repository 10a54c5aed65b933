"""Joining a collaboration by its link: manifest, blobs and pass, each checked, each kept for the next start."""

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Final

import aiohttp
import msgspec

from core.api.sentence import Sentence, later
from core.api.verdict import Verdict, not_connected
from core.backbone import desk_messages as messages
from core.backbone.kept_pass import MANIFEST, KeptPass, KeptPasses
from core.backbone.link import Link, with_desks
from core.backbone.refusals import NameTaken
from core.backbone.revocations import shut_out
from core.backbone.support import check_manifest
from core.base.ids import AccountId, PeerId
from core.base.manifest import Manifest
from core.base.names import usable_name, with_digits
from core.base.problems import BadInput, NotTrusted, Problem, ProofProblem, RemoteProblem, ShutOut, WireProblem
from core.base.signing import KeyPair
from core.base.wire import PROTOCOL
from core.joining.blobs import fetch_blobs, has_all
from core.joining.introduction import (
    NOT_A_BACKBONE,
    OTHER_PROTOCOLS,
    UNANSWERED,
    Impostor,
    Introduced,
    at_first,
    read_answer,
    session_with,
    trusting,
)
from core.joining.look import site_of
from core.joining.refused import SignInProblem
from core.joining.sign_in import MODERATOR_S, ModeratorAsked, check_site, keep_sign_in, kept_sign_in
from core.joining.silence import heard
from core.net.addresses.interfaces import has_way
from core.net.admission import Admission
from core.net.identity.issuers import issuers_of
from core.net.identity.passes import check_pass, pass_request
from core.system.atomic_files import write_atomic

ASK_S: Final = 3.0
"""How long a backbone may take to answer before a pass that was kept is used, seconds."""


@dataclass(frozen=True, slots=True)
class JoinedCollaboration:
    """What a peer needs to take part."""

    manifest: Manifest
    manifest_path: Path
    blobs: Path
    grant: messages.PassGrant
    """What the backbone has said: this peer's pass, and who is there."""
    name: str
    """This peer's name in the collaboration, as its pass has it."""
    account: AccountId
    """The person of this computer, as its pass has it."""
    records: bytes
    """What moderators have said, `AuthorityRecords.to_bytes`; empty: nothing."""
    clock_ahead_s: float
    """How far the backbone's clock is ahead of this peer's, seconds."""
    kept_until: float | None = None
    """When the pass ends, Unix seconds, where no backbone has answered and a kept one is used; else None."""

    @property
    def backbone(self) -> PeerId | None:
        """The backbone that let this peer in; None: it has not said who it is."""
        return PeerId(self.grant.contacts[0].peer) if self.grant.contacts else None

    @property
    def page(self) -> str:
        """Address of the page for everybody; empty: the backbone has told none that a browser should open."""
        with contextlib.suppress(NotTrusted):
            return check_site(self.grant.page)
        return ""

    def admission(self, key: KeyPair) -> Admission:
        """What lets this peer, with its key, among the others."""
        return Admission(
            keys=key,
            pass_der=self.grant.certificate,
            authority_id=self.manifest.authority_id,
            manifest_id=self.manifest.id,
            records=self.records,
        )


class Joining:
    """Asks a backbone's welcome desk.

    Args:
        folder: Where this collaboration's things are kept.
        blobs: Where blobs are kept, named by their digests.
        willing: Raises where this computer cannot, or may not, take part: then no use of the invitation is spent.
        wall: This computer's own clock, Unix seconds, by which its next start will begin; None: the one that is told.
    """

    def __init__(
        self,
        *,
        link: Link,
        key: KeyPair,
        folder: Path,
        blobs: Path,
        willing: Callable[[Manifest], None] = lambda _: None,
        wall: Callable[[], float] | None = None,
    ) -> None:
        self._willing = willing
        self._wall = wall
        self.link = link
        """Leads to the collaboration."""
        self._key = key
        self._folder = folder
        self._blobs = blobs
        self.rest: Callable[[float], Awaitable[object]] = asyncio.sleep
        """Waits a number of seconds before the backbone is asked again, or less if a person does not want to wait."""
        self.kept = KeptPasses(folder, manifest_id=link.manifest_id, me=key.peer_id)
        """What lets this peer take part while no backbone answers."""
        self.passed_over: dict[str, Sentence] = {}
        """Addresses of the link at which something else was, and why they were passed over."""
        self._ended = False
        """Whether a pass was kept whose time is over, or has not begun."""

    async def begin(
        self,
        *,
        username: str,
        device: str,
        now: Callable[[], float],
        random: Random,
        waiting: Callable[[Verdict], None],
    ) -> JoinedCollaboration:
        """Like `join`, but where no backbone of this collaboration answers within `ASK_S`, go by what was kept.

        Raises:
            NotTrusted: as `join`, or the organiser has shut this computer out.
        """
        silent = asyncio.Event()

        def told(verdict: Verdict) -> None:
            silent.set()
            waiting(verdict)

        asking = asyncio.create_task(self.join(username=username, device=device, now=now, random=random, waiting=told))
        silence = asyncio.create_task(silent.wait())
        try:
            await asyncio.wait({asking, silence}, timeout=ASK_S, return_when=asyncio.FIRST_COMPLETED)
            resumed = None if _has_answered(asking) else await self._resumed(now)
            return await asking if resumed is None or _has_answered(asking) else resumed
        finally:
            asking.cancel()
            silence.cancel()

    async def join(
        self,
        *,
        username: str,
        device: str,
        now: Callable[[], float],
        random: Random,
        waiting: Callable[[Verdict], None] = lambda _: None,
    ) -> JoinedCollaboration:
        """Get everything; tries again, with back-off, while the backbone does not answer.

        Args:
            username: The wanted name, which `core.base.names.usable_name` has made.  A peer that was let in before
                keeps its name; where the name is somebody else's, this peer gets it with four digits of its key.
            device: A name for this computer.
            now: Unix seconds.
            random: Jitter.
            waiting: Told that the backbone does not answer.

        Raises:
            NotTrusted: something is not what its digest or signature says, or the invitation is not valid.
            BadInput: what the backbone holds is not a manifest.
        """
        delay_s, where = 0.5, self.link.where
        while True:
            try:
                return await self.try_once(username=username, device=device, now=now)
            except ModeratorAsked as asked:
                waiting(not_connected("backbone", stage=asked.message, where=where))
                delay_s = MODERATOR_S
            except RemoteProblem as problem:
                stage = later("{whose} is not ready yet: {why}")
                waiting(not_connected("backbone", stage=stage, where=where, why=problem.sentence))
            except UNANSWERED as error:
                waiting(not_connected("backbone", stage=self._silence(error), where=where))
            await self.rest(delay_s * random.uniform(0.5, 1.5))
            delay_s = min(2 * delay_s, 30.0)

    def _silence(self, error: Exception) -> str:
        """Why no backbone answers, and whose computer is the cause, as far as that is seen from here."""
        if not any(has_way(each.host) for each in self.link.each):
            return later("{whose} does not answer: this computer has no network.")
        if isinstance(error, aiohttp.ClientConnectorDNSError) and error.errno == socket.EAI_NONAME:
            return later("No computer is called {where}, as the link says. It is looked for again and again.")
        ended = later(
            "By this computer's clock, its pass does not hold now. Waiting for the backbone at {where} to renew it."
        )
        return ended if self._ended else later("{whose} does not answer.")

    async def try_once(self, *, username: str, device: str, now: Callable[[], float]) -> JoinedCollaboration:
        """Like `join`, but fails when the backbone does not answer."""
        let_in = partial(self._let_in, username=username, device=device, now=now)
        link, known = self.link, self.kept.known()
        link, lists = (link, b"") if known is None else (with_desks(link, known.roles.issuers), known.to_bytes())
        return await at_first(link, now, let_in, known=lists, passed_over=self._pass_over)

    async def _let_in(
        self, to: Link, introduced: Introduced, *, username: str, device: str, now: Callable[[], float]
    ) -> JoinedCollaboration:
        """Get everything from the backbone at one address, and keep it."""
        manifest, proven = introduced.manifest, introduced.verifier(now)
        check_manifest(manifest)
        self._willing(manifest)
        write_atomic(self._folder / MANIFEST, introduced.signed)
        async with session_with(to, trusting(introduced.issuers, proven)) as session:
            # A desk that reads the pass needs no invitation, with which it could let others in at the link's desk.
            own = "" if self.kept.certificate and to not in self.link.each else self.link.invite
            await self._hold_place(session, own)
            heard(self._folder)
            await fetch_blobs(session, manifest.blobs.values(), self._blobs, or_elsewhere=bool(self.link.also))
            known = None if self.link.invite else await kept_sign_in(self._folder)
            invite, name = (known.ticket, usable_name(known.name)) if known else (own, "")
            try:
                grant = await self._ask_pass(session, name or username, device, invite)
            except NameTaken:
                grant = await self._ask_pass(session, with_digits(name or username, self._key.peer_id), device, invite)
            except NotTrusted as problem:  # a desk of the moderators' list need not know a link's invitation
                if isinstance(problem, ShutOut) or to in self.link.each:
                    raise
                raise RemoteProblem(problem.sentence) from problem
        shown = proven(grant.certificate)
        if shown.peer != self._key.peer_id:
            raise RemoteProblem("The backbone gave the pass of another computer.")
        grant = msgspec.structs.replace(grant, contacts=_with_host(grant.contacts, to.host))
        records = self.kept.newest_records(manifest, grant.records, now() + introduced.clock_ahead_s)
        kept = KeptPass(manifest, grant, shown, introduced.clock_ahead_s - self._wall_ahead_s(now))
        self.kept.keep(kept)
        keep_sign_in(self._folder, None)
        return self._joined(kept, records.to_bytes(), introduced.clock_ahead_s)

    async def _resumed(self, now: Callable[[], float]) -> JoinedCollaboration | None:
        """Take part by what was kept; None: it does not let this peer take part now.

        No file is read or written beside this event loop, where a backbone's answer may come meanwhile.

        Raises:
            NotTrusted: the organiser has shut this computer out.
            BadInput: the collaboration is not of this version.
        """
        kept = self.kept.read()
        if kept is None or not await asyncio.to_thread(has_all, kept.manifest.blobs.values(), self._blobs):
            return None
        check_manifest(kept.manifest)
        self._willing(kept.manifest)
        records = self.kept.newest_records(kept.manifest, kept.grant.records, None)
        shut = records.shut_out(now() + kept.clock_ahead_s)
        if self._key.peer_id in shut or kept.shown.account in records.decisions.banned:
            raise shut_out()
        self._ended = kept.shown.begins < records.decisions.passes_since
        if self._ended:
            return None
        issuers = issuers_of(records)
        # This computer's clock may be as wrong as it was, or have been set since.  The earlier time comes first: others
        # move a clock forward (`Clock.heard`), and never back.
        for ahead_s in sorted((kept.clock_ahead_s + self._wall_ahead_s(now), 0.0)):
            with contextlib.suppress(ProofProblem):
                check_pass(kept.shown, issuers, now() + ahead_s)
                return replace(self._joined(kept, records.to_bytes(), ahead_s), kept_until=kept.shown.expires)
        self._ended = True
        return None

    def _wall_ahead_s(self, now: Callable[[], float]) -> float:
        return 0.0 if self._wall is None else self._wall() - now()

    def _joined(self, kept: KeptPass, records: bytes, clock_ahead_s: float) -> JoinedCollaboration:
        return JoinedCollaboration(
            kept.manifest,
            self._folder / MANIFEST,
            self._blobs,
            kept.grant,
            kept.shown.username,
            kept.shown.account,
            records,
            clock_ahead_s,
        )

    async def _hold_place(self, session: aiohttp.ClientSession, invite: str) -> None:
        """Have the invitation wait while files come.  Whether it holds, the answer about the pass says."""
        check = messages.InvitationCheck(invite, PROTOCOL, self._key.peer_id)
        async with session.post("/v1/invitation", data=msgspec.json.encode(check)):
            pass

    def _pass_over(self, where: str, why: Exception) -> None:
        self.passed_over[where] = why.sentence if isinstance(why, Problem) else Sentence(NOT_A_BACKBONE)

    async def _ask_pass(
        self, session: aiohttp.ClientSession, username: str, device: str, invite: str
    ) -> messages.PassGrant:
        csr, shown = pass_request(self._key), self.kept.certificate
        request = messages.PassRequest(invite, csr, username, device, PROTOCOL, shown)
        async with session.post("/v1/pass", data=msgspec.json.encode(request)) as response:
            body = await read_answer(response, messages.GRANT_BYTES_MAX)
            try:
                if response.status == 200:
                    return messages.GRANTS.decode(body)
                refusal = messages.REFUSALS.decode(body)
            except WireProblem as error:
                unreadable = "The backbone answered something unreadable ({status})."
                raise RemoteProblem(unreadable, response.status) from error
        if response.status in {429, 503}:
            raise RemoteProblem(refusal.message)
        if not self.link.invite and refusal.code in {"link.withdrawn", "link.expired"}:
            if not invite:
                await site_of(session)
            raise SignInProblem("withdrawn" if invite else "needed")
        raise _refused(refusal)


def _refused(refusal: messages.JoinRefusal) -> Problem:
    kinds: dict[str, type[Problem]] = {each.code: each for each in (BadInput, NameTaken, ShutOut)}
    kinds |= OTHER_PROTOCOLS
    return kinds.get(refusal.code, NotTrusted)(refusal.message, hint=refusal.hint)


def _has_answered(asking: asyncio.Task[JoinedCollaboration]) -> bool:
    """Whether a backbone of the collaboration has answered, or this computer cannot take part."""
    return asking.done() and not isinstance(asking.exception(), Impostor)


def _with_host(contacts: Sequence[messages.KnownPeer], host: str) -> list[messages.KnownPeer]:
    """The contacts that a backbone names, and itself at the host where it has answered, should that be another one."""
    here = [messages.KnownPeer(each.peer, host, each.port) for each in contacts[:1] if each.host != host]
    return [*contacts[:1], *here, *contacts[1:]]
