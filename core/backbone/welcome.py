"""The welcome desk: an HTTPS door where a newcomer gets the manifest, its blobs and an access pass (S000 I.5).

GET  /v1/manifest      the signed manifest; checked by the newcomer against the digest in its link
GET  /v1/authority     the issuer's certificate, for programs of earlier versions
GET  /v1/roles         the moderators' lists, which name further issuers; checked against the key in the manifest
GET  /v1/time/<nonce>  the time, signed by the issuer for this nonce in hex (core.backbone.signed_time)
GET  /v1/blobs/<hex>   a blob; checked against its digest
POST /v1/invitation    InvitationCheck in, CollaborationNow out: whether an invitation holds, and what goes on; a use is
                       held for a newcomer that names itself (core.backbone.admission_log)
GET  /v1/site          SiteHere: where people without an invitation sign in
POST /v1/device        AccountRequest in, AccountAnswer out: a member's own computers (core.backbone.account_desk)
POST /v1/admissions    LogRequest in, LogPage out: what another backbone has let in (core.backbone.log_copies)
POST /v1/moderator     ModeratorQuestion in, ModeratorAnswer out (core.backbone.moderators.moderator_desk)
POST /v1/pass          PassRequest in, PassGrant out: invitation, or a pass of another issuer that holds, and
                       certificate request for a short-lived pass

What the worst stranger gains: from one address so many answers about passes as `ASKED_PER_S` says, and so many new
passes or tries of invitations as `ADMITTED_S` says; the connections of `core.net.limits.guarded_server`.  The manifest
and its files are nobody's secret.
"""

import asyncio
import logging
import math
import ssl
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from statistics import median_low
from typing import Final, TypeVar

import msgspec
from aiohttp import web

from core.backbone import desk_messages as messages
from core.backbone.account_desk import AccountDesk
from core.backbone.admission_log import AdmissionLog, Newcomer
from core.backbone.authority import Authority, requested_key
from core.backbone.charter import Charter, CharterRecords
from core.backbone.log_copies import LOG_REQUESTS, LogCopies, LogRequest, shown_pass
from core.backbone.moderators.moderator_desk import ModeratorDesk
from core.backbone.refusals import closed, ended_here, other_protocol, refused
from core.backbone.revocations import household_mark, shut_out
from core.backbone.signed_time import TIME_NONCE_BYTES, TIMES
from core.backbone.ways.tickets import Tickets
from core.base.ids import PeerId
from core.base.machine import Trace
from core.base.problems import BadInput, Busy, NotTrusted, Problem, ProofProblem, WireProblem
from core.base.rate_limit import RateLimit, household, network
from core.base.wire import PROTOCOL, Schema
from core.net.limits.guarded_server import GuardedServer, listening_sockets
from core.net.listening import ANY, ANY6
from core.swarm.view import ParticipantView

_LOG = logging.getLogger(__name__)

REQUEST_S: Final = 5.0
"""Seconds for a request to arrive."""
ASKED_PER_S: Final = 2.0
ASKED_BURST: Final = 128
"""Requests for a pass of one address, with renewals: a household has few computers, a school behind one router has a
hundred, which renew every three hours, or 30 that join at once with three requests each."""
ADMITTED_S: Final = 30
ADMITTED_BURST: Final = 32
"""New passes and wrong invitations of one address, one in so many seconds: a class of 30 joins at once, a program that
invents people gets 120 an hour."""
HOUSEHOLDS_MAX: Final = 8192
"""Addresses that are counted apart, of 200 newcomers a second for `ADMITTED_S`; those beyond share one rate."""


FASTER: Final = 1000
"""A computer counts for at most so many times the speed of the one in the middle: as a server's card among laptops."""


def presence(view: ParticipantView) -> messages.CollaborationNow:
    """What a backbone's participant sees of its collaboration, for people who are not in it yet.

    What the worst member gains, whose speed nobody can check here: `FASTER` times that of another one.
    """
    speeds = [report.samples_per_s for peer, report in view.peers.items() if peer not in view.silent]
    most = FASTER * median_low([speed for speed in speeds if speed] or [0.0])
    together = min(sum(min(speed, most) for speed in speeds), math.nextafter(messages.SPEED_END, 0))
    return messages.CollaborationNow(len(speeds), together, view.followed.epoch if view.followed is not None else 0)


