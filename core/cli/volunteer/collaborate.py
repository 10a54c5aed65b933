"""Commands that take part in a collaboration or organise one.

Part: `demo`, `engine`, `join`, `login`, `choose`, `leave`, `collaborations`; organise: `backbone`, `invite`, `revoke`,
`copies`.

packaging/bootstrap.py reads the options of `demo` before anything is installed: what this module imports, and what that
imports, is of the standard library.
"""

import argparse
from pathlib import Path

from core.base.problems import Problem
from core.cli.parsing.commands import COMMANDS
from core.cli.parsing.options import (
    Commands,
    add_home,
    add_hosts,
    add_json,
    add_lasting,
    add_metrics,
    add_recipe,
    calling,
    recipe_file,
    text_folder,
    whole,
)
from core.system.atomic_files import make_directory


def add(commands: Commands) -> None:
    """Add the commands to the program."""
    _add_demo(commands)
    _add_engine(commands)
    _add_backbone(commands)
    _add_invite(commands)
    _add_revoke(commands)
    _add_copies(commands)
    _add_joining(commands)
    _add_directory(commands)


def _add_demo(commands: Commands) -> None:
    demo = commands.add_parser(
        "demo",
        description="A whole collaboration on this computer: a backbone and volunteers, in processes of their own.",
    )
    add_demo_options(demo)
    demo.set_defaults(run=calling("core.cli.volunteer.demo:run"))


def add_demo_options(demo: argparse.ArgumentParser) -> None:
    """Add the options of `potluck demo`."""
    add_home(demo)
    add_json(demo)
    demo.add_argument("--peers", type=whole(1, 16), default=3, metavar="N", help="volunteers (default: 3)")
    demo.add_argument(
        "--epochs", type=whole(1, 1_000_000), metavar="N", help="stop after so many epochs (default: go on)"
    )
    demo.add_argument("--text", type=Path, metavar="DIR", help="text to learn (default: the recipe's)")
    add_recipe(demo, words="what is learned, and how (default: first-words)")
    _add_delayed(demo)
    demo.add_argument("--headless", action="store_true", help="show progress in the terminal, without a window")


def refusal_of_demo(options: argparse.Namespace) -> str:
    """Return why the demo cannot use the recipe or the folders of these options, in words; empty if it can."""
    try:
        recipe_file(options.recipe)
        text_folder(options.text)
        if options.home is not None:
            make_directory(options.home.expanduser().absolute())
    except (Problem, RuntimeError) as problem:  # a RuntimeError: there is no such person as in ~name
        return str(problem)
    return ""


def _add_engine(commands: Commands) -> None:
    engine = commands.add_parser(
        "engine",
        description="The engine: takes part in a collaboration until it is told to quit.  It logs to stderr; what a "
        "person should know is kept, too: potluck log.",
    )
    add_home(engine)
    add_json(engine)
    which = engine.add_mutually_exclusive_group()
    which.add_argument("--join", metavar="LINK", help="the link of the collaboration to take part in")
    which.add_argument(
        "--embedded", action="store_true", help="bring a collaboration along: a backbone and other volunteers"
    )
    which.add_argument(
        "--or-embedded", action="store_true", help="bring one along only if this computer has joined none"
    )
    engine.add_argument(
        "--peers",
        type=whole(1, 16),
        default=3,
        metavar="N",
        help="volunteers of an embedded collaboration (default: 3)",
    )
    engine.add_argument("--text", type=Path, metavar="DIR", help="the one folder of text that may be read")
    engine.add_argument(
        "--epochs", type=whole(1, 1_000_000), metavar="N", help="stop an embedded collaboration after so many epochs"
    )
    engine.add_argument(
        "--helper",
        action="store_true",
        help="train nothing; average what the others have trained (any computer with a good line can)",
    )
    _add_averaging_memory(engine, words="of a helper")
    add_recipe(engine, words="what an embedded collaboration learns")
    _add_delayed(engine)
    engine.add_argument("--last-epoch", type=whole(0, 2**31 - 1), metavar="N", help="stop after this epoch")
    add_metrics(engine)
    engine.add_argument("--name", metavar="NAME", help="how the leaderboard calls this computer")
    engine.add_argument("--threads", type=whole(0, 1024), metavar="N", help="processor threads for training")
    _add_listening(engine)
    engine.add_argument(
        "--host", default="", metavar="ADDRESS", help="address that others are told (default: the one that they see)"
    )
    engine.add_argument("--port", type=whole(0, 65_535), metavar="N", help="port for peers (default: drawn once, kept)")
    engine.add_argument(
        "--patience",
        type=whole(1, 86_400),
        default=600,
        metavar="SECONDS",
        help="how long to wait for a collaboration that cannot be reached before the next one is served (default: 600)",
    )
    engine.add_argument(
        "--stay", action="store_true", help="after a problem stay, and tell it to each client that connects"
    )
    engine.set_defaults(run=calling("core.cli.volunteer.start:run_engine"))


