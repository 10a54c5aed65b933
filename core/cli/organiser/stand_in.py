"""`potluck backbone --stand-in`: a member's computer gets a backbone with a key of its own.

It has what every member has: the manifest, the files, the records, addresses of peers.  Its key is new, and lets nobody
in before enough moderators have put it on their list; no secret of the founder's is needed.
"""

import argparse
import asyncio
import contextlib
import math
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import Meta

from core.authority.records import BUNDLE_BYTES_MAX
from core.backbone import charter as charters
from core.backbone.charter import Charter, merged_records, read_charter_records
from core.backbone.invitations import first_invitation, write_invitations
from core.backbone.kept_pass import FILE, RECORDS, KeptGrant, records_of
from core.backbone.link import place
from core.backbone.remembered import CONTACTS_MAX, Ports, RememberedContacts, read_ports, write_ports
from core.backbone.serve import PEERS
from core.base.ids import Contact
from core.base.problems import BadInput, Damaged, Problem, printable
from core.cli.organiser import charter as founding
from core.cli.printing.say import say_json
from core.net.clock import Clock
from core.system.atomic_files import make_directory, problem_of, read_bounded, write_atomic

if TYPE_CHECKING:
    from core.cli.model.kept_model import KeptModel

LOOK_S: Final = 1.0
"""Seconds between two looks at what this computer's engine has heard from the moderators."""
_BYTES_MAX: Final = 8 * 1024 * 1024


class _MemberContacts(msgspec.Struct, frozen=True):
    contacts: Annotated[list[Contact], Meta(max_length=1000)] = []


def prepare(args: argparse.Namespace, hosts: Sequence[str]) -> Path:
    """Make the charter, unless there is one; returns the member's folder, where the engine keeps the records.

    Args:
        args: home, stand_in, charter, desk_port.
        hosts: Addresses that others are told.

    Raises:
        BadInput: this computer takes part in no such collaboration.
        Damaged: files of it are missing.
        NoSpace: the disk is full.
    """
    from core.cli.model.kept_model import kept_model  # noqa: PLC0415 - a backbone at rest loads no engine

    kept = kept_model(argparse.Namespace(home=args.home, collaboration=args.stand_in, charter=None))
    there, folder = kept.manifest_path.parent, args.charter.expanduser().absolute()
    if not (folder / charters.MANIFEST).exists():
        asyncio.run(_make(kept, folder))
    known = read_ports(folder)
    peers, desk = founding.free_ports(2)
    ports = Ports(known.peers or peers, args.desk_port or known.desk or desk, hosts[0], tuple(hosts[1:]))
    write_ports(folder, ports)
    return there


async def _make(kept: "KeptModel", folder: Path) -> None:
    founding.check_free(folder)
    there = kept.manifest_path.parent
    async with founding.workplace(folder) as work:
        made = work / "charter"
        make_directory(made / charters.BLOBS)
        try:
            for hexed in set(kept.manifest.blobs.values()):
                shutil.copyfile(kept.blobs / hexed, made / charters.BLOBS / hexed)
            signed, records = kept.manifest_path.read_bytes(), there / RECORDS
            if records.exists():
                shutil.copyfile(records, made / charters.RECORDS)
        except FileNotFoundError as error:
            message, hint = "Files of {name} are missing on this computer.", "Try it on another member's."
            raise Damaged(message, kept.manifest.name, hint=hint) from error
        except OSError as error:
            raise problem_of(error, made) from error
        RememberedContacts(made / PEERS).save(_contacts(there)[:CONTACTS_MAX])
        write_atomic(made / charters.AUTHORITY, charters.new_authority().seed)
        write_invitations(made, [first_invitation(Clock().now())])
        write_atomic(made / charters.MANIFEST, signed)
        founding.move(made, folder)


def _contacts(there: Path) -> list[Contact]:
    """Peers of whom this computer's engine knows."""
    found: list[Contact] = []
    with contextlib.suppress(ValueError, OSError):
        data = read_bounded(there / "memory.json", _BYTES_MAX)
        found += msgspec.json.decode(data or b"{}", type=_MemberContacts).contacts
    with contextlib.suppress(ValueError, OSError):
        data = read_bounded(there / FILE, _BYTES_MAX)
        if data is not None:
            told = msgspec.json.decode(data, type=KeptGrant).grant.contacts
            found += [Contact(one.peer, one.host, one.port) for one in told]
    return list({one.peer: one for one in reversed(found)}.values())


def is_named(charter: Charter) -> bool:
    """Whether the charter's key lets people in, by the moderators' newest list that is known here."""
    return read_charter_records(charter).chain.issuing.get(charter.authority.peer_id) == math.inf


def check_named(charter: Charter) -> None:
    """Refuse to run a backbone whose passes nobody would accept.

    Raises:
        BadInput: it is one.
    """
    if not is_named(charter):
        hint = "Ask the moderators, and start it with --stand-in on a computer that takes part."
        raise BadInput("By the moderators' list, this backbone lets nobody in.", hint=hint)


async def until_named(charter: Charter, there: Path) -> None:
    """Wait until enough moderators have put the charter's key on their list.

    Args:
        charter: The stand-in's.
        there: The member's folder, where its engine keeps what it hears.
    """
    while not is_named(charter):
        heard = records_of(charter.manifest)
        with contextlib.suppress(ValueError, OSError, Problem):
            heard.learn(read_bounded(there / RECORDS, BUNDLE_BYTES_MAX) or b"", None)
            await merged_records(charter, heard)
        await asyncio.sleep(LOOK_S)


def tell(charter: Charter, *, json: bool) -> None:
    """Say what moderators have to sign."""
    ports, key = read_ports(charter.folder), charter.authority.peer_id.hex()
    at = [place(host, ports.desk) for host in ports.hosts]
    words = " ".join(f"--at {shlex.quote(one)}" for one in at)
    command = f"potluck moderate backbone {key} {words} --words NAME"
    if json:
        say_json({"event": "stand_in", "charter": str(charter.folder), "key": key, "at": at, "command": command})
        return
    needed = read_charter_records(charter).roles.threshold
    print(f"A backbone for {printable(charter.manifest.name)}, which lets nobody in yet.")
    print(f"A moderator, whose Potluck runs, types:  {command}")
    print(f"{needed} of them have to agree; each other one types what that prints.  This command waits.", flush=True)
