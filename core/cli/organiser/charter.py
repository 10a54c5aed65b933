"""`potluck invite`, and what it shares with other commands of an organiser at the folder of a collaboration."""

import argparse
import asyncio
import shlex
from collections.abc import Sequence

from core.backbone.admission_log import AdmissionLog
from core.backbone.charter import Charter, load_charter, only_command
from core.backbone.invitations import DAY_S, Invitation, first_invitation, write_invitations
from core.backbone.link import link_to, read_hosts
from core.backbone.ports import read_ports
from core.base.problems import BadInput
from core.cli.printing.say import say_json
from core.net.clock import Clock


def run_invite(args: argparse.Namespace) -> int:
    """`potluck invite`; see `potluck invite --help`."""
    return asyncio.run(_invite(args))


async def _invite(args: argparse.Namespace) -> int:
    charter, hosts = load_charter(args.charter.expanduser().absolute()), read_hosts(args.host)
    now = Clock().now()
    async with only_command(charter):
        invitations = charter.invitations
        if args.withdraw is not None:
            _withdraw(charter, invitations, args.withdraw)
        elif not args.list:
            made = first_invitation(now, uses=args.uses, days=args.days)
            write_invitations(charter.folder, [*invitations, made])
            invitations = [made]
    if args.withdraw is None:
        log = AdmissionLog(charter.folder)
        for invitation in invitations:
            _say(args, invitation, link=link_of(charter, invitation, hosts), used=log.used(invitation), now=now)
    elif not args.json:
        print("Withdrawn: it lets nobody in any more.  Those whom it has let in stay members.")
    return 0


def _withdraw(charter: Charter, invitations: list[Invitation], named: str) -> None:
    left = [invitation for invitation in invitations if named not in {invitation.id, invitation.secret}]
    if len(left) == len(invitations):
        raise BadInput(
            f"There is no invitation {named[:40]}.",
            hint=f"List all with: potluck invite --list --charter {shlex.quote(str(charter.folder))}",
        )
    write_invitations(charter.folder, left)


def link_of(charter: Charter, invitation: Invitation, hosts: Sequence[str] = ()) -> str:
    """The link with an invitation; empty: it is not known where the backbone is.

    Args:
        charter: The collaboration.
        invitation: Invitation that the link carries.
        hosts: Addresses of the backbone; none: its last ones.
    """
    kept = read_ports(charter.folder)
    told = hosts or kept.hosts
    return str(link_to(told, kept.desk, charter.manifest.id, invitation.secret)) if told and kept.desk else ""


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
