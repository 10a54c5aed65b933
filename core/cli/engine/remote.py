"""`potluck remote`: the window or a command for another own computer, through SSH."""

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import SystemRandom
from typing import Final

from core.base.back_off import BackOff
from core.base.problems import BadInput
from core.cli.parsing.options import ATTACHED, Commands
from core.cli.window import require_window
from core.control.tunnel import Tunnel, Unreachable
from core.system.child_process import own_command

LOOK_S: Final = 0.2
AGAIN_FIRST_S: Final = 2.0
AGAIN_LONGEST_S: Final = 60.0
COMMANDS: Final = ("status", "pause", "resume", "log", "leaderboard", "receipts", "quit")


def add(commands: Commands) -> None:
    """Add the command to the program."""
    parser = commands.add_parser(
        "remote",
        description="Open the window, or run one command, for the engine of another computer, through an SSH tunnel.",
        epilog=f"Commands: {', '.join(COMMANDS)}, with their options.",
    )
    parser.add_argument("--far-home", default="", metavar="DIR", help="home of the engine on that computer")
    parser.add_argument("--ssh", default="ssh", metavar="COMMAND", help='ssh with options, as in "ssh -p 2222"')
    parser.add_argument("computer", metavar="USER@HOST", help="as ssh takes it")
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="COMMAND", help="without one the window opens")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Open the tunnel, and run the window or the command at its near end.

    Returns:
        The exit code of the window or the command.

    Raises:
        BadInput: the words are not a command, or the computer's name is not valid.
        Unreachable: there is no way there, or no engine there.
    """
    if args.words and args.words[0] not in COMMANDS:
        raise BadInput(
            "{words} is not for another computer.", args.words[0], ", ".join(COMMANDS), hint="Choose: {commands}"
        )
    if not args.words:
        require_window()
    with tempfile.TemporaryDirectory(prefix="potluck-remote-") as folder:
        home = Path(folder)
        tunnel = Tunnel(args.computer, home, far_home=args.far_home, ssh=shlex.split(args.ssh))
        try:
            tunnel.connect()
            if args.words:
                return subprocess.call(
                    [*own_command(), "--home", folder, *args.words], env={**os.environ, ATTACHED: "yes"}
                )
            return _window(home, tunnel, args.computer)
        finally:
            tunnel.close()


def _window(home: Path, tunnel: Tunnel, computer: str) -> int:
    """Keep the way open for as long as the window is, whose end leaves the far engine as it is."""
    waits: BackOff[str] = BackOff(first=AGAIN_FIRST_S, longest=AGAIN_LONGEST_S, random=SystemRandom())
    again_at = 0.0
    window = subprocess.Popen([*own_command("app", "app"), "--home", str(home), "--attach", "--far", computer])
    try:
        while (code := window.poll()) is None:
            time.sleep(LOOK_S)
            if tunnel.open or time.monotonic() < again_at:
                continue
            try:
                tunnel.connect()
            except Unreachable as problem:
                print(problem.message, file=sys.stderr)
                again_at = waits.fail("tunnel", time.monotonic())
            else:
                waits.clear("tunnel")
        return code
    finally:
        window.terminate()
        window.wait()
