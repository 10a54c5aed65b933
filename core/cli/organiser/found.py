"""`potluck found`: a charter of a recipe, and what to do with it."""

import argparse
import asyncio
import contextlib
import shlex
import shutil
import socket
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

import resources
from core.api.numbers import amount
from core.backbone.charter import Charter
from core.backbone.invitations import Invitation, first_invitation
from core.backbone.link import read_hosts
from core.backbone.ports import Ports, write_ports
from core.base.data_source import DataSource
from core.base.ids import fingerprint
from core.base.manifest import FOUNDER
from core.base.problems import BadInput, Busy
from core.base.usual_link import LINK_DAYS
from core.cli.organiser.charter import link_of
from core.cli.organiser.found_questions import ask
from core.cli.organiser.recipes import Chosen
from core.cli.printing.say import say_json
from core.cli.printing.tables import losses_of
from core.cli.volunteer.needs import needs_of, sentences
from core.engine.founding import Prepared, found
from core.engine.text.own_text import own_text
from core.net.addresses.hosts import SAID, Reach, reach
from core.net.clock import Clock
from core.system.atomic_files import make_directory, problem_of
from core.system.file_lock import held
from core.system.progress_bar import ProgressBar

LOCK_S = 1.0


@dataclass(frozen=True, slots=True)
class Founding:
    """What is to be founded, and where.

    Attributes:
        chosen: The recipe, with what the person has said of it.
        folder: Where the charter goes.
        ports: Where the backbone is to be found.
        invitation: Lets people in first.
    """

    chosen: Chosen
    folder: Path
    ports: Ports
    invitation: Invitation


@dataclass(frozen=True, slots=True)
class Founded:
    """What was founded, and what was found out on the way."""

    charter: Charter
    prepared: Prepared
    cuts: tuple[dict[str, Any], ...]


def run(args: argparse.Namespace) -> int:
    """`potluck found`; see `potluck found --help`."""
    hosts = read_hosts(args.host)
    if args.recipe is None:
        if args.charter is not None:
            _check_free(_place(args, ""))
        ask(args, lambda name: _check_free(_place(args, name)))
        hosts = read_hosts(args.host)
    chosen = _chosen(args)
    folder = _place(args, args.name or chosen.path.stem)
    peers, desk = _free_ports(2)
    ports = Ports(peers=peers, desk=args.desk_port or desk, host="".join(hosts[:1]), also=hosts[1:])
    _say(args, asyncio.run(_found(Founding(chosen, folder, ports, _invitation(args)))), ports)
    return 0


def _chosen(args: argparse.Namespace) -> Chosen:
    """The recipe with the words that the person has said in the place of its own.

    Raises:
        BadInput: it cannot be used, or a word is too long.
    """
    asked = {field: said for field in ("name", "organiser", "summary") if (said := getattr(args, field))}
    if args.recipe in resources.names("recipes"):
        asked.setdefault("organiser", FOUNDER)  # the recipe's own words are the demo's
    rights = {field: said for field in ("licence", "credit") if (said := getattr(args, field))}
    chosen = Chosen.of(args)
    recipe = msgspec.structs.replace(chosen.recipe, **asked)
    if rights:
        recipe = recipe.with_sources(tuple(_with_rights(one, rights) for one in recipe.sources))
    try:
        msgspec.convert(msgspec.to_builtins(recipe), type(recipe))
    except msgspec.ValidationError as error:
        raise BadInput(f"What was said cannot be used: {error}.", hint="Use fewer words.") from error
    return replace(chosen, recipe=recipe, start=args.start.expanduser().absolute() if args.start is not None else None)


def _with_rights(source: DataSource, said: Mapping[str, str]) -> DataSource:
    """The source with what was said of the text, where it says nothing of itself."""
    return msgspec.structs.replace(source, **{name: said[name] for name in said if not getattr(source, name)})


def _invitation(args: argparse.Namespace) -> Invitation:
    return first_invitation(Clock().now(), uses=args.uses, days=args.days)