def _add_backbone(commands: Commands) -> None:
    backbone = commands.add_parser(
        "backbone",
        description="A backbone: founds the swarm, lets people in, keeps watch.  Prints the link to hand out.",
    )
    add_json(backbone)
    _add_charter(backbone)
    _add_listening(backbone)
    add_hosts(backbone, words="address that others are told (default: its last ones)")
    _add_averaging_memory(backbone, words="0: only welcome and watch")
    backbone.add_argument(
        "--shards",
        type=Path,
        metavar="DIR",
        help="give members the shards of this folder (default: those of the charter)",
    )
    backbone.add_argument(
        "--stand-in",
        nargs="?",
        const="",
        metavar="NAME",
        help="make a backbone of a collaboration that this computer takes part in, where the others are gone: with a "
        "key of its own, which the moderators have to sign (default: the first)",
    )
    add_home(backbone)
    port = whole(0, 65_535)
    backbone.add_argument("--port", type=port, metavar="N", default=0, help="port for peers (default: kept)")
    backbone.add_argument("--desk-port", type=port, metavar="N", default=0, help="port that the link names (the same)")
    site = "serve the page of the collaboration to browsers, on this computer (default: off; PORT is 8420)"
    backbone.add_argument("--site", type=whole(1, 65_535), metavar="PORT", nargs="?", const=8420, help=site)
    backbone.add_argument(
        "--site-bind",
        metavar="ADDRESS",
        default="127.0.0.1",
        help="address at which the page is served (default: loopback)",
    )
    backbone.add_argument(
        "--database",
        metavar="ADDRESS",
        default="",
        help="PostgreSQL for the page's accounts, such as postgresql://potluck@localhost/potluck (default: a file)",
    )
    backbone.set_defaults(run=calling("core.cli.organiser.backbone:run"))


def _add_invite(commands: Commands) -> None:
    invite = commands.add_parser(
        "invite",
        description="Invitations to a collaboration: by the charter in a folder, whose backbone may be running; or to "
        "one that this computer takes part in, by its charter, or the link with which it came in.",
    )
    words = "a collaboration that this computer takes part in (default: the first)"
    invite.add_argument("which", nargs="?", metavar="NAME", help=words)
    invite.add_argument("--charter", type=Path, metavar="DIR", help="the folder of a collaboration that you founded")
    add_home(invite)
    add_json(invite)
    add_lasting(invite, link="it")
    add_hosts(invite, words="address of the backbone in the link (default: its last ones)")
    which = invite.add_mutually_exclusive_group()
    which.add_argument("--list", action="store_true", help="list the invitations, with their links")
    which.add_argument("--withdraw", metavar="ID", help="end an invitation; those whom it has let in stay members")
    invite.set_defaults(run=calling("core.cli.organiser.host:invite"))


def _add_revoke(commands: Commands) -> None:
    revoke = commands.add_parser(
        "revoke",
        description="Revoke passes: every peer refuses them within a minute, and they are never renewed.  Before it "
        "shuts out more than one it names them all, and asks.",
    )
    words = "name as the leaderboard has it, or public key in hex"
    whom = revoke.add_mutually_exclusive_group()
    whom.add_argument("who", nargs="?", metavar="NAME|KEY", help=words)
    whom.add_argument("--invitation", metavar="ID", help="all that it has let in; it lets in nobody any more")
    whom.add_argument(
        "--household",
        metavar="NAME|ADDRESS",
        help="all that came from where this member did, or from this address; it lets in nobody new from there",
    )
    revoke.add_argument("--since", metavar="DATE", help="those let in since then: 2026-11-24, '2026-11-24 18:30'")
    revoke.add_argument("--undo", action="store_true", help="let them in again")
    revoke.add_argument("--yes", action="store_true", help="ask nothing")
    _add_charter(revoke)
    add_json(revoke)
    revoke.set_defaults(run=calling("core.cli.organiser.revoke:run"))


