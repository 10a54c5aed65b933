"""`potluck data` and `potluck tokenizer`: asks a child that has the libraries, and says what it found."""

import argparse
import asyncio
import importlib.util
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from core.api.numbers import amount, lasting, volume
from core.backbone.charter import load_charter
from core.base.allowed import read_fields
from core.base.data_source import DataSource
from core.base.problems import BadInput, printable, quoted
from core.cli.model.kept_model import kept_model
from core.cli.parsing.options import Missing
from core.cli.parsing.quantities import read_rate
from core.cli.printing.say import say_json
from core.cli.printing.tables import losses_of
from core.engine.text.data_secrets import kept_secrets, secret_names
from core.system.child_process import own_command
from core.system.progress_bar import ProgressBar
from core.system.reports import answer
from core.text.order.filters import Value, read_filters
from core.text.sources.requests import (
    CutRequest,
    DataRequest,
    InspectRequest,
    SampleRequest,
    TokenizerRequest,
    VerifyRequest,
)

MB = 10**6
WRONG_SHOWN = 20
EXIT_WRONG = 2
ANSWERS = ("inspected", "cut", "verified", "trained", "sampled")
_SAMPLE = re.compile(r"(\d{1,9})/(\d{1,9})/(\d{1,12})")


def run_inspect(args: argparse.Namespace) -> int:
    """`potluck data inspect`; see `potluck data inspect --help`."""
    if args.sample is not None:
        return _show_sample(args)
    if args.source is None:
        raise BadInput("No source is named.", hint="Name a folder, a file, a URL, or python-docs.")
    rate = read_rate(args.line)
    tokenizer = "" if args.tokenizer is None else str(args.tokenizer.expanduser().absolute())
    source = source_of(args)
    asked = InspectRequest(source=source, sample_bytes=args.sample_mb * MB, tokenizer=tokenizer)
    found = _asked(asked, source, json=args.json)
    found["download_s"] = found["bytes"] / rate if rate and found["network"] else 0.0
    found["training_s"] = found["tokens"] / args.tokens_per_s if args.tokens_per_s else 0.0
    if args.json:
        say_json(found)
    else:
        print(_inspected(found, line=args.line))
    return 0


def run_cut(args: argparse.Namespace) -> int:
    """`potluck data cut`; see `potluck data cut --help`."""
    away = "://" in args.out
    out = args.out.rstrip("/") if away else str(Path(args.out).expanduser().absolute())
    source, url = source_of(args), urlsplit(out.rstrip("/"))
    found = _asked(
        CutRequest(
            source=source,
            out=out,
            index_copy=str(Path.cwd() / f"{url.path.rpartition('/')[2] or url.hostname}.potluck") if away else "",
            ending="jsonl.gz" if args.gzip else "jsonl.zst",
            shard_bytes=args.shard_mb * MB,
            mirrors=_mirrors(args.mirror),
        ),
        source,
        *_place(out),
        json=args.json,
    )
    if args.json:
        say_json(found)
        return 0
    resumed = f", {amount(found['resumed'])} of them by an earlier run" if found["resumed"] else ""
    left_out = f"  left out   {amount(found['left_out'])} texts, by filters\n" if found["left_out"] else ""
    print(
        f"{args.source} is cut into {_shards(found)}{resumed}.\n"
        f"  size       {volume(found['bytes'])}\n"
        f"  texts      {amount(found['documents'])}, {amount(found['characters'])} characters\n"
        f"{left_out}{losses_of(found)}"
        f"  index      {printable(found['index'])}, {volume(found['index_bytes'])}\n"
        f"Write in the recipe, above its tables{'' if away else ' (the backbone gives the shards)'}:\n\n"
        f"{_table(source, found['index'], out if away else '')}"
    )
    return 0


def run_verify(args: argparse.Namespace) -> int:
    """`potluck data verify`; see `potluck data verify --help`."""
    address = args.address if "://" in args.address else str(Path(args.address).expanduser().absolute())
    if "://" not in address and not Path(address).is_dir():
        raise BadInput("There is no folder {folder}.", address, hint="Name the one that the shards are in, or a URL.")
    index = args.index.expanduser().absolute() if args.index else None
    if args.charter:
        index = _charter_index(args.charter.expanduser().absolute(), address)
    asked = VerifyRequest(address=address, index="" if index is None else str(index), again=args.again)
    found = _asked(asked, *_place(address), json=args.json)
    left = [one for one in found["wrong"] if not one["mended"]]
    if args.json:
        say_json(found)
    else:
        print(_verified(found, left))
    return EXIT_WRONG if left else 0


