"""`potluck settings`: what Potluck may use, shown and changed, whether an engine runs or not."""

import argparse
import asyncio
import sys
from typing import Final

import msgspec

from core.api.rules import AMOUNTS
from core.api.settings import ALL, AUTO, CPU, PortTest, SettingsView, Wish
from core.base.problems import BadInput, UserProblem, quoted
from core.cli.engine.devices import found_devices, missing_devices
from core.cli.engine.setting_rows import ROWS
from core.cli.parsing.options import Commands, add_home, add_json
from core.cli.printing.say import say_json
from core.control.client import ControlClient
from core.control.engine_file import NotRunning
from core.engine.limits.preferences import changed, view
from core.storage.paths import Home
from core.storage.settings import load_settings, save_settings

WISH_LETTERS_MAX: Final = 20_000
EXAMPLES: Final = """\
examples:
  potluck settings                        show all of them
  potluck settings upload 2mbit           send no more than that; also 250kB, or none for no limit
  potluck settings month 50GB             send and receive no more in a calendar month
  potluck settings metered no             leave connections alone that cost money by the megabyte
  potluck settings relay yes              relay connections of volunteers that nobody can call
  potluck settings programs blender "obs studio" ~/Games
                                          rest while one of them runs, or one of a folder; none for none
  potluck settings gpu-programs ~/Games   have graphics cards alone rest while one of them runs
  potluck settings idle 10                in use: until 10 minutes after the last key or movement of the mouse
  potluck settings in-use no              rest while somebody uses this computer
  potluck settings in-use-share 40        or compute in 40 % of the time only
  potluck settings heat 80                rest while the processor or the card is hotter, °C; none for no limit
  potluck settings warm 65                or compute less while it is hotter; how much less: warm-share
  potluck settings fan 2500               rest after a fan turned faster, turns a minute
  potluck settings meter http://meter.local/price
                                          a local address, a file or a program that says a number, such as a price
  potluck settings meter-above 30         rest while it is greater; meter-below: while it is less, as the sun's watts
  potluck settings in-use-memory 2GB      rest, and give memory back, where training holds more while somebody is there
  potluck settings other-hours "mon-fri 8:00-18:00"
                                          when another share of the time holds than share: other-share
  potluck settings computing always       whatever the rules say; also gpu, network; rules, never
  potluck settings hours "mon-fri 20:00-07:00, sat sun"
                                          when Potluck may work; always for no schedule
  potluck settings device cpu             what trains: auto, all, cpu, cuda, cuda:1, mps, xpu
  potluck settings device cuda:0,cuda:1   several at once
  potluck settings threads 4              processor threads that train; 0: all cores but one
  potluck settings memory 4GB             what training may take of the computer's memory; none for half of what is free
  potluck settings disk 20                gigabytes of the disk for data: half of it for what other members may have
  potluck settings experts 6              host no more of a mixture's experts; off for none, auto for what memory allows
  potluck settings compile yes            have torch compile the model's layers; pays on some devices
  potluck settings keep 30                minutes that training keeps its memory while it rests, to go on at once
  potluck settings awake yes              do not let this computer fall asleep while it contributes
  potluck settings name "Ada"             how collaborations that are joined from now on call this computer
  potluck settings energy-watts 45        watts it draws more while it contributes; 0: measured or estimated
  potluck settings energy-cents 32        price of a kilowatt-hour, and grams of carbon dioxide for it: My gift shows
  potluck settings energy-grams 380       what yours comes to
  potluck settings port 24000             where other volunteers call, from the next start on; 0: any
  potluck settings amount quiet           fill in several rules at once: quiet, normal, all
  potluck settings -                      change several at once, from a line of JSON: {"threads": 2, "share": 50}
  potluck settings port test              have others call now, and say what came of it
"""


