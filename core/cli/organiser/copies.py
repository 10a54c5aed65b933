"""`potluck copies`: lists the copies of the model in a charter, or has everybody go back to one."""

import argparse
import asyncio
import shlex
import time

from core.backbone.charter import load_charter, only_command
from core.backbone.chosen_copy import go_back
from core.backbone.kept_states import STATES, KeptCopy, chosen_copy, kept_copies
from core.backbone.serve import LOCK
from core.cli.printing.say import say_json
from core.system.file_lock import is_held


def run(args: argparse.Namespace) -> int:
    """Run `potluck copies`; see `potluck copies --help`.

    Raises:
        BadInput: there is no such copy, or no charter.
        Damaged: the copy is.
    """
    return asyncio.run(_copies(args))


async def _copies(args: argparse.Namespace) -> int:
    charter = load_charter(args.charter.expanduser().absolute())
    folder = charter.folder / STATES
    if args.back_to is None:
        chosen, _ = chosen_copy(folder)
        for copy in kept_copies(folder):
            _say(copy, chosen=copy.number == chosen, json=args.json)
        return 0
    async with only_command(charter):
        made = await asyncio.to_thread(go_back, folder, args.back_to)
    runs = is_held(charter.folder / LOCK)
    if args.json:
        say_json({"event": "gone_back", "copy": made.number, "epoch": made.epoch, "backbone_runs": runs})
        return 0
    print(f"Everybody who hears the backbone goes back to epoch {made.epoch}, as the new copy {made.number}.")
    if not runs:
        print(f"No backbone runs: start it with potluck backbone --charter {shlex.quote(str(charter.folder))}")
    return 0


def _say(copy: KeptCopy, *, chosen: bool, json: bool) -> None:
    came = copy.path.stat().st_mtime
    if json:
        say_json({"event": "copy", "copy": copy.number, "epoch": copy.epoch, "came": came, "chosen": chosen})
        return
    moment = time.strftime("%Y-%m-%d %H:%M", time.localtime(came))
    print(f"{copy.number:>6}  epoch {copy.epoch}, {moment}{', gone back to' if chosen else ''}")
