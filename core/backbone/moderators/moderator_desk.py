"""The part of the welcome desk that moderators ask: for copies, a way back to one, what was done, and their pages.

Moderators sign a copy's derived root by its digest (`core.backbone.derived_root`), which needs the copy's file; most of
them do not hold it.  A moderator signs each question with the moderator's key, for this backbone, the moment and a
nonce.

What the worst moderator gains: one copy at a time is read and its root written and deleted again, `ASKED_BURST` times
and then once in some seconds.  What the worst stranger gains: the check of one signature, at most as often as its
household may ask for passes.  What a backbone that lies gains: a proposal to go back to a file that it has made up,
which it could keep as a copy as well; a digest that does not fit is refused by each backbone with the true copy.

Moderators' pages are the work of the page's process, which holds no key.  A moderator who asks for them gets a code.  A
browser shows it to the page once, within `CODE_S`, and the page learns here whose it is.  For `ENTERED_S` from then on
the page may ask in that moderator's name; each time it is seen whether the key is still a moderator's.  What a page
gains that somebody has taken over: what a moderator sees who is signed in meanwhile, and lines of the chain about
answers that this moderator did not give.  It signs nothing.  What a guesser gains: nothing, by 192 random bits.
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from hmac import compare_digest
from pathlib import Path
from typing import Final

from core.api.moderation import COPIES_MAX, PEOPLE_MAX, CopiesView, CopyView, PersonView
from core.authority.changes import check_moderator
from core.authority.decisions import GoBack
from core.authority.records import AuthorityRecords
from core.authority.view import moderation_view
from core.averaging.distances import DistanceBook
from core.backbone.charter import Charter, CharterRecords
from core.backbone.desk_messages import ModeratorAct, ModeratorAnswer, ModeratorQuestion
from core.backbone.fresh_requests import FreshRequests
from core.backbone.invitations import new_secret
from core.backbone.kept_states import STATES, kept_copies, losses_of, way_back
from core.backbone.moderators.audit_log import AuditLog, audit_view
from core.backbone.people import People
from core.base.content import digest
from core.base.ids import PeerId, short
from core.base.problems import BadInput, Busy, NotTrusted, Problem, later
from core.base.rate_limit import RateLimit
from core.base.signing import Ed25519Verifier
from core.base.site.channel import MODERATORS_ENTER, DeskAct, DeskAnswer, DeskAsk, ModeratorFacts

_LOG = logging.getLogger(__name__)

ASKED_PER_S: Final = 0.1
ASKED_BURST: Final = 10
"""Requests of one moderator."""
PATIENCE_S: Final = 12.0
"""Seconds within which an answer has to be there.  Who asks again later gets what came of the first question."""
CODE_S: Final = 60.0
ENTERED_S: Final = 3600.0
LOOK_S: Final = 2.0
"""A moderator looks at a page once in so many seconds, in the long run."""
LOOK_BURST: Final = 30
PEOPLE_S: Final = 5.0
"""Seconds for which people are shown as they were: of 10,000 a look takes a tenth of a second of the backbone's."""
ANSWERED: Final = "request answered"


class ModeratorDesk:
    """Answers moderators.

    Args:
        charter: Holds the copies.
        records: What moderators have said.
        me: This backbone's key.
    """

    def __init__(self, charter: Charter, records: CharterRecords, me: Callable[[], PeerId]) -> None:
        self._manifest_id = charter.manifest.id
        self._folder = charter.folder / STATES
        self._records = records
        self._me = me
        self.audit = AuditLog(charter.folder, charter.manifest.id)
        """What moderators did, as far as this backbone has seen."""
        self.pages = PageDesk(self._folder, records, self.audit)
        """Those of moderators who have signed in at the page."""
        self._fresh = FreshRequests[PeerId](
            rate_per_s=ASKED_PER_S, burst=ASKED_BURST, too_often=later("You have asked too often.")
        )
        self._one = asyncio.Lock()
        self._ways: dict[int, asyncio.Task[GoBack]] = {}
        """Ways back that were asked for, by the copy's number: a copy is read once."""
        self._chosen: GoBack | None = None
        """To what everybody had gone back when these were made: each going back has a root of its own."""

    async def answer(self, asked: ModeratorQuestion, now: float) -> ModeratorAnswer:
        """Answer a moderator.

        Args:
            asked: As it came.
            now: Unix seconds.

        Raises:
            NotTrusted: no moderator has signed it now, for this backbone.
            BadInput: there is no such copy, or no page on which moderators sign in.
            Busy: the moderator has asked too often, or has to ask again.
            Problem: the copy cannot be read.
        """
        key, records = PeerId(asked.key), self._records.read()
        check_moderator(records, key)
        signed = Ed25519Verifier().verify(key, asked.signature, asked.signed_bytes(self._manifest_id))
        if not signed or asked.desk != self._me():
            raise NotTrusted("No moderator has signed this request.")
        self._fresh.take(key, at=asked.at, nonce=asked.nonce, now=now)
        if asked.act is ModeratorAct.PAGE:
            return ModeratorAnswer(page=self.pages.way_in(key, now))
        if asked.act is ModeratorAct.AUDIT:
            lines = await asyncio.to_thread(self.audit.after, asked.number)
            return ModeratorAnswer(lines=tuple(lines), count=self.audit.count)
        chosen = records.decisions.back
        copies = await asyncio.to_thread(copies_of, self._folder, chosen)
        if asked.number and all(copy.number != asked.number for copy in copies.copies):
            raise BadInput("There is no copy {number}.", asked.number, hint="List them with: potluck moderate copies")
        back = await self._way_back(asked.number, chosen) if asked.number else None
        return ModeratorAnswer(copies=copies, back=back)

    async def _way_back(self, number: int, chosen: GoBack | None) -> GoBack:
        if chosen != self._chosen:
            self._ways.clear()
            self._chosen = chosen
        failed = number in self._ways and self._ways[number].done() and self._ways[number].exception() is not None
        if number not in self._ways or failed:
            self._ways[number] = asyncio.create_task(self._derived(number, chosen))
        try:
            return await asyncio.wait_for(asyncio.shield(self._ways[number]), PATIENCE_S)
        except TimeoutError:
            raise Busy("The backbone reads that copy.", hint="Ask again in a minute.") from None

    async def _derived(self, number: int, chosen: GoBack | None) -> GoBack:
        async with self._one:
            return await asyncio.to_thread(way_back, self._folder, number, self._manifest_id, chosen)


