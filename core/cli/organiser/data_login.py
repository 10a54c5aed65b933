"""`potluck data login`: keeps a password or token for a source in the system's keyring."""

import argparse
import getpass
import sys
from typing import Final

from core.base.data_source import DataSource
from core.base.problems import BadInput, UserProblem
from core.cli.printing.say import say_json
from core.cli.volunteer.joined import begin_again
from core.engine.text.data_secrets import keep, secret_names
from core.storage.paths import Home

SECRET_LETTERS_MAX: Final = 4096
HUB: Final = "hub"


def run(args: argparse.Namespace) -> int:
    """`potluck data login`; see `potluck data login --help`.

    Raises:
        BadInput: the address or the secret cannot be one.
        UserProblem: there is no keyring that keeps it.
    """
    name = name_of(args.where)
    secret = "" if args.forget else _asked(name)
    if not keep(name, secret):
        raise UserProblem(
            "This system has no keyring that keeps secrets, or it is closed; nothing was kept.",
            hint="Unlock the keyring (and unset POTLUCK_KEYRING), then try again.",
        )
    running = begin_again(Home.find(args.home))
    if args.json:
        say_json({"event": "login", "name": name, "kept": bool(secret), "running": running})
    else:
        print(f"{'Forgotten' if args.forget else 'Kept'} for {name}.")
    return 0


def name_of(where: str) -> str:
    """What the credentials of a host, an address or the hub are called.

    Raises:
        BadInput: it is not one of these.
    """
    address = f"hf://datasets/{HUB}" if where == HUB else where if "://" in where else f"https://{where}"
    try:
        (name,) = secret_names([DataSource(address=address)])
    except ValueError as error:
        raise BadInput(str(error), hint="Name a host such as texts.org, s3://BUCKET, or hub.") from error
    return name


def _asked(name: str) -> str:
    """The secret, as the person types or pipes it; it is not shown."""
    if sys.stdin.isatty():
        secret = getpass.getpass(f"Password or token for {name}: ")
    else:
        secret = sys.stdin.readline(SECRET_LETTERS_MAX + 2)
    secret = secret.strip()
    if not secret or len(secret) > SECRET_LETTERS_MAX or not secret.isprintable():
        raise BadInput("That is not a valid password or token.", hint="Give it as one line.")
    return secret
