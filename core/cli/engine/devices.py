"""`potluck devices`: what training can run on here."""

import argparse
import asyncio
from collections.abc import Iterable
from typing import Final

import msgspec

from core.api.settings import ALL, AUTO
from core.base.problems import UserProblem
from core.cli.parsing.options import Commands, add_home, add_json
from core.cli.printing.say import say_json
from core.schedule.senses.network import ask_program
from core.system.child_process import own_command

ANSWER_S: Final = 90.0
_INSTALL: Final = "Get another build: potluck training-part get --build cpu"


class FoundDevice(msgspec.Struct, frozen=True):
    """One device that torch finds (`core.training.devices.devices.Device`)."""

    name: str
    title: str
    memory_bytes: int = 0


def add(commands: Commands) -> None:
    """Add the command to the program."""
    parser = commands.add_parser(
        "devices",
        description="List what training can run on here, by the names that `potluck settings device` takes.",
    )
    add_home(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """List the devices.

    Raises:
        UserProblem: torch is not there, or does not start.
    """
    found = found_devices()
    if args.json:
        say_json({"event": "devices", "devices": found})
    else:
        print("\n".join(f"{one.name:<10}{one.title}" for one in found))
    return 0


def found_devices() -> list[FoundDevice]:
    """What training can run on; a child asks for it, since a driver may end the process that does.

    Raises:
        NoTrainingPart: torch is not here.
        UserProblem: it does not start.
    """
    words = own_command("devices", "core.training.devices.devices")
    said = asyncio.run(ask_program(words, timeout_s=ANSWER_S)).strip()
    if not said:
        raise UserProblem("torch is installed, but does not start.", hint=_INSTALL)
    return msgspec.json.decode(said.splitlines()[-1], type=list[FoundDevice])


def missing_devices(wish: str, found: Iterable[str]) -> list[str]:
    """Those of the devices that the settings name that are not here.

    Args:
        wish: As in `core.api.settings.SettingsView.device`.
        found: Names of devices that are here, `cpu` and `cuda:0` for example.
    """
    there = {AUTO, ALL, *(name for each in found for name in (each, each.partition(":")[0]))}
    return [name for name in wish.split(",") if name not in there]
