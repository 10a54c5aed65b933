"""`potluck moderate`: who decides in a collaboration, what waits for signatures, and a moderator's own decisions."""

import argparse
import asyncio
import socket
import ssl
import sys
import time
import webbrowser
from typing import Final, Protocol
from urllib.parse import urlsplit

import msgspec

from core.api import moderation as api
from core.api.numbers import moment_text
from core.authority.acts import copy_number, key_of, new_way_back, no_such_copy, signed_wish
from core.authority.changes import check_moderator
from core.authority.decisions import GoBack
from core.authority.view import moderation_view, outcome
from core.backbone.charter import admissions, keep_document, load_charter, only_command, read_charter_records
from core.backbone.desk_messages import ModeratorAct
from core.backbone.kept_states import STATES, kept_copies, way_back
from core.backbone.link import link_to
from core.backbone.moderators.audit_log import AuditLog, audit_view
from core.backbone.remembered import read_ports
from core.base.ids import PeerId
from core.base.problems import BadInput, printable, quoted
from core.cli.organiser import copies, people
from core.cli.organiser.moderate_command import AUDIT, COPIES, PAGE, PEOPLE
from core.cli.parsing.options import read_moment
from core.cli.printing.people_tables import people_text
from core.cli.printing.say import say_json
from core.cli.volunteer.login import has_browser
from core.control.one_call import call_once
from core.joining.signed_questions import ask_moderator
from core.net.addresses.interfaces import LOOPBACK
from core.net.clock import Clock
from core.storage.paths import Home

DESK_S: Final = 60.0
"""Seconds for an answer of the engine that may have to ask a backbone."""
CERTIFICATE_S: Final = 14 * 24 * 3600.0
"""Moderators are told this long before the certificate of their page ends."""
PAGE_S: Final = 5.0
NOT_SEEN: Final = "This computer has averaged nobody's parts since it started."


class _Moderators(Protocol):
    """Where a moderator's key is, and what is known there."""

    def view(self) -> api.ModerationView:
        """Who decides, what waits, and who is held."""

    def act(self, wish: api.ModerationWish) -> api.ModerationOutcome:
        """Sign what a moderator wants to be done."""


def run(args: argparse.Namespace) -> int:
    """Run `potluck moderate`; see `potluck moderate --help`.

    Raises:
        BadInput: nobody is meant, or it cannot be done.
        NotTrusted: the key is not a moderator's.
        Problem: the engine's.
    """
    if args.act == PEOPLE:
        return _people(args) if args.charter is None else people.run(args)
    if args.act == AUDIT:
        return _audit(args)
    if args.act == PAGE:
        return _page(args)
    if args.act == COPIES:
        return _copies(args) if args.charter is None else copies.list_copies(args)
    moderators: _Moderators = _Engine(args) if args.charter is None else _CharterKey(args)
    if args.act is None:
        _print_view(moderators.view(), json=args.json)
        return 0
    agree = int(args.who) if args.act == api.ModerationAct.AGREE and args.who.isdecimal() else args.agree
    said = {"who": args.who, "words": args.words, "days": args.days, "count": agree, "places": tuple(args.at)}
    if args.since is not None:
        said["since"] = read_moment(args.since)
    wish = api.ModerationWish(act=api.ModerationAct(args.act.replace("-", "_")), **said)
    _print_outcome(moderators.act(msgspec.convert(msgspec.to_builtins(wish), api.ModerationWish)), json=args.json)
    return 0


def _people(args: argparse.Namespace) -> int:
    """Print the people whom the engine knows."""
    answer: api.PeopleView = call_once(Home.find(args.home), "people", kind=api.PeopleView)
    if args.json:
        say_json({"event": "people", "people": answer.people})
    else:
        print(people_text(answer.people, NOT_SEEN))
    return 0