def _add_copies(commands: Commands) -> None:
    copies = commands.add_parser(
        "copies",
        description="The copies of the model that a backbone has kept, the oldest first.  With --back-to everybody "
        "goes back to one, also while they train, and who is away when they come back.",
    )
    copies.add_argument("--back-to", type=whole(1, 10**9), metavar="N", help="the copy from which everybody goes on")
    copies.add_argument(
        "--every",
        type=whole(0, 7 * 24 * 60),
        metavar="MINUTES",
        help="how often a copy is taken while somebody trains, as far as lines allow; 0: as usual",
    )
    mirror = "folder or fsspec URL at which the newest copy is put, too; again for a further one"
    copies.add_argument("--mirror", action="append", default=[], metavar="ADDRESS", help=mirror)
    copies.add_argument("--no-mirror", action="append", default=[], metavar="ADDRESS", help="use this one no more")
    copies.add_argument("--words", default="", metavar="TEXT", help="why, for everybody")
    _add_charter(copies)
    add_json(copies)
    copies.set_defaults(run=calling("core.cli.organiser.copies:run"))


def _add_charter(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--charter", type=Path, required=True, metavar="DIR", help="the collaboration's manifest, keys and files"
    )


def _add_joining(commands: Commands) -> None:
    """Joining by a link, going back to a collaboration, and leaving one."""
    for name, argument, meaning in (
        ("join", "LINK", "its link; the name of one that was joined; - to be read"),
        ("login", "LINK", "its link; the name of one that was joined (default: the first); - to be read"),
        ("leave", "NAME", "which one (default: the first)"),
        ("choose", "NAME", "its name, or how its id begins"),
        ("collaborations", "", ""),
    ):
        words = COMMANDS[name].words
        parser = commands.add_parser(name, description=f"{words[0].upper()}{words[1:]}.")
        add_home(parser)
        add_json(parser)
        if argument:
            parser.add_argument(
                "which", nargs="?" if name in {"leave", "login"} else None, default="", metavar=argument, help=meaning
            )
        if name in {"join", "login"}:
            parser.add_argument("--show", action="store_true", help="say who runs it and what for, and join nothing")
            parser.add_argument("--yes", action="store_true", help="ask nothing")
            parser.set_defaults(signs_in=name == "login")
        runs = "joining:join" if name in {"join", "login"} else f"joined:{name}"
        parser.set_defaults(run=calling(f"core.cli.volunteer.{runs}"))


def _add_directory(commands: Commands) -> None:
    directory = commands.add_parser(
        "directory",
        description="A signed list of collaborations that take in anybody: shows one, whose links potluck join takes.  "
        "With --make it writes one of some links, signed with this computer's key.",
    )
    words = "file, or address with https:// (default: the list that comes along, if one does)"
    directory.add_argument("where", nargs="?", default="", metavar="FILE|ADDRESS", help=words)
    directory.add_argument("--make", type=Path, metavar="FILE", help="write a list of the links")
    directory.add_argument("--links", nargs="+", default=[], metavar="LINK", help="with --make: links of the list")
    directory.add_argument("--name", default="", metavar="WORDS", help="with --make: what the list is called")
    add_home(directory)
    add_json(directory)
    directory.set_defaults(run=calling("core.cli.volunteer.directory:run"))


def _add_averaging_memory(command: argparse.ArgumentParser, *, words: str) -> None:
    command.add_argument(
        "--averaging-memory",
        type=whole(0, 1_000_000),
        default=512,
        metavar="MIB",
        help=f"memory for averaging what others have trained, ten bytes a parameter; {words} (default: 512)",
    )


def _add_delayed(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--delayed",
        action="store_true",
        help="compute on while contributions are averaged (a collaboration of its own; default: stand still)",
    )


def _add_listening(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--bind", metavar="ADDRESS", help="address to listen on (default: all; embedded: this computer's own)"
    )
    command.add_argument("--with-parent", action="store_true", help="end when standard input closes")