def add(commands: Commands) -> None:
    """Add the command to the program."""
    parser = commands.add_parser(
        "settings",
        description="Show what Potluck may use of this computer and its network, or change it; it holds at once.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_home(parser)
    add_json(parser)
    parser.add_argument("name", nargs="?", metavar="NAME", help=f"which one: {', '.join(ROWS)}; -: several, as JSON")
    parser.add_argument("value", nargs="*", metavar="VALUE", help="what it becomes")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Show, change, or test the port.

    Raises:
        UserProblem: what was given cannot be, or the engine or the disk does not allow it.
    """
    home, value = Home.find(args.home), _joined(args.name, args.value)
    several = args.name == "-"
    if several:
        args.name = None
    amount = AMOUNTS.get(value) if args.name == "amount" else None
    if amount is not None:
        args.name = None
    if args.name is not None and args.name not in ROWS:
        raise BadInput("There is no setting {name}.", quoted(args.name), ", ".join(ROWS), hint="There are: {names}.")
    if args.name == "port" and value == "test":
        _say_test(asyncio.run(ask_port(home)), json=args.json)
        return 0
    wish: Wish = {ROWS[args.name].field: ROWS[args.name].read(value)} if args.name and args.value else {}
    if amount is not None:
        wish = {**amount}
    if several:
        wish = read_wish(sys.stdin.readline(WISH_LETTERS_MAX))
    shown, running = asyncio.run(_settle(home, wish))
    if args.json:
        say_json({"event": "settings", "settings": shown, "running": running})
        return 0
    print(as_text(shown, [args.name] if args.name is not None else list(ROWS)))
    if wish.get("device") not in {None, AUTO, ALL, CPU}:
        _say_missing(shown.device)
    if wish and not running:
        print("Potluck does not run now; this holds from its next start.")
    return 0


def _joined(name: str | None, words: list[str]) -> str:
    """The words that a shell made of a value; names of programs are those words, unless the person put commas."""
    between = ", " if name in {"programs", "gpu-programs"} and not any("," in word for word in words) else " "
    return between.join(words).strip()


def as_text(shown: SettingsView, names: list[str]) -> str:
    """For a person: a line for each setting, and what does not count yet."""
    lines = [f"{name:<16}{ROWS[name].show(shown)}" for name in names]
    if shown.note and "port" in names:
        lines.append(shown.note)
    return "\n".join(lines)


def read_wish(line: str) -> Wish:
    """Several changes at once, by fields of `SettingsView`, from a line of JSON.

    Raises:
        BadInput: it is not a JSON object.
    """
    try:
        return msgspec.json.decode(line.encode(), type=Wish)
    except msgspec.DecodeError as error:
        raise BadInput(
            "These settings cannot be read: {error}.", error, hint='Write them as {"threads": 2}.'
        ) from error


async def ask_port(home: Home) -> PortTest:
    """Have others call the engine that runs on `home`.

    Raises:
        NotRunning: none does.
        Problem: the engine's.
    """
    async with ControlClient.connect(home) as client:
        return await client.test_port()


async def _settle(home: Home, wish: Wish) -> tuple[SettingsView, bool]:
    """Settings in force after the wish, and whether an engine runs."""
    try:
        async with ControlClient.connect(home) as client:
            return await client.settings(wish), True
    except NotRunning:
        pass
    read = load_settings(home.settings_file)
    if read.notice is not None:
        print(f"potluck: {read.notice}", file=sys.stderr)
    settings = read.settings
    if wish:
        settings = changed(settings, wish)
        save_settings(home.settings_file, settings)
    return view(settings), False


def _say_missing(wish: str) -> None:
    """Say which devices that were chosen are not here; they may come back, so the choice is kept."""
    try:
        missing = missing_devices(wish, [device.name for device in found_devices()])
    except UserProblem as problem:
        print(problem.message, file=sys.stderr)
        return
    if missing:
        are = "is" if len(missing) == 1 else "are"
        print(
            f"There {are} no {' and no '.join(missing)} on this computer now; the setting is kept for when there {are}."
            " `potluck devices` lists what there is.",
            file=sys.stderr,
        )


def _say_test(tested: PortTest, *, json: bool) -> None:
    if json:
        say_json({"event": "port", "test": tested})
    else:
        print(f"{tested.sentence}\n{tested.advice}".strip())
