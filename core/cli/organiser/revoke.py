"""`potluck revoke`: shuts members out of a collaboration, or lets them in again."""

import argparse
import asyncio
import re
import shlex
from collections import Counter
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

from core.api.numbers import moment_text
from core.backbone.admission_log import AdmissionLog
from core.backbone.charter import Charter, admissions, load_charter, only_command, revoke, revoked_keys
from core.backbone.invitations import write_invitations
from core.backbone.revocations import Revocation, Revocations, household_mark
from core.base.ids import PeerId
from core.base.names import BACKBONE_NAME
from core.base.problems import BadInput, printable, quoted
from core.base.rate_limit import household
from core.cli.parsing.options import read_moment
from core.cli.printing.say import agrees, say_json
from core.net.clock import Clock

ENTERING_S: Final = 1.0
"""Seconds after which a newcomer stands in the log whom the welcome desk was letting in."""
_KEY: Final = re.compile("[0-9a-f]{64}")


def run(args: argparse.Namespace) -> int:
    """Run `potluck revoke`; see `potluck revoke --help`.

    Raises:
        BadInput: nobody is meant, or what was said cannot be read.
    """
    return asyncio.run(_revoke(args))


@dataclass(frozen=True, slots=True)
class _Choice:
    """People that the organiser means: those that were named, or all that fit."""

    charter: Charter
    named: list[PeerId]
    invitation: str | None
    """`Invitation.id`; None: whatever let them in."""
    household: str | None
    """Its mark; None: wherever they are."""
    since: float
    undo: bool

    def keys(self) -> list[PeerId]:
        """The keys that are not shut out, or let in again, already; one that was named is shut out once more."""
        revoked, log = revoked_keys(self.charter), admissions(self.charter)
        admitted = log.admitted
        if self.named:
            return [key for key in self.named if key in revoked or not self.undo]
        found = [
            key
            for key, one in admitted.items()
            if self.invitation in {None, one.invitation}
            and self.household in {None, one.household}
            and one.at >= self.since
            and one.name != BACKBONE_NAME
        ]
        return [key for key in log.accounts.together(found) if (key in revoked) is self.undo]

    def door(self) -> str:
        """What else changes, in words: by a door that stays open the same people come in with other keys."""
        told = []
        if self._moves_household():
            told.append(f"the household {'is let in again' if self.undo else 'is shut out: no new key comes in'}")
        if self._withdraws():
            told.append(f"the invitation {self.invitation} is withdrawn")
        return f"With them {', and '.join(told)}." if told else ""

    def move_door(self, now: float) -> None:
        """Withdraw the invitation, or write the decision about the household down."""
        if self.household is not None and self._moves_household():
            decision = Revocation(at=now, household=self.household, undone=self.undo)
            Revocations(self.charter.folder).append([decision])
        if self._withdraws():
            left = [one for one in self.charter.invitations if one.id != self.invitation]
            write_invitations(self.charter.folder, left)

    def _moves_household(self) -> bool:
        shut = self.household in Revocations(self.charter.folder).households
        return self.household is not None and shut is self.undo

    def _withdraws(self) -> bool:
        return not self.undo and any(one.id == self.invitation for one in self.charter.invitations)


async def _revoke(args: argparse.Namespace) -> int:
    charter = load_charter(args.charter.expanduser().absolute())
    choice, log = _choice(args, charter), admissions(charter)
    keys, door = choice.keys(), choice.door()
    if not keys and not door:
        none = "Nobody came in so, or all who did are shut out already."
        raise BadInput("Nobody who is meant is shut out." if args.undo else none)
    if not args.json:
        for one in (log.admitted[key] for key in keys if not choice.named):
            at = moment_text(one.at)
            print(printable(f"{one.name}: let in {at} by {one.invitation or 'no invitation'}, {one.key[:16]}"))
        print(door, end="\n" if door else "")
    question = f"{'Let' if args.undo else 'Shut'} these {len(keys)} computers {'in again' if args.undo else 'out'}?"
    if len(keys) > 1 and not choice.named and not args.yes and not agrees(question):
        print("Nothing has changed.")
        return 0
    async with only_command(charter):
        if door:
            choice.move_door(Clock().now())
            await asyncio.sleep(ENTERING_S)
        keys = list(dict.fromkeys([*keys, *choice.keys()]))
        records = revoke(charter, keys, now=Clock().now(), undo=args.undo)
    _tell(args, choice, keys, number=records.decisions.number)
    return 0