def run_train(args: argparse.Namespace) -> int:
    """`potluck tokenizer train`; see `potluck tokenizer train --help`."""
    out = args.out.expanduser().absolute()
    if not out.parent.is_dir():
        raise BadInput("There is no folder {folder}.", out.parent, hint="Make it, or name another file.")
    source = source_of(args)
    found = _asked(
        TokenizerRequest(
            source=source,
            out=str(out),
            recipe=args.recipe,
            vocab_size=args.vocab or 0,
            sample_bytes=args.sample_mb * MB,
        ),
        source,
        json=args.json,
    )
    if args.json:
        say_json(found)
    else:
        print(
            f"{amount(found['report']['vocab_size'])} pieces by the recipe {found['recipe']}, of "
            f"{amount(found['sample_characters'])} characters.\n{_report(found['report'])}\n"
            f"{losses_of(found)}Written to {args.out}."
        )
    return 0


def source_of(args: argparse.Namespace) -> DataSource:
    """The source that a command line names.

    Raises:
        BadInput: address, filters or words cannot be used.
    """
    named = args.source
    if "://" not in named and named != DataSource().address:
        path = Path(named).expanduser().absolute()
        if not path.exists():
            raise BadInput("There is no folder or file {path}.", path, hint="Name one, or a URL.")
        named = str(path)
    filters = dict(map(read_filter, args.filter))
    read_filters(filters, where="--filter ")
    fields = ("form", "column", "config", "split", "licence", "credit")
    given = {"address": named, "filters": filters, **{name: getattr(args, name) for name in fields}}
    try:
        return read_fields(given, DataSource, where="--")
    except ValueError as error:
        raise BadInput(str(error)) from error


def _mirrors(addresses: Sequence[str]) -> tuple[str, ...]:
    """Where else shards will lie.

    Raises:
        BadInput: an address cannot be used.
    """
    try:
        return tuple(DataSource(address=address).address for address in addresses)
    except ValueError as error:
        raise BadInput("--mirror: {error}", error) from error


def read_filter(words: str) -> tuple[str, Value]:
    """Name and value of a filter, as a command line has it: NAME=VALUE.

    Raises:
        BadInput: there is no value.
    """
    name, mark, value = words.partition("=")
    if not mark:
        raise BadInput("--filter {words} has no value.", quoted(words), hint="Write it like this: characters_least=3.")
    try:
        read = json.loads(value)
    except ValueError:
        return name, value
    return name, read if isinstance(read, int | float | bool) else value


def _show_sample(args: argparse.Namespace) -> int:
    """Show the sample of a number."""
    number = _SAMPLE.fullmatch(args.sample)
    if number is None:
        raise BadInput(
            "{sample} is not the number of a sample.", quoted(args.sample), hint="Write SOURCE/SHARD/ROW: 0/3/17."
        )
    kept = kept_model(args)
    source, shard, row = map(int, number.groups())
    folder = "" if args.source is None else str(Path(args.source).expanduser().absolute())
    asked = SampleRequest(
        manifest=str(kept.manifest_path),
        blobs=str(kept.blobs),
        source=source,
        shard=shard,
        row=row,
        folder=folder,
    )
    found = _asked(asked, *kept.manifest.sources, json=args.json)
    if args.json:
        say_json(found)
    else:
        print(
            f"Sample {args.sample} of {printable(kept.manifest.name)}: row {row} of {printable(found['shard'])} "
            f"in {printable(found['source'])}\n  digest  {found['digest']}\n"
        )
        print("\n".join(printable(line) for line in found["text"].splitlines()))
    return 0


def _asked(asked: DataRequest, *sources: DataSource, json: bool) -> dict[str, Any]:
    """Run the child on a request, show its progress, and return what it says at the end.

    Args:
        asked: The request.
        sources: Those whose credentials the child gets.
        json: Whether JSON goes to stdout.

    Raises:
        Missing: a library is not installed.
        UserProblem: the child says so.
        WorkerProblem: it failed.
    """
    for name in ("fsspec", "tokenizers"):
        if importlib.util.find_spec(name) is None:
            message = "This command needs {name}, which is not installed."
            raise Missing(message, name, hint="Get it with: potluck training-part get")
    command = [*own_command("data-work", "core.training.programs.data"), "--asked", msgspec.json.encode(asked).decode()]
    bar = ProgressBar(json=json)
    bar.show(0.0, "Opening the source")
    share = 0.0

    def goes_on(line: dict[str, Any]) -> None:
        nonlocal share
        share = line.get("fraction", share)
        bar.show(share, printable(line["text"]))

    try:
        secrets = kept_secrets(secret_names(sources))
        return asyncio.run(answer([*command, "--with-parent"], ANSWERS, progress=goes_on, secrets=secrets))
    finally:
        bar.clear()