TOO_OFTEN: Final = messages.JoinRefusal(
    "too_often", "Too many computers at this address have asked to join.", "Wait for half a minute."
)
OUT_OF_ORDER: Final = messages.JoinRefusal("busy", "The backbone lets nobody in at present.", "Tell the organiser.")
Asked = TypeVar(
    "Asked",
    messages.InvitationCheck,
    messages.PassRequest,
    messages.AccountRequest,
    messages.ModeratorQuestion,
    LogRequest,
)


class WelcomeDesk:
    """Answers newcomers over HTTPS: the manifest, its blobs, the time, invitations and passes.

    Args:
        charter: The collaboration.
        authority: Issues the passes.
        admission_log: Who was let in.
        contacts: Peers to begin with.
        now: Unix seconds.
    """

    def __init__(
        self,
        *,
        charter: Charter,
        authority: Authority,
        admission_log: AdmissionLog,
        contacts: Callable[[], Sequence[messages.KnownPeer]],
        now: Callable[[], float],
        trace: Trace,
    ) -> None:
        self._charter = charter
        self._authority = authority
        self._admission_log = admission_log
        self._contacts = contacts
        self._records = CharterRecords(charter)
        self._accounts = AccountDesk(charter, admission_log, self._records, lambda: PeerId(contacts()[0].peer))
        self.tickets = Tickets(admission_log, self._records, self._accounts)
        """Those of people who have signed in at the page."""
        self.copies = LogCopies(charter.authority, admission_log, self._records.read)
        """What other backbones have let in, and what they are told."""
        self.moderators = ModeratorDesk(charter, self._records, lambda: PeerId(contacts()[0].peer))
        self.presence: Callable[[], messages.CollaborationNow] = messages.CollaborationNow
        """Says what goes on in the collaboration; the owner of the desk may set it."""
        self.earned: Callable[[], Sequence[PeerId]] = list
        """Names the peers that were in rounds, the last one last; the owner of the desk may set it."""
        self._now = now
        self._trace = trace
        self._asked = RateLimit[str](rate_per_s=ASKED_PER_S, burst=ASKED_BURST)
        self._admitted = RateLimit[str](rate_per_s=1 / ADMITTED_S, burst=ADMITTED_BURST, limit=HOUSEHOLDS_MAX)
        self._runner: web.AppRunner | None = None
        self._server: GuardedServer | None = None

    async def open(self, host: str, context: ssl.SSLContext, *, port: int = 0) -> int:
        """Listen on a port, or on a free one; returns it.  `ANY` is IPv6 too, where that is to be had.

        Raises:
            Busy: the port is taken.
        """
        app = web.Application(client_max_size=messages.REQUEST_BYTES_MAX)
        app.add_routes(
            [
                *(web.get(f"/v1/{name}", self._facts) for name in ("manifest", "authority", "roles")),
                web.get(f"/v1/time/{{nonce:[0-9a-f]{{{2 * TIME_NONCE_BYTES}}}}}", self._time),
                web.get("/v1/blobs/{digest:[0-9a-f]{64}}", self._blob),
                web.get("/v1/site", self.tickets.told),
                web.post("/v1/invitation", self._invitation),
                web.post("/v1/device", partial(self._signed, messages.ACCOUNTS, self._accounts.answer)),
                web.post("/v1/admissions", partial(self._signed, LOG_REQUESTS, self.copies.answer)),
                web.post("/v1/moderator", partial(self._signed, messages.MODERATORS, self.moderators.answer)),
                web.post("/v1/pass", self._pass),
            ]
        )
        app.on_response_prepare.append(_without_version)
        # The headers of a request must be there in `REQUEST_S`, and so must its body, for which see `_pass`.
        self._runner = web.AppRunner(app, access_log=None, keepalive_timeout=REQUEST_S, lingering_time=0.0)
        await self._runner.setup()
        try:
            sockets = listening_sockets(host, port, also=ANY6 if host == ANY else "")
        except OSError as error:
            await self._runner.cleanup()
            hint = "Choose another port."
            raise Busy("Port {port} cannot be used: {why}.", port, error.strerror, hint=hint) from error
        server = self._runner.server
        assert server is not None
        self._server = GuardedServer(sockets, context, server)
        return int(sockets[0].getsockname()[1])

    async def close(self) -> None:
        """The owner ends the desk; one that never listened may be closed as well."""
        if self._server is not None:
            await self._server.close()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _facts(self, request: web.Request) -> web.Response:
        """What everybody may know who has found this door."""
        match request.path:
            case "/v1/manifest":
                return web.Response(body=self._charter.manifest_path.read_bytes(), content_type="application/json")
            case "/v1/authority":
                return web.Response(body=self._authority.certificate, content_type="application/pkix-cert")
        try:
            lists = self._records.read().chain.documents
        except Problem as problem:
            _LOG.warning("the moderators' lists cannot be given: %s", problem)
            return self._refuse(503, OUT_OF_ORDER)
        return web.Response(body=msgspec.msgpack.encode(lists), content_type="application/msgpack")

    async def _time(self, request: web.Request) -> web.Response:
        signed = self._authority.sign_time(bytes.fromhex(request.match_info["nonce"]), self._now())
        return web.Response(body=TIMES.encode(signed), content_type="application/json")

    async def _blob(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["digest"]
        if name not in self._charter.manifest.blobs.values():
            raise web.HTTPNotFound
        return web.FileResponse(self._charter.blobs / name)

    async def _invitation(self, request: web.Request) -> web.Response:
        asked = await self._received(request, messages.CHECKS, self._now())
        if isinstance(asked, web.Response):
            return asked
        try:
            self._hold(asked, self._now())
        except NotTrusted as problem:
            return self._refuse(403, messages.JoinRefusal(problem.code, problem.message, problem.hint))
        except Problem as problem:
            _LOG.warning("no invitation can be looked at: %s", problem)
            return self._refuse(503, OUT_OF_ORDER)
        return web.Response(body=msgspec.json.encode(self.presence()), content_type="application/json")

    def _hold(self, asked: messages.InvitationCheck, now: float) -> None:
        """See whether an invitation holds, and hold a use of it for a newcomer that names itself.

        Raises:
            NotTrusted: it lets nobody in.
            Damaged: the charter is unreadable.
        """
        peer, log = None if asked.peer is None else PeerId(asked.peer), self._admission_log
        if not self._records.read().decisions.lets_in:
            raise closed()
        if self.tickets.site and not asked.invite:
            return  # somebody looks who would sign in
        known = self.tickets.named(asked.invite, now) or self._accounts.invitations(now)
        invitation = log.uses.valid(known, asked.invite, now=now, peer=peer)
        if peer is not None and invitation.uses_max is not None and log.name_of(peer) is None:
            log.uses.hold(invitation.id, peer, now)

    async def _pass(self, request: web.Request) -> web.Response:
        now = self._now()
        asked = await self._received(request, messages.REQUESTS, now)
        if isinstance(asked, web.Response):
            return asked
        try:
            grant = self._grant(asked, request.remote or "::", now)
        except (NotTrusted, BadInput, Busy, ProofProblem) as problem:
            return self._refuse(*refused(problem))
        except Problem as problem:
            _LOG.warning("nobody can be let in: %s", problem)
            return self._refuse(503, OUT_OF_ORDER)
        if grant is None:
            return self._refuse(429, TOO_OFTEN)
        self._trace.mark("welcome.pass")
        return web.Response(body=msgspec.json.encode(grant), content_type="application/json")

    async def _signed(
        self, schema: Schema[Asked], answered: Callable[[Asked, float], Awaitable[msgspec.Struct]], request: web.Request
    ) -> web.Response:
        """Answer what a member or another backbone has signed."""
        asked = await self._received(request, schema, self._now())
        if isinstance(asked, web.Response):
            return asked
        try:
            answer = await answered(asked, self._now())
        except (NotTrusted, BadInput, Busy) as problem:
            return self._refuse(*refused(problem))
        except Problem as problem:
            _LOG.warning("a question is not answered: %s", problem)
            return self._refuse(503, OUT_OF_ORDER)
        return web.Response(body=msgspec.json.encode(answer), content_type="application/json")

    async def _received(self, request: web.Request, schema: Schema[Asked], now: float) -> Asked | web.Response:
        """What a stranger asks for, or the refusal of an unreadable, too frequent or other version's request."""
        if not self._asked.admits(network(request.remote or "::"), now):
            return self._refuse(429, TOO_OFTEN)
        try:
            async with asyncio.timeout(REQUEST_S):
                asked = schema.decode(await request.read())
        except (TimeoutError, ConnectionError):
            return self._refuse(408, messages.JoinRefusal("bad_input", "The request did not arrive in time."))
        except (WireProblem, web.RequestPayloadError):  # of a body that is not packed as it says, too
            return self._refuse(400, messages.JoinRefusal("bad_input", "This request cannot be read."))
        if asked.protocol != PROTOCOL:
            return self._refuse(400, other_protocol(asked.protocol))
        return asked

    def _grant(self, asked: messages.PassRequest, host: str, now: float) -> messages.PassGrant | None:
        """A pass for a newcomer or a member; None: its household has asked too often.

        Args:
            asked: What it asks for.
            host: Its address.
            now: Unix seconds.

        Raises:
            NotTrusted: it is not let in.
            BadInput: its name cannot be used.
            ProofProblem: it has not proven to hold the key.
            Damaged: the charter is unreadable; so does NoSpace, when the disk is full.
        """
        self.copies.heed()
        key, accounts = requested_key(asked.csr), self._admission_log.accounts
        records, is_new = self._records.read(), key not in self._admission_log.admitted
        shut = records.shut_out(now)
        if records.chain.issuing.get(self._authority.id) != math.inf:
            raise NotTrusted("This backbone lets nobody in, by the moderators' list.", hint="Ask for a new link.")
        if key in accounts.ended and key in shut:
            raise ended_here()
        banned = accounts.of(key) in records.decisions.banned
        if banned or key in shut or (key not in records.roles.keys and accounts.among(accounts.of(key), shut)):
            raise shut_out()
        shown = shown_pass(asked.certificate, key, records, now) if is_new else None
        if is_new and shown is None and not records.decisions.lets_in:
            raise closed()
        if is_new and not self._admitted.admits(network(host), now):
            return None
        mark = household_mark(self._charter.authority.seed, household(host))
        who = Newcomer(key, asked.username, mark, asked.device, shown)
        invitations = self.tickets.named(asked.invite, now) or self._accounts.invitations(now)
        one = self._admission_log.admit(who, invitations=invitations, secret=asked.invite, now=now, held=shut)
        name = self._admission_log.name_of(key) or one.name
        certificate = self._authority.issue(
            asked.csr, username=name, device=asked.device, now=now, account=accounts.of(key)
        )
        names = [(bytes(peer), known) for peer, known in self._admission_log.newest_names(messages.NAMES_MAX)]
        kept = records.to_bytes(proposals=False)
        earned = [bytes(peer) for peer in self.earned()[-messages.EARNED_MAX :]]
        return messages.PassGrant(certificate, list(self._contacts()), kept, names, earned, self.tickets.page)

    def _refuse(self, status: int, refusal: messages.JoinRefusal) -> web.Response:
        self._trace.mark("welcome.refused")
        headers = {"Retry-After": str(ADMITTED_S)} if status == 429 else {}
        return web.Response(
            status=status, headers=headers, body=msgspec.json.encode(refusal), content_type="application/json"
        )


async def _without_version(_: web.Request, response: web.StreamResponse) -> None:
    response.headers.pop("Server", None)
