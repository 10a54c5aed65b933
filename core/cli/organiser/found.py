"""`potluck found`: a charter of a recipe, and what to do with it."""

import argparse
import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

import resources
from core.api.numbers import amount
from core.backbone.invitations import Invitation
from core.backbone.link import read_hosts
from core.backbone.remembered import Ports, write_ports
from core.base.data_source import DataSource
from core.base.manifest import FOUNDER
from core.base.problems import BadInput
from core.cli.organiser.charter import Founded, check_free, invitation, move, place, ports_of, say, workplace
from core.cli.organiser.found_questions import ask
from core.cli.organiser.host import take_part
from core.cli.organiser.recipes import Chosen
from core.cli.printing.tables import losses_of
from core.cli.volunteer.needs import needs_of, sentences
from core.engine.founding import found
from core.engine.text.own_text import own_text
from core.storage.paths import Home


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


def run(args: argparse.Namespace) -> int:
    """`potluck found`; see `potluck found --help`."""
    read_hosts(args.host)
    if args.recipe is None:
        if args.charter is not None:
            check_free(place(args, ""))
        ask(args, lambda name: check_free(place(args, name)))
    chosen = _chosen(args)
    folder = place(args, args.name or chosen.path.stem)
    ports = ports_of(args)
    done = asyncio.run(_found(Founding(chosen, folder, ports, invitation(args))))
    if args.with_engine:
        done.facts["running"] = take_part(Home.find(args.home), done.charter)
    say(args, done, ports)
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
        raise BadInput("What was said cannot be used: {error}.", error, hint="Use fewer words.") from error
    start = args.start.expanduser().absolute() if args.start is not None else None
    return replace(chosen, recipe=recipe, start=start, tells=args.progress)


def _with_rights(source: DataSource, said: Mapping[str, str]) -> DataSource:
    """The source with what was said of the text, where it says nothing of itself."""
    return msgspec.structs.replace(source, **{name: said[name] for name in said if not getattr(source, name)})


async def _found(asked: Founding) -> Founded:
    """Make the charter beside its place, and move it there when it is whole.

    Raises:
        BadInput: something is at that place already, or the text cannot be used.
        Busy: another command founds a collaboration there.
        NoSpace: the disk is full; nothing is left of the charter.
    """
    folder, chosen = asked.folder, asked.chosen
    check_free(folder)
    async with workplace(folder) as work:
        shards, bar = work / "shards", chosen.bar
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
    charter = replace(charter, folder=folder)
    needs = needs_of(
        prepared.costs, charter.manifest, blob_bytes=sum(path.stat().st_size for path in charter.blobs.iterdir())
    )
    cuts = (
        f"Its text: {amount(cut['documents'])} texts, {amount(cut['characters'])} characters; "
        f"the backbone gives it to volunteers.\n{losses_of(cut)}"
        for cut in text.cuts
    )
    return Founded(charter, {"text": text.cuts, "needs": needs}, "".join(cuts) + sentences(needs))


def _of_own_folders(problem: BadInput, own: tuple[DataSource, ...], cut: tuple[DataSource, ...]) -> BadInput:
    """The problem with the names of the person's own folders in the place of those that were made of them."""
    message = problem.message
    for mine, made in zip(own, cut, strict=True):
        message = message.replace(made.address, mine.address) if made.path else message
    return BadInput(message, hint=problem.hint)
