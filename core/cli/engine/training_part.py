"""`potluck training-part`: what trains, got, shown and removed."""

import argparse
import asyncio
import contextlib
from pathlib import Path

import msgspec

from core.api.training_part import PartProgress, PartState, PartView
from core.base.problems import BadInput, Busy, Problem
from core.cli.parsing.options import Commands, add_home, add_json
from core.cli.printing.say import say_json
from core.control.one_call import call_once
from core.parts import part
from core.storage.paths import Home
from core.system.progress_bar import ProgressBar

STEPS = {"looking": "looking for it", "downloading": "downloading", "unpacking": "unpacking", "trying": "trying it"}
SAID = {
    PartState.OWN: "This Python has torch: nothing has to be downloaded.",
    PartState.HERE: "The training part is here.",
    **part.LACKING,
}


def add(commands: Commands) -> None:
    """Add the command to the program."""
    parser = commands.add_parser(
        "training-part",
        description="Get, show or remove what trains: torch and what comes with it. An engine that runs begins anew.",
    )
    parser.add_argument(
        "do", nargs="?", choices=("get", "show", "remove"), default="show", help="what to do (default: show)"
    )
    parser.add_argument("--build", metavar="NAME", help="another build than the best that fits, cpu for example")
    parser.add_argument("--from", dest="source", type=Path, metavar="DIR", help="take the files from this folder only")
    add_home(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Do it, and say what is here then.

    Raises:
        Problem: it cannot be done; the sentence says what to do.
    """
    home = Home.find(args.home)
    if args.source is not None and not args.source.is_dir():
        raise BadInput("{folder} is not a folder.", args.source, hint="Name the folder in which the files lie.")
    if args.do == "remove" and not part.remove(home.directory):
        _begin_anew(home)
        if not part.remove(home.directory):
            raise Busy(
                "A program holds some files of the training part open.",
                hint="Quit Potluck and repeat this: it is not used any more.",
            )
    if args.do == "get":
        asyncio.run(_get(args, home))
    if args.do != "show":
        _begin_anew(home)
    view = part.view(home.directory)
    if args.json:
        say_json({"event": "training_part", **msgspec.to_builtins(view)})
    else:
        print("\n".join(lines_of(view)))
    return 0


def lines_of(view: PartView) -> list[str]:
    """What there is and what can be had, for a terminal."""
    said = [
        SAID[view.state]
        + (f" Build {view.build}, {view.disk_bytes / 1e9:.1f} GB in {view.folder}" if view.build else "")
    ]
    for number, build in enumerate(view.builds):
        sizes = f"{build.download_bytes / 1e6:,.0f} MB to download, {build.disk_bytes / 1e9:.1f} GB on the disk"
        said.append(f"  {build.name:<9}{build.title}, about {sizes}{'' if number else ' (fits best)'}")
    if view.better:
        said.append(f"The build for {view.better} would fit better; this version does not know its hashes.")
    return [*said, *filter(None, [view.advice])]


async def _get(args: argparse.Namespace, home: Home) -> None:
    from core.parts.getting import Getting  # noqa: PLC0415 - `show` does without it

    home.create()
    bar = ProgressBar(json=args.json)

    def tell(progress: PartProgress) -> None:
        if args.json:
            say_json(msgspec.to_builtins(progress))
        done, total = progress.done_bytes / 1e6, progress.total_bytes / 1e6
        bar.show(
            progress.share,
            f"{STEPS[progress.step]}{f', {done:,.0f} of {total:,.0f} MB' if total else ''}",
            part=progress.step,
        )

    build = args.build or part.view(home.directory).builds[0].name
    await Getting(home.directory, build, tell, folder=args.source and args.source.absolute()).run()


def _begin_anew(home: Home) -> None:
    """An engine that runs takes up what is here now."""
    with contextlib.suppress(Problem):
        call_once(home, "restart")