def _audit(args: argparse.Namespace) -> int:
    """Print what moderators did; returns 1 where the past is another one."""
    if args.charter is not None:
        charter = load_charter(args.charter.expanduser().absolute())
        log = AuditLog(charter.folder, charter.manifest.id)
        view = audit_view(log.newest, count=log.count, changed=log.broken)
    else:
        view = call_once(Home.find(args.home), "audit", kind=api.AuditView, timeout_s=DESK_S)
    for one in view.lines:
        if args.json:
            say_json({"event": "audit", **msgspec.to_builtins(one)})
            continue
        words = f": {one.words}" if one.words else ""
        print(printable(f"{one.n:>6}  {moment_text(one.at)}  {one.actor}, {one.act} {one.subject}{words}"))
    if not view.changed:
        return 0
    before = f" than this computer saw on {moment_text(view.seen)}" if view.seen else ""
    changed = f"Line {view.changed} is another one{before}, or does not follow from the one before."
    print(f"potluck: Somebody has changed what was done.  {changed}", file=sys.stderr)
    return 1


def _copies(args: argparse.Namespace) -> int:
    """Print the copies of the model that a backbone keeps."""
    answer: api.CopiesView = call_once(Home.find(args.home), "copies", kind=api.CopiesView, timeout_s=DESK_S)
    if not answer.copies and not args.json:
        print("The backbone keeps no copy of the model yet.")
    copies.say_copies(answer, json=args.json)
    return 0


def _page(args: argparse.Namespace) -> int:
    """Sign in at the page of the collaboration, in a browser, or tell where."""
    if args.charter is None:
        address = call_once(Home.find(args.home), "page", kind=api.PageView, timeout_s=DESK_S).address
    else:
        charter = load_charter(args.charter.expanduser().absolute())
        ports = read_ports(charter.folder)
        link = link_to([*dict.fromkeys((LOOPBACK, *ports.hosts))], ports.desk, charter.manifest.id, "")
        asked = ask_moderator(link, charter.authority, Clock().now, ModeratorAct.PAGE)
        address = asyncio.run(asked)[1].page
    warning = certificate_warning(address)
    if args.json:
        say_json({"event": "page", "address": address, "warning": warning})
        return 0
    if warning:
        print(printable(warning))
    here = "" if address.startswith("https:") else ", on the backbone's computer"
    print(f"Sign in within a minute{here}:\n{address}", flush=True)
    if has_browser():
        webbrowser.open(address)
    return 0


def certificate_warning(address: str) -> str:
    """What is wrong with the certificate of a page, or soon will be; empty: nothing, or nobody answers there.

    Args:
        address: The page's; without https it has no certificate.
    """
    parts = urlsplit(address)
    host = parts.hostname or ""
    if parts.scheme != "https":
        return ""
    try:
        with (
            socket.create_connection((host, parts.port or 443), PAGE_S) as plain,
            ssl.create_default_context().wrap_socket(plain, server_hostname=host) as secured,
        ):
            ends = ssl.cert_time_to_seconds(str((secured.getpeercert() or {})["notAfter"]))
    except ssl.SSLCertVerificationError as error:
        return f"Browsers refuse the certificate of {host}: {error.verify_message}."
    except OSError:
        return ""
    if ends > time.time() + CERTIFICATE_S:  # noqa: TID251 - certificates and browsers go by this computer's clock
        return ""
    return (
        f"The certificate of {host} ends on {moment_text(ends)}: see to it that the server before the page renews it."
    )


class _Engine:
    """The key of this computer; its engine has to run."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._home = Home.find(args.home)

    def view(self) -> api.ModerationView:
        answer: api.ModerationView = call_once(self._home, "moderation", kind=api.ModerationView)
        return answer

    def act(self, wish: api.ModerationWish) -> api.ModerationOutcome:
        asked = msgspec.to_builtins(wish)
        answer: api.ModerationOutcome = call_once(
            self._home, "moderate", asked, kind=api.ModerationOutcome, timeout_s=DESK_S
        )
        return answer


class _CharterKey:
    """The founder's key, which lies in a charter."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._charter = load_charter(args.charter.expanduser().absolute())
        self._log = admissions(self._charter)

    def view(self) -> api.ModerationView:
        records = read_charter_records(self._charter)
        return moderation_view(records, self._charter.authority.peer_id, self._name, Clock().now())

    def act(self, wish: api.ModerationWish) -> api.ModerationOutcome:
        return asyncio.run(self._act(wish))

    def _name(self, key: PeerId) -> str:
        return self._log.name_of(key) or ""

    async def _act(self, wish: api.ModerationWish) -> api.ModerationOutcome:
        async with only_command(self._charter):
            records = read_charter_records(self._charter)
            back, known = None, records.decisions.back
            if wish.act is api.ModerationAct.GO_BACK:
                check_moderator(records, self._charter.authority.peer_id)
                back = await asyncio.to_thread(self._way_back, copy_number(wish.who), known)
            if wish.act is api.ModerationAct.SIGN and (wanted := new_way_back(records, wish.who)) is not None:
                copies = [one.number for one in kept_copies(self._charter.folder / STATES) if one.epoch == wanted.epoch]
                if wanted not in [await asyncio.to_thread(self._way_back, number, known) for number in copies]:
                    raise no_such_copy()
            document = signed_wish(records, self._charter.authority, Clock().now(), wish, self._find, back)
            keep_document(self._charter, records, document)
        return outcome(records, document)

    def _way_back(self, number: int, chosen: GoBack | None) -> GoBack:
        return way_back(self._charter.folder / STATES, number, self._charter.manifest.id, chosen)

    def _find(self, said: str) -> list[PeerId]:
        key = key_of(said)
        found = self._log.keys_of(said) if key is None else self._log.accounts.together([key])
        if not found:
            raise BadInput("Nobody here is called {words}.", quoted(said), hint="List people with: potluck people")
        return found