class PageDesk:
    """Answers the page's process about moderators.

    Args:
        states: Folder of the copies.
        records: What moderators have said.
        audit: What they did.
    """

    def __init__(self, states: Path, records: CharterRecords, audit: AuditLog) -> None:
        self._states = states
        self._records = records
        self._audit = audit
        self.address = ""
        """Where moderators open their pages; empty: nowhere.  Who serves the page sets it."""
        self.people: People | None = None
        """Who takes part; the owner of the desk may set it, and the next one."""
        self.distances: DistanceBook | None = None
        """How far members' parts lay from each other."""
        self._codes: dict[PeerId, tuple[bytes, float]] = {}
        """Digest of each moderator's newest code, and until when it holds, Unix seconds."""
        self._entered: dict[PeerId, float] = {}
        """Until when the page may ask in a moderator's name, Unix seconds."""
        self._shown: tuple[float, tuple[PersonView, ...]] = 0.0, ()
        """People, and until when they are shown so."""
        self._looks = RateLimit[PeerId](rate_per_s=1 / LOOK_S, burst=LOOK_BURST)

    def way_in(self, key: PeerId, now: float) -> str:
        """An address at which this moderator signs in, once, within `CODE_S`.

        Args:
            key: The moderator's.
            now: Unix seconds.

        Raises:
            BadInput: moderators sign in nowhere.
        """
        if not self.address:
            hint = "Its organiser starts it with --site, and writes its address into ways.toml."
            raise BadInput("This backbone has no page on which moderators sign in.", hint=hint)
        code = new_secret()
        self._codes[key] = (digest(code.encode()), now + CODE_S)
        return f"{self.address}{MODERATORS_ENTER}?code={code}"

    async def answer(self, ask: DeskAsk, now: float) -> DeskAnswer:
        """Answer the page.

        Args:
            ask: As it came.
            now: Unix seconds.
        """
        try:
            records = self._records.read()
            key = self._moderator(ask, records, now)
            if ask.act is not DeskAct.ANSWERED and not self._looks.admits(key, now):
                return DeskAnswer(error="too_often", words="You look too often. Wait for some seconds.")
            return DeskAnswer(facts=await self._facts(ask, key, records, now))
        except NotTrusted as refused:
            return DeskAnswer(error=refused.code, words=f"{refused.message} {refused.hint}".strip())
        except Problem as problem:
            _LOG.warning("a moderator's page gets no answer: %s", problem)
            return DeskAnswer(error="out_of_order", words="The backbone is out of order.")

    def _moderator(self, ask: DeskAsk, records: AuthorityRecords, now: float) -> PeerId:
        """In whose name the page asks; a code is used by that."""
        codes = {} if ask.act is not DeskAct.ENTER else self._codes
        shown = next((of for of, (code, until) in codes.items() if compare_digest(code, ask.key) and now < until), None)
        if shown is not None:
            del self._codes[shown]
            self._entered[shown] = now + ENTERED_S
        whose = PeerId(ask.key) if ask.act is not DeskAct.ENTER else shown
        if whose is None or now >= self._entered.get(whose, 0.0):
            raise NotTrusted("This holds no longer, or was used already.", hint="Type again: potluck moderate page")
        check_moderator(records, whose)
        return whose

    async def _facts(self, ask: DeskAsk, key: PeerId, records: AuthorityRecords, now: float) -> ModeratorFacts:
        people, name = self.people, records.roles.name_of(key) or short(key)
        view = moderation_view(records, key, lambda of: "" if people is None else people.log.name_of(of) or "", now)
        facts = partial(ModeratorFacts, key=key, name=name, view=view)
        match ask.act:
            case DeskAct.PEOPLE if people is not None:
                if now >= self._shown[0]:
                    people.log.revocations.refresh()
                    seen = {} if self.distances is None else self.distances.rows
                    shown = people.view(seen, {*people.log.revocations.keys, *records.shut_out(now)})
                    self._shown = now + PEOPLE_S, tuple(shown[:PEOPLE_MAX])
                return facts(people=self._shown[1])
            case DeskAct.COPIES:
                return facts(copies=await asyncio.to_thread(copies_of, self._states, records.decisions.back))
            case DeskAct.AUDIT:
                log = self._audit
                return facts(audit=audit_view(log.newest, count=log.count, changed=log.broken))
            case DeskAct.ANSWERED:
                self._audit.append(name, ANSWERED, ask.words, now=now)
        return facts()


def copies_of(folder: Path, chosen: GoBack | None) -> CopiesView:
    """The copies in a charter, those that came last.

    Args:
        folder: Folder of the copies.
        chosen: To what everybody has gone back.
    """
    losses, root = losses_of(folder), "" if chosen is None else chosen.root.hex()[:8]
    kept = kept_copies(folder)[-COPIES_MAX:]
    return CopiesView(
        tuple(CopyView(one.number, one.epoch, one.came, losses.get(one.number), one.lineage == root) for one in kept)
    )
