"""`potluck copies`: lists the copies of the model in a charter, or has everybody go back to one."""

import argparse
import asyncio
import shlex
import time

from core.backbone.charter import load_charter, only_command
from core.backbone.chosen_copy import go_back
from core.backbone.kept_states import STATES, KeptCopy, changing_copies, chosen_copy, kept_copies, losses_of
from core.backbone.serve import LOCK
from core.cli.printing.say import say_json
from core.system.file_lock import is_held

FOLLOWING, FOLLOWED = ", all are to go back to it", ", all have gone back to it"


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
        (chosen, followed), losses = chosen_copy(folder), losses_of(folder)
        for copy in kept_copies(folder):
            told = "" if copy.number != chosen else FOLLOWED if followed else FOLLOWING
            _say(copy, losses.get(copy.number), told=told, json=args.json)
        return 0
    async with only_command(charter), changing_copies(charter.folder):
        made = await asyncio.to_thread(go_back, folder, args.back_to)
    runs = is_held(charter.folder / LOCK)
    if args.json:
        say_json({"event": "gone_back", "copy": made.number, "epoch": made.epoch, "backbone_runs": runs})
        return 0
    print(f"All who hear the backbone are to go back to epoch {made.epoch}: it is the new copy {made.number} now.")
    print("The backbone does so within seconds; potluck copies says when all have followed.")
    if not runs:
        print(f"No backbone runs: start it with potluck backbone --charter {shlex.quote(str(charter.folder))}")
    return 0


def _say(copy: KeptCopy, loss: float | None, *, told: str, json: bool) -> None:
    came = copy.path.stat().st_mtime
    if json:
        facts = {"copy": copy.number, "epoch": copy.epoch, "came": came, "loss": loss}
        say_json({"event": "copy", **facts, "chosen": bool(told), "followed": told == FOLLOWED})
        return
    moment = time.strftime("%Y-%m-%d %H:%M", time.localtime(came))
    measured = "" if loss is None else f", held-out loss {loss:.4g}"
    print(f"{copy.number:>6}  epoch {copy.epoch}, {moment}{measured}{told}")