def _tell(args: argparse.Namespace, choice: _Choice, keys: list[PeerId], *, number: int) -> None:
    """Say what was done, and by which open door the same person comes in with another key."""
    log, folder = admissions(choice.charter), shlex.quote(str(choice.charter.folder))
    for key in keys if args.json else ():
        event = "let_in" if args.undo else "revoked"
        say_json({"event": event, "key": key.hex(), "name": log.name_of(key), "number": number})
    for name, computers in Counter(log.name_of(key) or key.hex() for key in keys if not args.json).items():
        done = "is let in again, once Potluck is started there" if args.undo else "is shut out"
        several = f", with {computers} computers" if computers > 1 else ""
        print(f"{printable(name)} {done}{several}: all peers learn it within a minute.")
    one = log.admitted.get(choice.named[0]) if choice.named and not (args.json or args.undo) else None
    now, invitations = Clock().now(), choice.charter.invitations
    if one is not None and any(each.id == one.invitation and log.uses.is_open(each, now) for each in invitations):
        print(f"Its invitation {one.invitation} still lets the same person in with a new key.  To end that:")
        print(f"  potluck invite --charter {folder} --withdraw {one.invitation}")
        print(f"  potluck revoke --charter {folder} --household {one.key}")


def _choice(args: argparse.Namespace, charter: Charter) -> _Choice:
    log = admissions(charter)
    if (args.who is not None) is any(said is not None for said in (args.invitation, args.household, args.since)):
        raise BadInput("Say who is meant: a name or a key, or some of --invitation, --household and --since.")
    named = [] if args.who is None else _named(log, args.who)
    if BACKBONE_NAME in map(log.name_of, named):
        raise BadInput("The backbone itself cannot be shut out.")
    by = None if args.invitation is None else _invitation(charter, log, args.invitation)
    mark = None if args.household is None else _mark(charter, log, args.household)
    return _Choice(charter, named, by, mark, 0.0 if args.since is None else read_moment(args.since), args.undo)


def _named(log: AdmissionLog, who: str) -> list[PeerId]:
    key = PeerId(bytes.fromhex(who)) if _KEY.fullmatch(who) else None
    keys = log.keys_of(who) if key is None else log.accounts.together([key])
    if not keys:
        raise BadInput(
            "Nobody here is called {who}.", quoted(who), hint="Give a name as the leaderboard has it, or a key."
        )
    return keys


def _invitation(charter: Charter, log: AdmissionLog, named: str) -> str:
    """The id of an invitation, also of one that was withdrawn."""
    known = {*(one.id for one in charter.invitations), *(one.invitation for one in log.admitted.values())} - {""}
    if named not in known:
        listing = f"potluck invite --list --charter {shlex.quote(str(charter.folder))}"
        raise BadInput(
            "There is no invitation {named}.", quoted(named), listing, hint="List those that hold with: {listing}"
        )
    return named


def _mark(charter: Charter, log: AdmissionLog, said: str) -> str:
    """The mark of the household at an address, or of the one from which a member came."""
    try:
        ip_address(said)
    except ValueError:
        one = log.admitted.get(_named(log, said)[0])
        if one is None or not one.household:
            raise BadInput("The household of {words} is not known.", quoted(said), hint="Name its address.") from None
        return one.household
    return household_mark(charter.authority.seed, household(said))
