"""What commands of an organiser share at the folder of a collaboration, such as its beginning."""

import argparse
import contextlib
import shlex
import shutil
import socket
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.api.numbers import amount
from core.backbone.charter import Charter
from core.backbone.invitations import Invitation, first_invitation
from core.backbone.link import link_to, read_hosts
from core.backbone.remembered import Ports, read_ports
from core.base.ids import fingerprint
from core.base.problems import BadInput, Busy
from core.base.usual_link import LINK_DAYS
from core.cli.printing.say import say_json
from core.net.addresses.hosts import SAID, Reach, reach
from core.net.clock import Clock
from core.storage.paths import FOUNDED, Home
from core.system.atomic_files import make_directory, problem_of
from core.system.file_lock import held

LOCK_S = 1.0


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


@dataclass(frozen=True, slots=True)
class Founded:
    """What was founded, and what was found out on the way, for programs and for people."""

    charter: Charter
    facts: dict[str, Any]
    said: str


def invitation(args: argparse.Namespace) -> Invitation:
    """The first one, as the options have it."""
    return first_invitation(Clock().now(), uses=args.uses, days=args.days)


def check_free(folder: Path) -> None:
    """Refuse a place where something is."""
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise BadInput(
            "{folder} is there already; nothing in it was changed.",
            folder,
            hint="Choose another name, or name another folder with --charter.",
        )


@contextlib.asynccontextmanager
async def workplace(folder: Path) -> AsyncIterator[Path]:
    """A folder beside the charter's, for one command at a time; what one that was killed has left there goes."""
    work = folder.with_name(f".{folder.name}.founding")
    lock = work.with_name(f"{work.name}.lock")
    busy = Busy(
        "Another command founds {name} there.", folder.name, hint="Wait for it, or name another folder: --charter."
    )
    make_directory(folder.parent)
    async with held(lock, patience_s=LOCK_S, otherwise=busy):
        try:
            shutil.rmtree(work, ignore_errors=True)
            make_directory(work)
            yield work
        finally:
            shutil.rmtree(work, ignore_errors=True)
            with contextlib.suppress(OSError):  # Windows keeps a file that is open
                lock.unlink()


def move(charter: Path, folder: Path) -> None:
    """Give a whole charter its place, where nothing is.

    Raises:
        BadInput: another collaboration has been founded there meanwhile.
    """
    try:
        if folder.exists():
            folder.rmdir()
        charter.rename(folder)
    except OSError as error:
        check_free(folder)
        raise problem_of(error, folder) from error


def say(args: argparse.Namespace, done: Founded, ports: Ports) -> None:
    """Say what was founded, and what comes next."""
    charter, manifest = done.charter, done.charter.manifest
    invitation = charter.invitations[0]
    link = link_of(charter, invitation)
    command = f"potluck backbone --charter {shlex.quote(str(charter.folder))}"
    command = "potluck engine" if args.with_engine else command if ports.host else f"{command} --host ADDRESS"
    if args.json:
        facts = {"charter": str(charter.folder), "collaboration": manifest.id.hex(), "link": link, "command": command}
        facts["fingerprint"] = fingerprint(manifest.authority_id)
        facts |= {"host": ports.host, "reach": reach(ports.host) if ports.host else ""}
        lasts = {"uses_max": invitation.uses_max, "expires": invitation.expires}
        at = {"peers": ports.peers, "desk": ports.desk}
        asked = {"ports": at, "also": ports.also, "invitation": lasts}
        say_json({"event": "founded", **facts, **asked, **done.facts})
        return
    print(f"Founded {manifest.name} in {charter.folder}.\n{done.said}")
    print(f"Fingerprint of its key, for volunteers to compare: {fingerprint(manifest.authority_id)}")
    print(f"\nNext, where others can reach it:  {command}")
    print(f"Then hand out the link:           {link or 'that command prints it'}")
    print(f"It lets in {_lasting(args, invitation)}; more links: potluck invite --help")
    for host in ports.hosts:
        print(f"{host} can be reached {SAID[reach(host)]}.")
    if Reach.ANYWHERE in map(reach, ports.hosts):
        print(f"A router must forward to this computer: port {ports.desk} (TCP), port {ports.peers} (TCP and UDP).")


def _lasting(args: argparse.Namespace, invitation: Invitation) -> str:
    days = LINK_DAYS if args.days is None else args.days
    most = "any number of computers" if invitation.uses_max is None else f"{amount(invitation.uses_max)} computers"
    return f"{most}, {f'for {amount(days)} days' if days else 'without an end'}"


def place(args: argparse.Namespace, name: str) -> Path:
    """Where the charter of a collaboration of this name goes."""
    among = Home.find(args.home).directory / FOUNDED if args.with_engine else Path()
    return (args.charter or among / _folder(name)).expanduser().absolute()


def _folder(name: str) -> str:
    """A name for a folder that needs no quotes."""
    letters = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in name.lower())
    return letters.strip("-") or "collaboration"


def ports_of(args: argparse.Namespace) -> Ports:
    """Where the backbone is to be found, as the options have it."""
    hosts = read_hosts(args.host)
    peers, desk = free_ports(2)
    return Ports(peers=peers, desk=args.desk_port or desk, host="".join(hosts[:1]), also=hosts[1:])


def free_ports(count: int) -> list[int]:
    """Ports that nothing listens at now: a backbone keeps them as long as nothing takes them meanwhile."""
    with contextlib.ExitStack() as stack:
        made = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in made:
            each.bind(("", 0))
        return [int(each.getsockname()[1]) for each in made]
