"""`potluck settings`: what Potluck may use, shown and changed, whether an engine runs or not."""

import argparse
import asyncio
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from types import MappingProxyType
from typing import Final

import msgspec

from core.api.modes import UseSubject, UseSwitch
from core.api.numbers import speed, volume
from core.api.settings import ALL, AUTO, CPU, PortTest, SettingsView, Wish
from core.base.problems import BadInput, UserProblem, quoted
from core.cli.engine.devices import found_devices, missing_devices
from core.cli.parsing.options import Commands, add_home, add_json
from core.cli.parsing.quantities import (
    read_choice,
    read_gigabytes,
    read_limit,
    read_names,
    read_rate,
    read_volume,
    read_whole,
)
from core.cli.printing.say import say_json
from core.cli.printing.tables import switch_text
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
  potluck settings programs blender "obs studio"
                                          rest while one of them runs; none for none
  potluck settings idle 10                in use: until 10 minutes after the last key or movement of the mouse
  potluck settings in-use no              rest while somebody uses this computer
  potluck settings in-use-share 40        or compute in 40 % of the time only
  potluck settings heat 80                rest while the processor or the card is hotter, °C; none for no limit
  potluck settings computing always       whatever the rules say; also gpu, network; rules, never
  potluck settings hours "mon-fri 20:00-07:00, sat sun"
                                          when Potluck may work; always for no schedule
  potluck settings device cpu             what trains: auto, all, cpu, cuda, cuda:1, mps, xpu
  potluck settings device cuda:0,cuda:1   several at once
  potluck settings threads 4              processor threads that train; 0: all cores but one
  potluck settings memory 4GB             what training may take of the computer's memory; none for half of what is free
  potluck settings disk 20                gigabytes of the disk for data: half of it for what other members may have
  potluck settings compile yes            have torch compile the model's layers; pays on some devices
  potluck settings keep 30                minutes that training keeps its memory while it rests, to go on at once
  potluck settings awake yes              do not let this computer fall asleep while it contributes
  potluck settings name "Ada"             how collaborations that are joined from now on call this computer
  potluck settings energy-watts 45        watts it draws more while it contributes; 0: measured or estimated
  potluck settings energy-cents 32        price of a kilowatt-hour, and grams of carbon dioxide for it: My gift shows
  potluck settings energy-grams 380       what yours comes to
  potluck settings port 24000             where other volunteers call, from the next start on; 0: any
  potluck settings -                      change several at once, from a line of JSON: {"threads": 2, "share": 50}
  potluck settings port test              have others call now, and say what came of it
"""


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One setting on the command line."""

    field: str
    """One of `core.api.settings.FIELDS`."""
    read: Callable[[str], float | str | bool | list[str] | None]
    show: Callable[[SettingsView], str]


def _limit(rate_bytes_s: float | None) -> str:
    return "no limit" if rate_bytes_s is None else speed(rate_bytes_s)


def _month(shown: SettingsView) -> str:
    limit = "no limit" if shown.month_bytes is None else volume(shown.month_bytes)
    return limit if shown.month_used_bytes is None else f"{limit}; {volume(shown.month_used_bytes)} used so far"


def _memory(shown: SettingsView) -> str:
    limit = "half of what is free" if shown.memory_bytes is None else volume(shown.memory_bytes)
    return f"{limit} (of the computer's memory, for training)"


def _choice(field: str, *, yes: str, no: str) -> SettingRow:
    """A setting that is on or off, with what each of the two means."""
    return SettingRow(field, read_choice, lambda shown: f"yes ({yes})" if getattr(shown, field) else f"no ({no})")


def _most(limit: int | None, unit: str) -> str:
    return "no limit" if limit is None else f"rests above {limit} {unit}"


def _switch(subject: UseSubject, shown: SettingsView) -> str:
    switch: UseSwitch = getattr(shown, subject)
    return switch_text(switch, datetime.now().astimezone().timestamp())


def _keep(shown: SettingsView) -> str:
    memory = f"for {shown.keep_minutes} min" if shown.keep_minutes else "not at all"
    return f"{memory} (memory that training holds while it rests, to go on at once)"


