"""`potluck moderate`: who decides in a collaboration, what waits for signatures, and a moderator's own decisions."""

import argparse
import asyncio
import time
from typing import Final, Protocol

import msgspec

from core.api.moderation import (
    DecisionChange,
    HoldView,
    ModerationAct,
    ModerationOutcome,
    ModerationView,
    ModerationWish,
    ProposalView,
)
from core.authority.acts import key_of, signed_wish
from core.authority.view import moderation_view, outcome
from core.backbone.admission_log import AdmissionLog
from core.backbone.charter import keep_document, load_charter, only_command, read_charter_records
from core.base.ids import PeerId
from core.base.problems import BadInput, quoted
from core.cli.printing.say import say_json
from core.cli.printing.tables import clean
from core.control.one_call import call_once
from core.net.clock import Clock
from core.storage.paths import Home

CHANGES: Final = {
    ModerationAct.BAN: "shuts out {name}",
    ModerationAct.PARDON: "lets {name} in again",
    ModerationAct.NOTICE: "tells all: {words}",
    ModerationAct.CLOSE: "lets nobody new in",
    ModerationAct.OPEN: "lets newcomers in by invitations again",
    ModerationAct.ADD: "makes {name} a moderator",
    ModerationAct.REMOVE: "takes {name} from the moderators",
    ModerationAct.AGREE: "has {count} of them agree",
    ModerationAct.GO_BACK: "has everybody go back to epoch {count}, root {name}",
    ModerationAct.OTHER: "changes {words} in a way that has no word here",
}


class _Moderators(Protocol):
    """Where a moderator's key is, and what is known there."""

    def view(self) -> ModerationView:
        """Who decides, what waits, and who is held."""

    def act(self, wish: ModerationWish) -> ModerationOutcome:
        """Sign what a moderator wants."""


def run(args: argparse.Namespace) -> int:
    """Run `potluck moderate`; see `potluck moderate --help`.

    Raises:
        BadInput: nobody is meant, or it cannot be done.
        NotTrusted: the key is not a moderator's.
        Problem: the engine's.
    """
    moderators: _Moderators = _Engine(args) if args.charter is None else _CharterKey(args)
    if args.act is None:
        _print_view(moderators.view(), json=args.json)
        return 0
    agree = int(args.who) if args.act == ModerationAct.AGREE and args.who.isdecimal() else args.agree
    wish = ModerationWish(act=ModerationAct(args.act), who=args.who, words=args.words, days=args.days, count=agree)
    _print_outcome(moderators.act(msgspec.convert(msgspec.to_builtins(wish), ModerationWish)), json=args.json)
    return 0


class _Engine:
    """The key of this computer; its engine has to run."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._home = Home.find(args.home)

    def view(self) -> ModerationView:
        answer: ModerationView = call_once(self._home, "moderation", kind=ModerationView)
        return answer

    def act(self, wish: ModerationWish) -> ModerationOutcome:
        answer: ModerationOutcome = call_once(self._home, "moderate", msgspec.to_builtins(wish), kind=ModerationOutcome)
        return answer


class _CharterKey:
    """The founder's key, which lies in a charter."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._charter = load_charter(args.charter.expanduser().absolute())
        self._log = AdmissionLog(self._charter.folder)

    def view(self) -> ModerationView:
        records = read_charter_records(self._charter)
        return moderation_view(records, self._charter.authority.peer_id, self._name, Clock().now())

    def act(self, wish: ModerationWish) -> ModerationOutcome:
        return asyncio.run(self._act(wish))

    def _name(self, key: PeerId) -> str:
        return self._log.name_of(key) or ""

    async def _act(self, wish: ModerationWish) -> ModerationOutcome:
        async with only_command(self._charter):
            records = read_charter_records(self._charter)
            document = signed_wish(records, self._charter.authority, Clock().now(), wish, self._find)
            keep_document(self._charter, records, document)
        return outcome(records, document)

    def _find(self, said: str) -> list[PeerId]:
        key = key_of(said)
        found = self._log.keys_of(said) if key is None else self._log.accounts.together([key])
        if not found:
            raise BadInput("Nobody here is called {words}.", quoted(said), hint="List people with: potluck people")
        return found


def _print_outcome(what: ModerationOutcome, *, json: bool) -> None:
    if json:
        say_json({"event": "moderated", **msgspec.to_builtins(what)})
    elif what.done:
        print("It holds: all peers learn it within a minute.")
    else:
        print(f"It is proposed, and waits for {_signatures(what.missing)}.  Another moderator agrees with:")
        print(f"  potluck moderate sign {what.id}")


def _print_view(view: ModerationView, *, json: bool) -> None:
    if json:
        say_json({"event": "moderation", **msgspec.to_builtins(view)})
        return
    alone = "Each of them decides alone" if view.threshold == 1 else f"{view.threshold} of them have to agree"
    print(f"{'1 moderator' if len(view.moderators) == 1 else f'{len(view.moderators)} moderators'}.  {alone}.")
    for one in view.moderators:
        print(clean(f"  {one.name}{' (this computer)' if one.is_me else ''}, {one.key[:16]}"))
    print(f"{view.banned} keys are shut out.{'  Nobody new is let in.' if view.newcomers == 'closed' else ''}")
    for words in view.notices:
        print(clean(f"Told to all: {words}"))
    for held in view.holds:
        print(clean(_hold(held)))
    for proposal in view.proposals:
        print(clean(_proposal(proposal)))


def _hold(held: HoldView) -> str:
    return f"{held.name or held.key[:16]} is held until {_moment(held.until)}{': ' if held.words else ''}{held.words}"


def _proposal(one: ProposalView) -> str:
    what = ", ".join(dict.fromkeys(map(_change, one.changes))) or "changes nothing"
    why = f" ({one.words})" if one.words else ""
    by = f"{one.author} proposes on {_moment(one.at)}"
    return f"{one.id}: {by}: {what}{why}. Signed by {', '.join(one.signed)}; {_signatures(one.missing)} missing."


def _change(one: DecisionChange) -> str:
    return CHANGES[one.act].format(name=one.name or one.key[:16], words=one.words, count=one.count)


def _signatures(number: int) -> str:
    return "1 signature" if number == 1 else f"{number} signatures"


def _moment(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))
