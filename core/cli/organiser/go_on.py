"""`potluck found --go-on`: a charter of a collaboration that goes on from the model of one that was left behind."""

import argparse
import asyncio
import re
from pathlib import Path

import msgspec

from core.backbone import charter as charters
from core.backbone.admission_log import AdmissionLog, Newcomer
from core.backbone.copy_check import check_copy
from core.backbone.kept_states import STATES, begin_with, note_loss
from core.backbone.remembered import Ports, write_ports
from core.base.content import chunk_digests, root_digest
from core.base.data_source import MEMBERS
from core.base.ids import AccountId, PeerId, account_of
from core.base.manifest import FOUNDER, PREDECESSOR, Manifest
from core.base.problems import BadInput, Damaged, Problem
from core.base.state_header import ORIGIN_BYTES
from core.cli.model.kept_model import KeptModel, kept_model, newest_state
from core.cli.organiser import charter as founding
from core.cli.organiser.host import take_part
from core.engine.text.own_text import link_or_copy
from core.engine.text.shard_sharing import SHARDS
from core.net.clock import Clock
from core.session.shards import indexes_of
from core.storage.paths import Home
from core.system.atomic_files import make_directory, problem_of, write_atomic
from core.system.file_chunks import file_chunks

NAME_LETTERS_MAX = 80
ELSEWHERE = "Go on from another member's computer."


def run(args: argparse.Namespace) -> int:
    """Found the collaboration, and say what to do with it.

    Raises:
        BadInput: this computer has no such collaboration, no model of it, or not its text.
        Damaged: the model or a file is.
        NoSpace: the disk is full.
    """
    if args.recipe or args.text or args.start:
        raise BadInput("--go-on takes recipe, text and model from the collaboration.", hint="Leave the others out.")
    named = Path(args.go_on).expanduser()
    folder = named if (named / charters.AUTHORITY).exists() else None
    kept = kept_model(argparse.Namespace(home=args.home, collaboration=args.go_on, charter=folder))
    args.name = args.name or next_name(kept.manifest.name)
    ports = founding.ports_of(args)
    done = asyncio.run(_found(args, kept, ports))
    if args.with_engine:
        done.facts["running"] = take_part(Home.find(args.home), done.charter)
    founding.say(args, done, ports)
    return 0


def next_name(name: str) -> str:
    """The name of a collaboration that goes on from the one of this name."""
    numbered = re.fullmatch(r"(.*) \((\d{1,6})\)", name)
    first, suffix = (numbered[1], f" ({int(numbered[2]) + 1})") if numbered else (name, " (2)")
    return first[: NAME_LETTERS_MAX - len(suffix)] + suffix


async def _found(args: argparse.Namespace, kept: KeptModel, ports: Ports) -> founding.Founded:
    """Make the charter beside its place, and move it there when it is whole."""
    place, old, there, now = founding.place(args, args.name), kept.manifest, kept.manifest_path.parent, Clock().now()
    founding.check_free(place)
    authority = charters.new_authority()
    records = charters.read_charter_records(charters.Charter(there, old, authority))  # a member's folder has them, too
    back = records.decisions.back
    async with founding.workplace(place) as work:
        state = newest_state(kept, work, origin=b"" if back is None else back.root[-ORIGIN_BYTES:])
        if old.last_epoch is not None and state.header.epoch >= old.last_epoch:
            raise BadInput("{name} has come to its end.", old.name, hint="Found a new one: potluck found --help")
        folder = work / "charter"
        manifest = _manifest(args, old, authority.peer_id, _keep_files(old, kept.blobs, folder))
        among = [there / charters.SHARDS, Home.find(args.home).directory / SHARDS, *filter(None, [args.shards])]
        _bring_text(old, kept.blobs, folder / charters.SHARDS, among)
        made = charters.found(folder, manifest, authority, founding.invitation(args))
        copy = begin_with(folder / STATES, state.path, manifest=manifest.id)
        check = await check_copy(made, copy.path)
        if check.fault:
            raise Damaged(
                "The newest model of {name} here cannot be used. {fault}", old.name, check.fault, hint=ELSEWHERE
            )
        note_loss(folder / STATES, copy.number, check.loss)
        kept.board.hold(state.header.ledger, copy.epoch)
        gave = {key for key, row in kept.board.ledger.rows.items() if row.samples} - records.shut_out(now)
        names = {key: name for key, name in kept.board.names.items() if key in gave}
        _enter(AdmissionLog(folder), names, now)
        write_ports(folder, ports)
        founding.move(folder, place)
    facts = {"goes_on_from": old.id.hex(), "epoch": copy.epoch}
    said = f"It goes on from epoch {copy.epoch} of {old.name}. Those who gave to that keep their names and samples."
    return founding.Founded(charters.Charter(place, manifest, authority), facts, said)


