"""`potluck host`, `potluck where` and `potluck invite`: a backbone of this computer, who reaches it, who comes in."""

import argparse
import asyncio
import shlex
from typing import Final

import msgspec

from core.backbone.charter import Charter, admissions, load_charter, only_command
from core.backbone.invitations import DAY_S, Invitation, first_invitation, new_invitation, write_invitations
from core.backbone.link import link_to, read_hosts
from core.backbone.remembered import read_ports
from core.base.problems import BadInput, printable
from core.cli.organiser.charter import free_ports, link_of
from core.cli.printing.say import say_json
from core.cli.volunteer.joined import begin_again
from core.engine.hosting import present_hosts, reach_of
from core.engine.remembered.collaborations import Collaborations, KeptCollaboration
from core.engine.remembered.hosted import Hosted, host, hosted_charters
from core.joining.look import LinkProblem, look
from core.net.addresses.hosts import SAID, reach
from core.net.addresses.interfaces import LOOPBACK
from core.net.clock import Clock
from core.storage.paths import Home

ENDED: Final = frozenset({"link.withdrawn", "link.expired", "link.full"})
"""Codes of refusals after which the organiser can make another link."""


def run(args: argparse.Namespace) -> int:
    """`potluck host`; see `potluck host --help`."""
    home, charter = Home.find(args.home), load_charter(args.folder.expanduser().absolute())
    name, running = printable(charter.manifest.name), False
    if args.stop:
        host(home, hosted(charter, runs=False))
    else:
        running = take_part(home, charter)
    if args.json:
        say_json({"event": "hosted", "running": running, "name": name})
    elif args.stop:
        print(f"This computer's Potluck does not run the backbone of {name} any more.")
    else:
        print(f"The backbone of {name} runs while Potluck does{'.' if running else ': start it with potluck engine'}")
    return 0


def where(args: argparse.Namespace) -> int:
    """`potluck where`; see `potluck where --help`."""
    view = asyncio.run(reach_of(*free_ports(1)))
    if args.json:
        say_json({"event": "where", **msgspec.to_builtins(view)})
        return 0
    for address in view.hosts:
        print(f"{address} can be reached {SAID[reach(address)]}.")
    print(view.sentence)
    return 0


def hosted(charter: Charter, *, runs: bool) -> Hosted:
    """The line of a charter in the list of a home, with whether its backbone is to run."""
    return Hosted(folder=str(charter.folder), collaboration=charter.manifest.id.hex(), runs=runs)


def take_part(home: Home, charter: Charter) -> bool:
    """Have the engine of this computer run the backbone of a charter, and take part in its collaboration.

    Args:
        home: The engine's.
        charter: The collaboration's.

    Returns:
        Whether an engine runs, which begins with it now.

    Raises:
        BadInput: the charter has no ports yet.
        NoSpace: the disk is full.
        UserProblem: the system does not allow it.
    """
    desk, collaborations = read_ports(charter.folder).desk, Collaborations(home)
    if not desk:
        hint = "Start it once with potluck backbone --charter {folder}, then stop it."
        raise BadInput("This backbone has no ports yet.", charter.folder, hint=hint)
    home.create()
    kept = [one.link for one in collaborations.all() if one.link.manifest_id == charter.manifest.id]
    own = new_invitation(uses_max=1)  # guests have all of theirs
    if not kept:
        write_invitations(charter.folder, [*charter.invitations, own])
    link = kept[0] if kept else link_to([LOOPBACK], desk, charter.manifest.id, own.secret)
    host(home, hosted(charter, runs=True))
    collaborations.keep(link, charter.manifest_path.read_bytes())
    return begin_again(home)


def invite(args: argparse.Namespace) -> int:
    """`potluck invite`; see `potluck invite --help`.

    Raises:
        BadInput: nothing is meant, or there is no such charter, collaboration or invitation.
        LinkProblem: the link of this computer lets nobody else in.
    """
    if args.charter is not None:
        return asyncio.run(_invite(args, load_charter(args.charter.expanduser().absolute())))
    home = Home.find(args.home)
    kept = Collaborations(home).find(args.which or "")
    own = hosted_charters(home).get(kept.id)
    if own is not None:
        args.host = args.host or [*present_hosts(read_ports(own.path).hosts)]
        return asyncio.run(_invite(args, load_charter(own.path)))
    if args.list or args.withdraw is not None:
        hint = "Name the folder of the collaboration with --charter."
        raise BadInput("This computer does not hold the charter of {name}.", kept.name, hint=hint)
    return _pass_on(args, kept)


def _pass_on(args: argparse.Namespace, kept: KeptCollaboration) -> int:
    """Say the link by which this computer came in, once a backbone has said that it lets others in."""
    organiser = kept.manifest.organiser if kept.manifest is not None else ""
    try:
        asyncio.run(look(kept.link, Clock().now))
    except LinkProblem as problem:
        if problem.code not in ENDED:
            raise
        hint = "Ask {organiser} for a link: only the charter makes new ones."
        raise BadInput("{why}", problem.sentence, printable(organiser) or "the organiser", hint=hint) from problem
    if args.json:
        say_json(
            {"event": "invitation", "link": str(kept.link), "id": "", "used": 0, "uses_max": None, "expires": None}
        )
    else:
        print(f"The link by which this computer came in lets in others, too:\n{kept.link}")
    return 0


async def _invite(args: argparse.Namespace, charter: Charter) -> int:
    hosts, now = read_hosts(args.host), Clock().now()
    async with only_command(charter):
        invitations = charter.invitations
        if args.withdraw is not None:
            _withdraw(charter, invitations, args.withdraw)
        elif not args.list:
            made = first_invitation(now, uses=args.uses, days=args.days)
            write_invitations(charter.folder, [*invitations, made])
            invitations = [made]
    if args.withdraw is None:
        log = admissions(charter)
        for invitation in invitations:
            _say(args, invitation, link=link_of(charter, invitation, hosts), used=log.uses.used(invitation), now=now)
    elif not args.json:
        print("Withdrawn: it lets nobody in any more.  Those whom it has let in stay members.")
    return 0


def _withdraw(charter: Charter, invitations: list[Invitation], named: str) -> None:
    left = [invitation for invitation in invitations if named not in {invitation.id, invitation.secret}]
    if len(left) == len(invitations):
        hint = "List all with: potluck invite --list --charter {folder}"
        raise BadInput("There is no invitation {named}.", named[:40], shlex.quote(str(charter.folder)), hint=hint)
    write_invitations(charter.folder, left)


def _say(args: argparse.Namespace, invitation: Invitation, *, link: str, used: int, now: float) -> None:
    if args.json:
        facts = {"id": invitation.id, "uses_max": invitation.uses_max, "used": used, "expires": invitation.expires}
        say_json({"event": "invitation", "link": link, **facts})
        return
    most = "any number of computers" if invitation.uses_max is None else f"{invitation.uses_max} computers"
    days = None if invitation.expires is None else (invitation.expires - now) / DAY_S
    lasts = "without an end" if days is None else f"for {days:.1f} days more" if days > 0 else "expired"
    print(f"{invitation.id}  lets in {most}, has let in {used}, {lasts}")
    print(f"          {link or 'Start the backbone once, then list the invitations: the link names its address.'}")
