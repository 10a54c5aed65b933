"""What a moderator does with the key of this computer, while the engine takes part (docs/protocols/authority.md)."""

from collections.abc import Callable
from typing import Final

from core.api import moderation as api
from core.authority.acts import copy_number, key_of, new_way_back, no_such_copy, signed_wish
from core.authority.changes import check_moderator
from core.authority.decisions import GoBack
from core.authority.view import moderation_view, outcome
from core.backbone.desk_messages import ModeratorAct, ModeratorAnswer
from core.backbone.moderators.audit_log import SHOWN, AuditHeads, audit_view
from core.backbone.moderators.seen_parts import parts_view
from core.base.ids import AccountId, PeerId, account_of, short
from core.base.names import BACKBONE_NAME
from core.base.problems import BadInput, Busy, Problem, quoted
from core.engine.installation import Installation
from core.engine.session import VolunteerSession
from core.joining.signed_questions import ask_moderator
from core.ledger.credits import OTHERS

AUDIT_ASKS: Final = 8
"""Further questions of one look at what was done: a desk answers ten at once."""


class Moderation:
    """Answers moderators (`core.control.intents.Moderators`).

    Args:
        installation: Has the key.
        session: The engine's part in a collaboration.
    """

    def __init__(self, installation: Installation, session: Callable[[], VolunteerSession]) -> None:
        self._installation = installation
        self._session = session

    def view(self) -> api.ModerationView:
        """Who decides, what waits for signatures, and who is held."""
        session = self._session()
        names = session.journal.board.names
        now = self._installation.clock.now()
        return moderation_view(session.authority, self._installation.key.peer_id, lambda key: names.get(key, ""), now)

    def people(self) -> api.PeopleView:
        """Who takes part, who gave what, and how far their parts lie where this computer has averaged them."""
        session, now, known = self._session(), self._installation.clock.now(), dict[AccountId, set[PeerId]]()
        board, distances = session.journal.board, session.participant.rounds.distances.rows
        view = session.participant.view(now)
        here = {self._installation.key.peer_id, *(view.peers.keys() - view.silent)}
        names = {peer: name for peer, name in board.names.items() if name != BACKBONE_NAME}
        for peer in {*names, *board.ledger.rows, *distances} - {OTHERS, *(board.names.keys() - names.keys())}:
            known.setdefault(session.passes.account(peer), set()).add(peer)
        shut_out = session.authority.shut_out(now)
        total = sum(row.samples for row in board.ledger.rows.values())
        people = []
        for account, keys in known.items():
            ordered = sorted(keys, key=lambda key: (account_of(key) != account, key))
            samples = sum(board.row(key).samples for key in keys)
            people.append(
                api.PersonView(
                    name=next((names[key] for key in ordered if key in names), short(ordered[0])),
                    key=ordered[0].hex(),
                    here=not here.isdisjoint(keys),
                    samples=samples,
                    share=samples / total if total else 0.0,
                    shut_out=any(key in shut_out for key in keys) or account in session.passes.banned,
                    computers=len(keys),
                    parts=parts_view(distances.get(key) for key in keys),
                )
            )
        return api.PeopleView(
            tuple(sorted(people, key=lambda one: (not one.here, -one.samples, one.name))[: api.PEOPLE_MAX])
        )

    async def copies(self) -> api.CopiesView:
        """Which copies of the model a backbone keeps.

        Raises:
            NotTrusted: this computer is not a moderator's.
            Problem: no backbone answers.
        """
        _, answer = await self._ask(ModeratorAct.COPIES)
        return answer.copies or api.CopiesView(())

    async def audit(self) -> api.AuditView:
        """What moderators did, as a backbone has written it down, and whether that is what it told before.

        Raises:
            NotTrusted: this computer is not a moderator's.
            Problem: no backbone answers.
        """
        session, now = self._session(), self._installation.clock.now()
        manifest, state = session.joined.manifest.id, self._installation.options.home.state
        heads = AuditHeads(state(manifest.hex()) / "audit.json", manifest)
        desk, answer = await self._ask(ModeratorAct.AUDIT)
        known = heads.of(desk)
        after = max(0, (answer.count if known is None else known.n) - SHOWN)
        lines, asks = [] if after else [*answer.lines], AUDIT_ASKS
        while asks and (last := lines[-1].n if lines else after) < answer.count:
            other, answer = await self._ask(ModeratorAct.AUDIT, last)
            if other != desk:  # another one's chain is another one
                raise Problem("No backbone answers at {where}.", session.place[0].where, hint="Try again later.")
            lines += answer.lines
            asks = asks - 1 if lines and lines[-1].n > last else 0
        end = lines[-1].n if lines else 0
        goes_on = not asks and last < end < answer.count
        changed = heads.first_changed(desk, lines, end if goes_on else answer.count)
        if changed is None:
            heads.remember(desk, lines, now)
            if goes_on:
                raise Busy("You have asked too often.", hint="Wait for some minutes.")
        return audit_view(lines, count=answer.count, changed=changed, seen=0.0 if known is None else known.seen)

    async def page(self) -> api.PageView:
        """Where this moderator signs in at the page of the collaboration.

        Raises:
            NotTrusted: this computer is not a moderator's.
            BadInput: no such page is served.
            Problem: no backbone answers.
        """
        _, answer = await self._ask(ModeratorAct.PAGE)
        return api.PageView(answer.page)

    async def act(self, wish: api.ModerationWish) -> api.ModerationOutcome:
        """Sign what a moderator wants, and hand it to the others.

        Raises:
            BadInput: nobody is meant, or it cannot be done.
            NotTrusted: this computer is not a moderator's.
            Problem: something else was decided in the same moment, or no backbone tells how to go back.
        """
        session, key, back = self._session(), self._installation.key, None
        if wish.act is api.ModerationAct.GO_BACK:
            back = (await self._ask(ModeratorAct.COPIES, copy_number(wish.who)))[1].back
        if wish.act is api.ModerationAct.SIGN:
            await self._check_way_back(new_way_back(session.authority, wish.who))
        document = signed_wish(session.authority, key, self._installation.clock.now(), wish, self._find, back)
        if not session.learn_records(session.authority.seal.written(document)):
            raise Problem("Nothing has changed: you have signed that, or something else was decided meanwhile.")
        return outcome(session.authority, document)

    async def _check_way_back(self, back: GoBack | None) -> None:
        """See that everybody would go back to a copy that a backbone keeps, before that is signed.

        Raises:
            NotTrusted: no copy leads there.
            Problem: no backbone answers.
        """
        if back is None:
            return
        listed = (await self._ask(ModeratorAct.COPIES))[1].copies
        for one in () if listed is None else listed.copies:
            if one.epoch == back.epoch and (await self._ask(ModeratorAct.COPIES, one.number))[1].back == back:
                return
        raise no_such_copy()

    async def _ask(self, act: ModeratorAct, number: int = 0) -> tuple[PeerId, ModeratorAnswer]:
        (link, _), records, installation = self._session().place, self._session().authority, self._installation
        check_moderator(records, installation.key.peer_id)
        known = records.to_bytes(proposals=False)
        return await ask_moderator(link, installation.key, installation.clock.now, act, number, known=known)

    def _find(self, said: str) -> list[PeerId]:
        """All keys of a person that are known here, those that others know by the account's first key first."""
        session = self._session()
        names, key = session.journal.board.names, key_of(said)
        name = said if key is None else names.get(key, "")
        found = [each for each, known in names.items() if name and known == name] or ([] if key is None else [key])
        if not found:
            raise BadInput(
                "Nobody here is called {words}.", quoted(said), hint="Give a name of the leaderboard, or a key."
            )
        firsts = {session.passes.account(each) for each in found}
        return sorted(found, key=lambda each: account_of(each) not in firsts)