ROWS: Final[Mapping[str, SettingRow]] = MappingProxyType(
    {
        "upload": SettingRow("upload_bytes_s", read_rate, lambda shown: _limit(shown.upload_bytes_s)),
        "download": SettingRow("download_bytes_s", read_rate, lambda shown: _limit(shown.download_bytes_s)),
        "month": SettingRow("month_bytes", read_volume, _month),
        "metered": _choice(
            "use_metered",
            yes="connections that cost money by the megabyte are used",
            no="Potluck rests while the connection costs money by the megabyte",
        ),
        "relay": _choice(
            "relay",
            yes="this computer carries connections for others who cannot be called",
            no="nothing is carried for others",
        ),
        "hours": SettingRow("hours", str, lambda shown: shown.hours),
        "device": SettingRow("device", str, lambda shown: shown.device),
        "threads": SettingRow("threads", read_whole, lambda shown: str(shown.threads or "all cores but one")),
        "memory": SettingRow("memory_bytes", read_volume, _memory),
        "disk": SettingRow(
            "disk_gigabytes", read_gigabytes, lambda shown: f"{shown.disk_gigabytes} GB (of the disk, for data)"
        ),
        "compile": _choice(
            "compile",
            yes="training stands still first, and is faster then on some devices",
            no="training begins at once",
        ),
        "keep": SettingRow("keep_minutes", read_whole, _keep),
        "awake": _choice(
            "keep_awake",
            yes="the computer does not fall asleep while it contributes",
            no="the system lets the computer fall asleep as ever",
        ),
        "energy-watts": SettingRow(
            "energy_watts", read_whole, lambda shown: f"{shown.energy_watts or 'as measured or estimated'} (W)"
        ),
        "energy-cents": SettingRow("energy_cents", read_whole, lambda shown: str(shown.energy_cents or "not told")),
        "energy-grams": SettingRow("energy_grams", read_whole, lambda shown: str(shown.energy_grams or "not told")),
        "computing": SettingRow("computing", str.lower, partial(_switch, "computing")),
        "gpu": SettingRow("gpu", str.lower, partial(_switch, "gpu")),
        "network": SettingRow("network", str.lower, partial(_switch, "network")),
        "battery": _choice(
            "on_battery",
            yes="it computes also while the computer runs on its battery",
            no="it rests while the computer runs on its battery",
        ),
        "charge": SettingRow(
            "battery_percent", read_whole, lambda shown: f"{shown.battery_percent} % (it rests below, on the battery)"
        ),
        "idle": SettingRow(
            "idle_minutes",
            read_whole,
            lambda shown: f"{shown.idle_minutes} min (the computer is in use for so long after the last key)",
        ),
        "in-use": _choice(
            "in_use",
            yes="the processor computes also while the computer is in use",
            no="the processor rests while the computer is in use",
        ),
        "in-use-gpu": _choice(
            "in_use_gpu",
            yes="a graphics card computes also while the computer is in use",
            no="a graphics card rests while the computer is in use",
        ),
        "in-use-share": SettingRow(
            "in_use_share", read_whole, lambda shown: f"{shown.in_use_share} % of the time (while it is in use)"
        ),
        "in-use-threads": SettingRow(
            "in_use_threads", read_whole, lambda shown: str(shown.in_use_threads or "as many as otherwise")
        ),
        "share": SettingRow("share", read_whole, lambda shown: f"{shown.share} % of the time"),
        "programs": SettingRow("programs", read_names, lambda shown: ", ".join(shown.programs) or "none"),
        "full-screen": _choice(
            "full_screen",
            yes="it computes also while a program fills the screen",
            no="it rests while a program fills the screen",
        ),
        "busy": SettingRow(
            "busy_percent", read_limit, lambda shown: _most(shown.busy_percent, "% of the processor in other programs")
        ),
        "gpu-busy": SettingRow(
            "gpu_busy_percent",
            read_limit,
            lambda shown: _most(shown.gpu_busy_percent, "% of the graphics card in other programs"),
        ),
        "heat": SettingRow("celsius_max", read_limit, lambda shown: _most(shown.celsius_max, "°C")),
        "watts": SettingRow("watts_max", read_limit, lambda shown: _most(shown.watts_max, "W")),
        "name": SettingRow("name", str, lambda shown: shown.name or "as the system calls this computer"),
        "port": SettingRow("port", read_whole, lambda shown: str(shown.port or "drawn at the first start")),
    }
)


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
    if args.name is not None and args.name not in ROWS:
        raise BadInput("There is no setting {name}.", quoted(args.name), ", ".join(ROWS), hint="There are: {names}.")
    if args.name == "port" and value == "test":
        _say_test(asyncio.run(ask_port(home)), json=args.json)
        return 0
    wish: Wish = {ROWS[args.name].field: ROWS[args.name].read(value)} if args.name and args.value else {}
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
    between = ", " if name == "programs" and not any("," in word for word in words) else " "
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