def _manifest(args: argparse.Namespace, old: Manifest, authority: PeerId, blobs: dict[str, str]) -> Manifest:
    """The old one with another key, other words and other blobs."""
    words = {"name": args.name, "organiser": args.organiser or FOUNDER, "summary": args.summary or old.summary}
    made = msgspec.structs.replace(old, authority=authority.hex(), blobs=blobs, **words)
    try:
        return msgspec.convert(msgspec.to_builtins(made), Manifest)
    except msgspec.ValidationError as error:
        raise BadInput("What was said cannot be used: {error}.", error, hint="Use fewer words.") from error


def _keep_files(manifest: Manifest, blobs: Path, folder: Path) -> dict[str, str]:
    """Copy a collaboration's files and its manifest into a charter; returns their digests in hex, by name."""
    named = {name: hexed for name, hexed in manifest.blobs.items() if name != PREDECESSOR}
    try:
        whole = charters.keep_blobs(folder, {name: blobs / hexed for name, hexed in named.items()}) == named
    except OSError:
        whole = False
    if not whole:
        raise Damaged("Files of {name} are missing or damaged on this computer.", manifest.name, hint=ELSEWHERE)
    write_atomic(folder / charters.BLOBS / manifest.id.hex(), manifest.canonical())
    return {**named, PREDECESSOR: manifest.id.hex()}


def _bring_text(manifest: Manifest, blobs: Path, out: Path, among: list[Path]) -> None:
    """Link the shards that members give each other into a folder, those of source N into its folder N.

    Args:
        manifest: Says where the text lies.
        blobs: The folder of its files.
        out: The new folder.
        among: Folders with shards, under the names of their files or of their digests.
    """
    for source in manifest.sources:
        if source.path and not Path(source.path).exists():
            message = "The text of {name} lies in {path}, which is not on this computer."
            hint = "Bring it here, or go on from a computer that has it."
            raise BadInput(message, manifest.name, source.path, hint=hint)
    shared = {at: index for at, index in indexes_of(manifest, blobs).items() if manifest.sources[at].address == MEMBERS}
    missing = 0
    try:
        for at, index in shared.items():
            make_directory(out / str(at))
            for one in map(index.shard, range(len(index))):
                paths = (place / name for place in among for name in (f"{at}/{one.name}", one.name, one.root.hex()))
                if (shard := next((path for path in paths if _is_shard(path, one.root)), None)) is not None:
                    link_or_copy(shard, out / str(at) / one.name)
                missing += shard is None
    except OSError as error:
        raise problem_of(error, out) from error
    if missing:
        raise BadInput(
            "The text of {name} lies in {sum} shards, {missing} of which are not on this computer.",
            manifest.name,
            sum(map(len, shared.values())),
            missing,
            hint="Other members have them in the folder shards of their Potluck home: bring those files here into one "
            "folder, and name it with --shards.",
        )


def _is_shard(path: Path, root: bytes) -> bool:
    return path.is_file() and root_digest(chunk_digests(file_chunks(path))) == root


def _enter(log: AdmissionLog, names: dict[PeerId, str], now: float) -> None:
    """Let in those who gave to the model, by name: so the board knows them, and no name becomes another's."""
    accounts: dict[str, AccountId] = {}
    for key, name in names.items():
        try:
            log.enter(Newcomer(key, name), invitation="", now=now, account=accounts.get(name))
        except Problem:  # a name by an earlier rule, or one key too many: it needs an invitation, as anybody
            continue
        accounts.setdefault(name, account_of(key))
