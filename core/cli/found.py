"""`potluck found`: a charter of a recipe, and what to do with it."""

import argparse
import asyncio
import shlex
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec

import resources
from core.backbone.charter import Charter
from core.backbone.serve import PORTS, Ports
from core.backbone.source import wanted_folder
from core.base.ids import fingerprint
from core.base.problems import BadInput
from core.cli.charter import link_of
from core.cli.needs import needs_of, sentences
from core.cli.recipes import Chosen
from core.cli.say import say_json
from core.engine.founding import Prepared, found
from core.net.hosts import read_host
from core.system.atomic_files import make_directory, problem_of, write_atomic

NAME_LETTERS = 80
FOUNDER = "its founder"


def run(args: argparse.Namespace) -> int:
    """`potluck found`; see `potluck found --help`."""
    host = read_host(args.host)
    asked = {} if args.recipe is not None else _ask(args)
    if args.recipe in resources.names("recipes"):
        asked.setdefault("organiser", FOUNDER)  # the recipe's own words are the demo's
    asked |= {field: said for field in ("name", "organiser") if (said := getattr(args, field))}
    chosen = Chosen.of(args)
    start = args.start.expanduser().absolute() if args.start is not None else None
    chosen = replace(chosen, recipe=msgspec.structs.replace(chosen.recipe, **asked), start=start)
    folder = (args.charter or Path(_folder(asked.get("name", chosen.path.stem)))).expanduser().absolute()
    charter, prepared = _found(chosen, folder)
    ports = Ports(desk=args.desk_port or _free_port(), host=host)
    write_atomic(folder / PORTS, msgspec.json.encode(ports))
    _say(args, charter, prepared, host=host)
    return 0


def _found(chosen: Chosen, folder: Path) -> tuple[Charter, Prepared]:
    """Make the charter beside its place, and move it there when it is whole.

    Raises:
        BadInput: something is at that place already.
    """
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise BadInput(
            f"{folder} is there already; nothing in it was changed.", hint="Name another folder with --charter."
        )
    make_directory(folder.parent)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as name:
        prepared = asyncio.run(chosen.prepare(Path(name) / "prepared"))
        charter = found(chosen.recipe, prepared, Path(name) / "charter")
        try:
            if folder.exists():
                folder.rmdir()
            shutil.move(charter.folder, folder)
        except OSError as error:
            raise problem_of(error, folder) from error
    return replace(charter, folder=folder), prepared


def _say(args: argparse.Namespace, charter: Charter, prepared: Prepared, *, host: str) -> None:
    manifest = charter.manifest
    needs = needs_of(prepared.costs, manifest, blob_bytes=sum(path.stat().st_size for path in charter.blobs.iterdir()))
    link = link_of(charter, charter.invitations[0], host)
    command = f"potluck backbone --charter {shlex.quote(str(charter.folder))} --host {host or 'ADDRESS'}"
    text = wanted_folder(manifest)
    if args.json:
        facts = {"charter": str(charter.folder), "collaboration": manifest.id.hex(), "link": link, "command": command}
        facts["fingerprint"] = fingerprint(manifest.authority_id)
        say_json({"event": "founded", **facts, "needs": needs})
        return
    print(f"Founded {manifest.name} in {charter.folder}.\n{sentences(needs)}")
    print(f"Fingerprint of its key, for volunteers to compare: {fingerprint(manifest.authority_id)}")
    if text:
        print(f"Each volunteer needs the text in the same folder, and allows it with: --text {shlex.quote(text)}")
    print(f"\nNext, where others can reach it:  {command}")
    print(f"Then hand out the link:           {link or 'that command prints it'}")


def _ask(args: argparse.Namespace) -> dict[str, str]:
    """Ask for what matters, where a person sits in front of it; the answers go to the options and into the recipe.

    Raises:
        BadInput: nobody is there to answer.
    """
    names = resources.names("recipes")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise BadInput("No recipe is named.", hint=f"Name a file, or one that comes along: {', '.join(names)}.")
    name = _answer("What is the collaboration called?", lambda said: 0 < len(said) <= NAME_LETTERS, default="")
    organiser = _answer("Who runs it?", lambda said: len(said) <= NAME_LETTERS, default=FOUNDER)
    text = _answer(
        "Which folder of text does it learn from? (empty: the recipe's own)",
        lambda said: not said or Path(said).expanduser().is_dir(),
        default="",
    )
    args.recipe = _answer(
        f"Which recipe? ({', '.join(names)}; or a file)",
        lambda said: said in names or Path(said).expanduser().is_file(),
        default="first-words",
    )
    args.text = Path(text) if text else args.text
    return {"name": name, "organiser": organiser}


def _answer(question: str, fits: Callable[[str], bool], *, default: str) -> str:
    """The person's answer, asked for until it fits."""
    while True:
        try:
            said = input(f"{question}{f' [{default}]' if default else ''} ").strip() or default
        except EOFError as error:
            raise BadInput("The questions were not answered; nothing was founded.") from error
        if fits(said):
            return said
        print("That cannot be used.")


def _folder(name: str) -> str:
    """A name for a folder that needs no quotes."""
    letters = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in name.lower())
    return letters.strip("-") or "collaboration"


def _free_port() -> int:
    """A port that nothing listens at now: a backbone keeps it as long as nothing takes it meanwhile."""
    with socket.socket() as made:
        made.bind(("", 0))
        return int(made.getsockname()[1])
