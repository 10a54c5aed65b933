"""Commands of an organiser, at the folder of a collaboration: `invite`, `revoke`."""

import argparse
import asyncio
import re
import shlex
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager

from core.backbone.admission_log import AdmissionLog
from core.backbone.charter import Charter, load_charter, revoke
from core.backbone.invitations import DAY_S, Invitation, first_invitation, write_invitations
from core.backbone.link import link_to, read_hosts
from core.backbone.ports import read_ports
from core.backbone.serve import BACKBONE_NAME
from core.base.ids import PeerId
from core.base.problems import BadInput, Busy, quoted
from core.cli.say import say_json
from core.net.clock import Clock
from core.system.file_lock import held

LOCK = "organiser.lock"
LOCK_S = 10.0


def run_invite(args: argparse.Namespace) -> int:
    """`potluck invite`; see `potluck invite --help`."""
    return asyncio.run(_invite(args))


def run_revoke(args: argparse.Namespace) -> int:
    """`potluck revoke`; see `potluck revoke --help`."""
    return asyncio.run(_revoke(args))


async def _revoke(args: argparse.Namespace) -> int:
    charter = load_charter(args.charter.expanduser().absolute())
    async with _only_command(charter):
        log = AdmissionLog(charter.folder)
        keys = _keys(log, args.who)
        records = revoke(charter, keys, now=Clock().now())
    for key in keys:
        if args.json:
            say_json({"event": "revoked", "key": key.hex(), "name": log.name_of(key), "number": records.number})
        else:
            print(f"{log.name_of(key) or key.hex()} is shut out: all peers learn it within a minute.")
    return 0


def _keys(log: AdmissionLog, who: str) -> list[PeerId]:
    """The keys that an organiser means.

    Raises:
        BadInput: nobody is called so, or it is the backbone itself.
    """
    keys = [PeerId(bytes.fromhex(who))] if re.fullmatch("[0-9a-f]{64}", who) else log.keys_of(who)
    if not keys:
        raise BadInput(f"Nobody here is called {quoted(who)}.", hint="Give a name as the leaderboard has it, or a key.")
    if any(log.name_of(key) == BACKBONE_NAME for key in keys):
        raise BadInput("The backbone itself cannot be shut out.")
    return keys


def _only_command(charter: Charter) -> AbstractAsyncContextManager[None]:
    """Hold the lock of the commands that change a charter."""
    busy = Busy("Another command changes this collaboration.", hint="Try again in a moment.")
    return held(charter.folder / LOCK, patience_s=LOCK_S, otherwise=busy)


async def _invite(args: argparse.Namespace) -> int:
    charter, hosts = load_charter(args.charter.expanduser().absolute()), read_hosts(args.host)
    now = Clock().now()
    async with _only_command(charter):
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
        invitation: That the link carries.
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
