"""`potluck copies`: lists the copies of the model in a charter, or has everybody go back to one."""

import argparse
import asyncio
import time

from core.authority.changes import check_moderator, new_decisions
from core.authority.view import outcome
from core.backbone.charter import keep_document, load_charter, only_command, read_charter_records
from core.backbone.kept_states import STATES, KeptCopy, kept_copies, losses_of, way_back
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
    charter = load_charter(args.charter.expanduser().absolute())
    folder = charter.folder / STATES
    if args.back_to is None:
        back, losses = read_charter_records(charter).decisions.back, losses_of(folder)
        root = "" if back is None else back.root.hex()[:8]
        for copy in kept_copies(folder):
            _say(copy, losses.get(copy.number), chosen=copy.lineage == root, json=args.json)
        return 0
    check_moderator(read_charter_records(charter), charter.authority.peer_id)
    back = await asyncio.to_thread(way_back, folder, args.back_to)
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


def _say(copy: KeptCopy, loss: float | None, *, chosen: bool, json: bool) -> None:
    came = copy.path.stat().st_mtime
    if json:
        facts = {"copy": copy.number, "epoch": copy.epoch, "came": came, "loss": loss}
        say_json({"event": "copy", **facts, "chosen": chosen})
        return
    moment = time.strftime("%Y-%m-%d %H:%M", time.localtime(came))
    measured = "" if loss is None else f", held-out loss {loss:.4g}"
    print(f"{copy.number:>6}  epoch {copy.epoch}, {moment}{measured}{', all went back to it' if chosen else ''}")