async def _found(asked: Founding) -> Founded:
    """Make the charter beside its place, and move it there when it is whole.

    Raises:
        BadInput: something is at that place already, or the text cannot be used.
        Busy: another command founds a collaboration there.
        NoSpace: the disk is full; nothing is left of the charter.
    """
    folder, chosen = asked.folder, asked.chosen
    _check_free(folder)
    async with workplace(folder) as work:
        shards, bar = work / "shards", ProgressBar(json=chosen.json)
        try:
            text = await own_text(
                chosen.recipe, shards, stage=lambda said, share: bar.show(share, said, part="Cutting the text")
            )
        finally:
            bar.clear()
        try:
            prepared = await replace(chosen, recipe=text.recipe).prepare(work / "prepared")
        except BadInput as problem:
            raise _of_own_folders(problem, chosen.recipe.sources, text.recipe.sources) from problem
        charter = found(text.recipe, prepared, work / "charter", shards=shards, invitation=asked.invitation)
        write_ports(charter.folder, asked.ports)
        move(charter.folder, folder)
    return Founded(replace(charter, folder=folder), prepared, text.cuts)


def _check_free(folder: Path) -> None:
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise BadInput(
            f"{folder} is there already; nothing in it was changed.",
            hint="Choose another name, or name another folder with --charter.",
        )


@contextlib.asynccontextmanager
async def workplace(folder: Path) -> AsyncIterator[Path]:
    """A folder beside the charter's, for one command at a time; what one that was killed has left there goes."""
    work = folder.with_name(f".{folder.name}.founding")
    lock = work.with_name(f"{work.name}.lock")
    busy = Busy(f"Another command founds {folder.name} there.", hint="Wait for it, or name another folder: --charter.")
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
        _check_free(folder)
        raise problem_of(error, folder) from error


def _of_own_folders(problem: BadInput, own: tuple[DataSource, ...], cut: tuple[DataSource, ...]) -> BadInput:
    """The problem with the names of the person's own folders in the place of those that were made of them."""
    message = problem.message
    for mine, made in zip(own, cut, strict=True):
        message = message.replace(made.address, mine.address) if made.path else message
    return BadInput(message, hint=problem.hint)


def _say(args: argparse.Namespace, done: Founded, ports: Ports) -> None:
    charter, manifest = done.charter, done.charter.manifest
    blob_bytes = sum(path.stat().st_size for path in charter.blobs.iterdir())
    needs = needs_of(done.prepared.costs, manifest, blob_bytes=blob_bytes)
    invitation = charter.invitations[0]
    link = link_of(charter, invitation)
    command = f"potluck backbone --charter {shlex.quote(str(charter.folder))}"
    command += "" if ports.host else " --host ADDRESS"
    if args.json:
        facts = {"charter": str(charter.folder), "collaboration": manifest.id.hex(), "link": link, "command": command}
        facts["fingerprint"] = fingerprint(manifest.authority_id)
        facts |= {"host": ports.host, "reach": reach(ports.host) if ports.host else ""}
        lasts = {"uses_max": invitation.uses_max, "expires": invitation.expires}
        at = {"peers": ports.peers, "desk": ports.desk}
        asked = {"ports": at, "also": ports.also, "invitation": lasts, "text": done.cuts}
        say_json({"event": "founded", **facts, **asked, "needs": needs})
        return
    print(f"Founded {manifest.name} in {charter.folder}.")
    for cut in done.cuts:
        print(
            f"Its text: {amount(cut['documents'])} texts, {amount(cut['characters'])} characters; "
            f"the backbone gives it to volunteers.\n{losses_of(cut)}",
            end="",
        )
    print(sentences(needs))
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


def _place(args: argparse.Namespace, name: str) -> Path:
    """Where the charter of a collaboration of this name goes."""
    return (args.charter or Path(_folder(name))).expanduser().absolute()


def _folder(name: str) -> str:
    """A name for a folder that needs no quotes."""
    letters = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in name.lower())
    return letters.strip("-") or "collaboration"


def _free_ports(count: int) -> list[int]:
    """Ports that nothing listens at now: a backbone keeps them as long as nothing takes them meanwhile."""
    with contextlib.ExitStack() as stack:
        made = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in made:
            each.bind(("", 0))
        return [int(each.getsockname()[1]) for each in made]