def _place(address: str) -> list[DataSource]:
    """Where shards lie, as a source for which credentials may be kept; empty: none can be for such an address."""
    try:
        return [DataSource(address=address)]
    except ValueError:
        return []


def _charter_index(charter: Path, address: str) -> Path:
    """The index that a charter's manifest names for an address, or its only one."""
    loaded = load_charter(charter)
    indexed = [source for source in loaded.manifest.sources if source.index]
    fitting = [source for source in indexed if source.address.rstrip("/") == address.rstrip("/")] or indexed
    if len(fitting) != 1:
        message = "The collaboration in {charter} names {count} indexes, and none of them for {address}."
        raise BadInput(message, charter, len(indexed), address, hint="Name the index itself with --index.")
    return loaded.blobs / loaded.manifest.blobs[fitting[0].index]


def _shards(found: dict[str, Any]) -> str:
    return f"{amount(found['shards'])} shard{'' if found['shards'] == 1 else 's'}"


def _table(source: DataSource, index: str, address: str) -> str:
    """The table of a recipe for shards that were cut; quoted as JSON, which TOML reads alike."""
    fields = {"address": address, "index": index, "licence": source.licence, "credit": source.credit}
    lines = (f"{name} = {json.dumps(printable(value), ensure_ascii=False)}" for name, value in fields.items() if value)
    return "\n".join(["[[data]]", *lines])


def _inspected(found: dict[str, Any], *, line: str) -> str:
    said = [f"{printable(found['address'])}: {_shards(found)}"]
    said[0] += f", {volume(found['bytes'])}" if found["bytes"] else ", of a size that nobody says"
    said[0] += ", as their index says." if found["indexed"] else "."
    for word in ("licence", "credit"):
        said += [f"  {word:<11}{printable(found[word])}"] if found[word] else []
    if found["characters"]:
        about = f"about {amount(found['documents'])} documents, {amount(found['characters'])} characters"
        said.append(f"  holds      {about}, {amount(found['words'])} words")
    if found["tokens"]:
        said.append(f"  tokens     about {amount(found['tokens'])}")
    if found["training_s"]:
        said.append(f"  one pass   {lasting(found['training_s'])} at that speed")
    if found["download_s"]:
        said.append(f"  download   {lasting(found['download_s'])} of all of it, on a line of {line}")
    if found["kept_share"] < 1:
        said.append(f"  filters    keep {found['kept_share']:.1%} of the texts")
    said.append(f"{losses_of(found)}Reckoned from {amount(found['sample_characters'])} characters of it. Examples:")
    said += [f"  {printable(example)}" for example in found["examples"]]
    if found["tokenizer"]:
        said.append(_report(found["tokenizer"]))
    return "\n".join(said)


def _report(report: dict[str, Any]) -> str:
    said = (
        f"On text that it was not trained on ({amount(report['words'])} words):\n"
        f"  tokens a word         {report['tokens_per_word']:.3f}\n"
        f"  characters a token    {report['characters_per_token']:.3f}\n"
        f"  unknown tokens        {report['unknown_share']:.3%}\n"
        f"  words that come back  {report['whole_share']:.2%}"
    )
    return "\n".join([said, *(f"  {printable(' '.join(example['pieces']))}" for example in report["examples"])])


def _verified(found: dict[str, Any], left: list[dict[str, Any]]) -> str:
    shards = f"{_shards(found)}, {volume(found['bytes'])}"
    wrong = len(found["wrong"])
    if not wrong:
        return f"{shards}: {'it is' if found['shards'] == 1 else 'all are'} as the index says."
    mended = f", {amount(wrong - len(left))} of them mended" if wrong > len(left) else ""
    said = [f"{shards}: {amount(wrong)} {'was' if wrong == 1 else 'were'} not as the index says{mended}."]
    said += [f"  {printable(one['name'])} {_wrong(one)}" for one in left[:WRONG_SHOWN]]
    if len(left) > WRONG_SHOWN:
        said.append(f"  and {amount(len(left) - WRONG_SHOWN)} more")
    if left:
        said.append("Copy them again, or make them again with --again.")
    return "\n".join(said)


def _wrong(shard: dict[str, Any]) -> str:
    return "is missing" if shard["missing"] else "has other bytes"
