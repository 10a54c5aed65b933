"""Tickets: what signing in at the page ends in, an invitation for one computer of one account, once, for ten minutes.

The page's process asks for them, since it holds no key and no invitation.  It names a person by a number that it drew
itself, and the admission log keeps that beside each key that a ticket has let in: the first makes the account, further
ones join it.  What a page gains that somebody has taken over: `TICKETS_MAX` strangers at once, and as many a day, each
of whom stands in the admission log; further computers of people who have signed in there before, and their end.  It can
name nobody who came by an invitation.
"""

import logging
from typing import Final

import msgspec
from aiohttp import web

from core.authority.decisions import Newcomers
from core.backbone.account_desk import AccountDesk
from core.backbone.accounts import KEYS_MAX
from core.backbone.admission_log import AdmissionLog
from core.backbone.charter import CharterRecords
from core.backbone.desk_messages import SITES, SiteHere
from core.backbone.invitations import Invitation, Ticket, new_secret
from core.backbone.refusals import TooManyDevices, closed
from core.backbone.revocations import shut_out
from core.base.content import digest
from core.base.ids import AccountId, PeerId
from core.base.problems import NotTrusted, Problem
from core.base.rate_limit import RateLimit
from core.base.site.channel import DEVICES_MAX, DeskAct, DeskAnswer, DeskAsk, SiteDevice

_LOG = logging.getLogger(__name__)

TICKET_S: Final = 600.0
TICKETS_MAX: Final = 10_000
"""Number of open tickets, of which the oldest makes way; and of people of whom no computer is in yet who get one in a
day."""
PERSON_S: Final = 60.0
PERSON_BURST: Final = 12
"""Tickets of one person: one in so many seconds in the long run, all computers of an account at once."""
DAY_S: Final = 86_400.0


class Tickets:
    """Makes tickets, and answers what else the page's process asks about people who have signed in there.

    Args:
        log: Knows whose keys were let in.
        records: What moderators have said.
        accounts: Ends computers.
    """

    def __init__(self, log: AdmissionLog, records: CharterRecords, accounts: AccountDesk) -> None:
        self._log = log
        self._records = records
        self._accounts = accounts
        self.site = ""
        """Where people sign in; empty: nowhere.  Who serves the page sets it."""
        self.page = ""
        """Where the page is, whether they sign in or not; set likewise."""
        self._open: dict[str, Ticket] = {}
        """By `Invitation.id`, the oldest first."""
        self._made = 0
        self._strangers: dict[bytes, float] = {}
        """People of whom no computer is in yet, and when they got their first ticket of the day, Unix seconds."""
        self._each = RateLimit[bytes](rate_per_s=1 / PERSON_S, burst=PERSON_BURST, limit=TICKETS_MAX)

    async def told(self, _: web.Request) -> web.Response:
        """Say where people sign in (`GET /v1/site`)."""
        return web.Response(body=SITES.encode(SiteHere(self.site)), content_type="application/json")

    def named(self, secret: str, now: float) -> list[Invitation]:
        """The ticket with this secret; else none.

        Args:
            secret: What a newcomer says.
            now: Unix seconds.
        """
        self._forget(now)
        ticket = self._open.get(digest(secret.encode()).hex()[:8])
        return [] if ticket is None else [ticket]

    async def answer(self, ask: DeskAsk, now: float) -> DeskAnswer:
        """Do what the page asks.

        Args:
            ask: As it came.
            now: Unix seconds.
        """
        account = self._log.accounts.of_person(ask.person.hex())
        try:
            match ask.act:
                case DeskAct.TICKET:
                    return self._ticket(ask.person, account, now)
                case DeskAct.END if account is not None:
                    shut_out = self._shut_out(account, now)
                    await self._end(account, PeerId(ask.key), now)
                    return (
                        self._account(account)
                        if shut_out is None
                        else msgspec.structs.replace(shut_out, account=account)
                    )
            return self._account(account)
        except Problem as problem:
            _LOG.warning("the page gets no answer: %s", problem)
            return DeskAnswer(error="out_of_order", words="The backbone is out of order.")

    def _ticket(self, person: bytes, account: AccountId | None, now: float) -> DeskAnswer:
        records = self._records.read()
        if account is not None and (refused := self._shut_out(account, now)) is not None:
            return refused
        if account is not None and len(self._log.accounts.keys(account)) >= KEYS_MAX:
            return _refused("too_many_devices", TooManyDevices(KEYS_MAX))
        if records.decisions.newcomers is Newcomers.CLOSED:
            return _refused("closed", closed())
        if not self._each.admits(person, now):
            return DeskAnswer(error="too_often", words="You ask for tickets too often. Wait for a minute.")
        self._forget(now)
        if account is None and not self._has_room(person, now):
            _LOG.warning("%d strangers have had tickets, which are as many as get some in a day", TICKETS_MAX)
            return DeskAnswer(error="full", words="Too many people sign in today. Try again tomorrow.")
        if len(self._open) >= TICKETS_MAX:
            del self._open[next(iter(self._open))]
        ticket = Ticket(secret=new_secret(), uses_max=1, expires=now + TICKET_S, person=person.hex())
        self._open[ticket.id] = ticket
        self._made += 1
        if str(self._made).strip("0") == "1":
            _LOG.info("the page has had %d tickets since the start", self._made)
        return msgspec.structs.replace(self._account(account), ticket=ticket.secret)

    def _shut_out(self, account: AccountId, now: float) -> DeskAnswer | None:
        """Why a person gets no ticket; None: nothing is held against them."""
        log, records = self._log, self._records.read()
        log.revocations.refresh()
        banned = {*log.revocations.keys, *map(PeerId, records.decisions.revoked)}
        if log.accounts.among(account, banned):
            return _refused("banned", shut_out())
        if not log.accounts.among(account, records.shut_out(now)):
            return None
        holds = records.holds.now(now)
        until = max((holds[key].until for key in log.accounts.lasting(account) if key in holds), default=0)
        words = next((holds[key].words for key in log.accounts.lasting(account) if key in holds), "")
        return DeskAnswer(error="held", words=f"A moderator holds your account. {words}".strip(), until=float(until))

    async def _end(self, account: AccountId, key: PeerId, now: float) -> None:
        keys = self._log.accounts.keys(account)
        for each in keys if key == bytes(len(key)) else [key] if key in keys else []:
            await self._accounts.end(each, by=each, now=now)

    def _account(self, account: AccountId | None) -> DeskAnswer:
        if account is None:
            return DeskAnswer()
        accounts, admitted = self._log.accounts, self._log.admitted
        lines = [(key, admitted[key]) for key in accounts.keys(account)][:DEVICES_MAX]
        devices = tuple(SiteDevice(key, one.device[:80], one.at, key in accounts.ended) for key, one in lines)
        return DeskAnswer(account=account, name=lines[0][1].name, devices=devices)

    def _has_room(self, person: bytes, now: float) -> bool:
        """Whether a stranger may have a ticket today: one who has had one may have another."""
        while self._strangers and (first := next(iter(self._strangers.items())))[1] + DAY_S < now:
            del self._strangers[first[0]]
        if person not in self._strangers and len(self._strangers) >= TICKETS_MAX:
            return False
        self._strangers.setdefault(person, now)
        return True

    def _forget(self, now: float) -> None:
        """Drop the tickets whose time is over; they stand in the order of their ends."""
        while self._open and (oldest := next(iter(self._open.values()))).has_expired(now):
            del self._open[oldest.id]


def _refused(error: str, problem: NotTrusted) -> DeskAnswer:
    return DeskAnswer(error=error, words=f"{problem.message} {problem.hint}".strip())