def _print_outcome(what: api.ModerationOutcome, *, json: bool) -> None:
    if json:
        say_json({"event": "moderated", **msgspec.to_builtins(what)})
    elif what.done:
        print("It holds: all peers learn it within a minute.")
    else:
        print(f"It is proposed, and waits for {_signatures(what.missing)}.  Another moderator agrees with:")
        print(f"  potluck moderate sign {what.id}")


def _print_view(view: api.ModerationView, *, json: bool) -> None:
    if json:
        say_json({"event": "moderation", **msgspec.to_builtins(view)})
        return
    alone = "Each of them decides alone" if view.threshold == 1 else f"{view.threshold} of them have to agree"
    print(f"{'1 moderator' if len(view.moderators) == 1 else f'{len(view.moderators)} moderators'}.  {alone}.")
    for one in view.moderators:
        print(printable(f"  {one.name}{' (this computer)' if one.is_me else ''}, {one.key[:16]}"))
    for each in view.issuers:
        print(printable(f"  Backbone {_issuer(each)}"))
    print(f"{view.banned} keys are shut out.{'  Nobody new is let in.' if view.newcomers == 'closed' else ''}")
    if view.end is not None:
        print(printable(_end(view.end)))
    if view.drill is not None:
        print(printable(_drill(view.drill)))
    for words in view.notices:
        print(printable(f"Told to all: {words}"))
    for held in view.holds:
        print(printable(_hold(held)))
    for proposal in view.proposals:
        print(printable(_proposal(proposal)))


def _issuer(one: api.IssuerView) -> str:
    lasts = "lets people in" if one.until is None else f"has ended; its passes hold until {moment_text(one.until)}"
    return f"{one.name} ({one.key[:16]}) at {', '.join(one.places) or 'no address'}: {lasts}"


def _end(end: api.EndView) -> str:
    state = "Paused" if end.state == "paused" else "Ended"
    goes_on = f" It goes on at {end.successor}" if end.successor else ""
    return f"{state} by the moderators.{' ' if end.words else ''}{end.words}{goes_on}"


def _drill(drill: api.DrillView) -> str:
    asked = f"{drill.by} asked on {moment_text(drill.at)} whether all moderators can still sign"
    if not drill.missing:
        return f"{asked}: all have."
    late = " for 7 days: if they are gone, put others in their place" if drill.is_late else ""
    answer = ".  Answer with: potluck moderate drill" if drill.waits_here else ""
    return f"{asked}.  Not signed{late}: {', '.join(drill.missing)}{answer}"


def _hold(held: api.HoldView) -> str:
    return (
        f"{held.name or held.key[:16]} is held until {moment_text(held.until)}{': ' if held.words else ''}{held.words}"
    )


def _proposal(one: api.ProposalView) -> str:
    what = ", ".join(dict.fromkeys(map(api.change_text, one.changes))) or "changes nothing"
    why = f" ({one.words})" if one.words else ""
    by = f"{one.author} proposes on {moment_text(one.at)}"
    return f"{one.id}: {by}: {what}{why}. Signed by {', '.join(one.signed)}; {_signatures(one.missing)} missing."


def _signatures(number: int) -> str:
    return "1 signature" if number == 1 else f"{number} signatures"
