"""Commands about text before there is a collaboration: `data inspect`, `cut`, `verify`; `tokenizer train`."""

import argparse
from pathlib import Path
from typing import Any, Final

from core.base.tasks import TOKENIZERS
from core.cli.parsing.options import Commands, add_home, add_json, calling, whole

SHARD_MB: Final = 4
SHARD_MB_MAX: Final = 32
SAMPLE_MB: Final = 4
TRAINING_MB: Final = 100
LINE: Final = "20mbit"
VOCAB_MAX: Final = 65_536
"""As many pieces as the tasks allow."""


def add(commands: Commands) -> None:
    """Add the commands to the program."""
    data = commands.add_parser(
        "data",
        description="Text of a collaboration: what is in it, cutting it into shards of equal size that can be kept "
        "anywhere, checking those.  See docs/data.md.",
    )
    kinds = data.add_subparsers(title="what to do", metavar="WHAT", required=True)
    _add_inspect(kinds)
    _add_cut(kinds)
    _add_verify(kinds)
    _add_login(kinds)
    _add_tokenizer(commands)


def _add_inspect(kinds: Any) -> None:
    inspect = kinds.add_parser(
        "inspect",
        help="what is in a source",
        description="Read a sample of a source: examples, and how many documents, characters and tokens there are.",
    )
    _add_source(inspect, optional=True)
    inspect.add_argument(
        "--sample-mb", type=whole(1, 1000), default=SAMPLE_MB, metavar="N", help=f"text to read (default: {SAMPLE_MB})"
    )
    inspect.add_argument("--tokenizer", type=Path, metavar="FILE", help="counts tokens (default: one of the sample)")
    inspect.add_argument(
        "--tokens-per-s", type=whole(1, 10**12), metavar="N", help="speed of all computers together, for the hours"
    )
    inspect.add_argument("--line", default=LINE, metavar="RATE", help=f"line of a volunteer (default: {LINE})")
    inspect.add_argument(
        "--sample", metavar="SOURCE/SHARD/ROW", help="instead: one sample of a collaboration, from its number alone"
    )
    add_home(inspect)
    which = inspect.add_mutually_exclusive_group()
    which.add_argument("--collaboration", metavar="NAME", help="with --sample: its name, or how its id begins")
    which.add_argument("--charter", type=Path, metavar="DIR", help="with --sample: the one that you organise there")
    inspect.set_defaults(run=calling("core.cli.organiser.data_commands:run_inspect"))


def _add_cut(kinds: Any) -> None:
    cut = kinds.add_parser(
        "cut",
        help="cut a source into shards of equal size, with an index",
        description="Write JSON lines, compressed, in shards that all have as many characters, and an index with their "
        "digests, which a recipe names.  When it is killed, the same command goes on.",
    )
    _add_source(cut)
    cut.add_argument("--out", required=True, metavar="DIR|URL", help="a folder, or what fsspec writes to")
    cut.add_argument(
        "--shard-mb",
        type=whole(1, SHARD_MB_MAX),
        default=SHARD_MB,
        metavar="N",
        help=f"of a shard as it lies there (default: {SHARD_MB})",
    )
    cut.add_argument("--gzip", action="store_true", help="pack with gzip (default: zstd)")
    cut.add_argument(
        "--mirror", action="append", default=[], metavar="URL", help="another address where the shards will lie"
    )
    cut.set_defaults(run=calling("core.cli.organiser.data_commands:run_cut"))


def _add_verify(kinds: Any) -> None:
    verify = kinds.add_parser(
        "verify",
        help="hold shards against their index",
        description="Read all shards, and say which are missing or have other bytes.  Ends with 2 if any is wrong.",
    )
    verify.add_argument("address", metavar="DIR|URL", help="where the shards lie")
    which = verify.add_mutually_exclusive_group()
    which.add_argument("--index", type=Path, metavar="FILE", help="the index (default: beside the shards)")
    which.add_argument("--charter", type=Path, metavar="DIR", help="the collaboration whose manifest names the index")
    verify.add_argument("--again", action="store_true", help="make wrong shards again, of what they were cut of")
    add_json(verify)
    verify.set_defaults(run=calling("core.cli.organiser.data_commands:run_verify"))


def _add_login(kinds: Any) -> None:
    login = kinds.add_parser(
        "login",
        help="keep a password or token for a source",
        description="Ask for a password or token, or read it as a line, and keep it in the system's keyring.  Only the "
        "process that reads data gets it, for this server, hub or bucket alone.",
    )
    login.add_argument("where", metavar="HOST|ADDRESS|hub", help='such as texts.org, s3://BUCKET, or "hub"')
    login.add_argument("--forget", action="store_true", help="forget what is kept for it")
    add_home(login)
    add_json(login)
    login.set_defaults(run=calling("core.cli.organiser.data_login:run"))


def _add_tokenizer(commands: Commands) -> None:
    tokenizer = commands.add_parser(
        "tokenizer", description="Pieces of words that a model reads, and how they are cut."
    )
    kinds = tokenizer.add_subparsers(title="what to do", metavar="WHAT", required=True)
    train = kinds.add_parser(
        "train",
        help="train a tokenizer on a source",
        description="Read a sample from all over a source, train a Unigram tokenizer on it, and look at how it cuts "
        "text that it was not trained on.  A recipe names the file: tokenizer = ...",
    )
    _add_source(train)
    train.add_argument("--out", required=True, type=Path, metavar="FILE", help="where the tokenizer goes (.json)")
    train.add_argument(
        "--recipe",
        choices=TOKENIZERS,
        default=TOKENIZERS[0],
        help="how text is made alike: plain, albert (English, without accents), bengali (default: plain)",
    )
    train.add_argument(
        "--vocab", type=whole(64, VOCAB_MAX), metavar="N", help="pieces (default: the recipe's: 32000; albert: 30000)"
    )
    train.add_argument(
        "--sample-mb",
        type=whole(1, 10_000),
        default=TRAINING_MB,
        metavar="N",
        help=f"text to train on (default: {TRAINING_MB})",
    )
    train.set_defaults(run=calling("core.cli.organiser.data_commands:run_train"))


def _add_source(command: argparse.ArgumentParser, *, optional: bool = False) -> None:
    command.add_argument(
        "source",
        metavar="SOURCE",
        nargs="?" if optional else None,
        help='a folder or file, a URL, hf://datasets/OWNER/NAME, or "python-docs"',
    )
    command.add_argument(
        "--form", choices=("auto", "text", "jsonl", "parquet", "csv"), default="auto", help="what the files hold"
    )
    command.add_argument("--column", default="text", metavar="NAME", help="of tables: where the text is")
    command.add_argument("--config", default="", metavar="NAME", help="of a data set of the hub")
    command.add_argument("--split", default="train", metavar="NAME", help="of a data set of the hub (default: train)")
    command.add_argument(
        "--filter",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="texts that are read, such as characters_least=3 or language=bn; see docs/data.md",
    )
    command.add_argument("--licence", default="", metavar="WORDS", help="of the text, to be shown")
    command.add_argument("--credit", default="", metavar="WORDS", help="who made the text, to be shown")
    add_json(command)
