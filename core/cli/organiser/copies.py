"""`potluck copies`: lists the copies of the model in a charter, or has everybody go back to one."""

import argparse
import asyncio
from pathlib import Path

from core.api.moderation import CopiesView
from core.api.numbers import amount, moment_text
from core.authority.changes import check_moderator, new_decisions
from core.authority.view import outcome
from core.backbone.charter import keep_document, load_charter, only_command, read_charter_records
from core.backbone.kept_states import STATES, way_back
from core.backbone.mirrors import CopyPlan, MirrorNote, check_address, read_notes, read_plan, shown, write_plan
from core.backbone.moderators.moderator_desk import copies_of
from core.base.problems import BadInput, printable, quoted
from core.cli.printing.say import say_json
from core.net.clock import Clock


def run(args: argparse.Namespace) -> int:
    """Run `potluck copies`; see `potluck copies --help`.

    Raises:
        BadInput: there is no such copy, or no charter.
        Damaged: the copy is.
        NotTrusted: the founder's key is not a moderator's any more.
    """
    return asyncio.run(_copies(args))


async def _copies(args: argparse.Namespace) -> int:
    if args.back_to is None:
        folder = load_charter(args.charter.expanduser().absolute()).folder
        if args.every is not None or args.mirror or args.no_mirror:
            _plan(args, folder)
        list_copies(args)
        _say_plan(folder, json=args.json)
        return 0
    charter = load_charter(args.charter.expanduser().absolute())
    folder = charter.folder / STATES
    known = read_charter_records(charter)
    check_moderator(known, charter.authority.peer_id)
    chosen = known.decisions.back
    back = await asyncio.to_thread(way_back, folder, args.back_to, charter.manifest.id, chosen)
    async with only_command(charter):
        records = read_charter_records(charter)
        document = new_decisions(records, charter.authority, Clock().now(), back=back, words=args.words)
        keep_document(charter, records, document)
    what = outcome(records, document)
    if args.json:
        say_json({"event": "gone_back", "copy": args.back_to, "epoch": back.epoch, "done": what.done, "id": what.id})
    elif what.done:
        print(f"Everybody goes back to epoch {back.epoch}, also those who are away now, when they come back.")
        print("A backbone with this copy gives it, within seconds if it runs.")
    else:
        print(f"It is proposed to go back to epoch {back.epoch}.  Another moderator agrees with:")
        print(f"  potluck moderate sign {what.id}")
    return 0


def list_copies(args: argparse.Namespace) -> int:
    """Print the copies in a charter.

    Raises:
        BadInput: there is no charter.
    """
    charter = load_charter(args.charter.expanduser().absolute())
    say_copies(copies_of(charter.folder / STATES, read_charter_records(charter).decisions.back), json=args.json)
    return 0


def say_copies(view: CopiesView, *, json: bool) -> None:
    """Print the copies that a view has, one a line."""
    for one in view.copies:
        if json:
            facts = {"copy": one.number, "epoch": one.epoch, "came": one.came, "loss": one.loss}
            say_json({"event": "copy", **facts, "chosen": one.chosen})
            continue
        moment = moment_text(one.came)
        measured = "" if one.loss is None else f", held-out loss {one.loss:.4g}"
        print(f"{one.number:>6}  epoch {one.epoch}, {moment}{measured}{', all went back to it' if one.chosen else ''}")


def _plan(args: argparse.Namespace, folder: Path) -> None:
    """Change how often copies are taken, and where they are put."""
    plan, gone = read_plan(folder), {check_address(each, folder) for each in args.no_mirror}
    if unknown := gone - {*plan.mirrors}:
        raise BadInput("{address} is not a mirror.", quoted(unknown.pop(), 80), hint="List them with: potluck copies")
    added = [check_address(each, folder) for each in args.mirror]
    every = plan.every_s if args.every is None else 60 * args.every or None
    mirrors = tuple(each for each in dict.fromkeys([*plan.mirrors, *added]) if each not in gone)
    write_plan(folder, CopyPlan(every_s=every, mirrors=mirrors))


def _say_plan(folder: Path, *, json: bool) -> None:
    plan, notes = read_plan(folder), read_notes(folder)
    if json and plan != CopyPlan():
        names = [shown(each) for each in plan.mirrors]
        names = [f"{name} ({n})" if names.count(name) > 1 else name for n, name in enumerate(names, 1)]
        mirrors = {name: notes.get(each, MirrorNote()) for name, each in zip(names, plan.mirrors, strict=True)}
        say_json({"event": "plan", "every_s": plan.every_s, "mirrors": mirrors})
    if json:
        return
    if plan.every_s is not None:
        print(f"A copy is taken every {amount(plan.every_s // 60)} min while somebody trains, as far as lines allow.")
    for each in plan.mirrors:
        note = notes.get(each, MirrorNote())
        has = f"copy {note.copy} since {moment_text(note.at)}" if note.copy else "no copy yet"
        failed = f"; failed {amount(note.failed)} times: {note.fault} Tried again {moment_text(note.again_at)}."
        print(printable(f"Mirror {shown(each)}: {has}{failed if note.failed else ''}"))
