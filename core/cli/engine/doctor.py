"""`potluck doctor`: is everything here that Potluck needs, and if not, what to do."""

import argparse
import asyncio
import errno
import importlib
import importlib.util
import os
import queue
import shutil
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeVar

import msgspec

from core.api.joined import without_screen
from core.api.training_part import PartState
from core.base.problems import Problem, Said, Sentence
from core.cli.engine.devices import missing_devices
from core.cli.engine.doctor_senses import sense_now, told_of
from core.cli.engine.settings import ask_port
from core.cli.parsing.options import Commands, add_home, add_json
from core.cli.printing.say import say_json
from core.control.engine_file import NotRunning
from core.net.addresses.interfaces import own_hosts
from core.net.listening import ANY, refusal
from core.parts import part
from core.schedule.senses.findings import NetworkSense
from core.schedule.senses.network import ask_program, sense_network
from core.storage.identity import KEY_IN_FILE, SERVICE, Keyring, in_keyring, system_keyring
from core.storage.paths import Home
from core.storage.settings import load_settings

Level = Literal["fine", "note", "problem"]
"""A note: it works, but could be better, or this computer does not tell."""
Check = Callable[["Examined"], "Finding"]
T = TypeVar("T")

EXIT_PROBLEM: Final = 2
KEYRING_S: Final = 8.0
ANSWER_S: Final = 90.0
"""The first import of torch can take long."""
DISK_NEEDED_BYTES: Final = 3 * 10**9
DISK_GOOD_BYTES: Final = 10 * 10**9
CLOCK_EARLIEST: Final = 1_767_225_600.0
"""The first second of 2026: no clock that is right shows less."""
CLOCK_FUTURE_S: Final = 300.0
_COSTS_UNKNOWN: Final = (
    "The system does not say whether it costs. If it does, set limits, as in: potluck settings month 5GB"
)


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of one check: a sentence, and advice."""

    level: Level
    sentence: str | Sentence
    advice: str | Sentence = ""

    @property
    def said(self) -> Said:
        """How sentence and advice are made, as far as they have values."""
        return tuple(one for one in (self.sentence, self.advice) if isinstance(one, Sentence) and one.arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """This computer, as the checks see it."""

    home: Home
    environ: Mapping[str, str]
    now: float
    """Unix seconds of the system's clock."""
    ask: Callable[[Sequence[str]], str]
    """Runs a program; what it printed, empty when it failed."""
    keyring: Keyring | None
    hosts: Sequence[str]
    """Its addresses in all networks that it is in."""
    platform: str = sys.platform


def add(commands: Commands) -> None:
    """Add the command to the program."""
    parser = commands.add_parser("doctor", description="Check this computer, and say what to do.")
    add_home(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Check everything; 0 when Potluck can work here, 2 when something has to be mended."""
    examined = Examined(
        home=Home.find(args.home),
        environ=os.environ,
        now=time.time(),  # noqa: TID251 - the system's clock is what is examined
        ask=lambda words: asyncio.run(ask_program(words, timeout_s=ANSWER_S)),
        keyring=system_keyring(os.environ),
        hosts=own_hosts(ANY),
    )
    worst = 0
    for name, check in CHECKS:
        finding = check(examined)
        worst = max(worst, EXIT_PROBLEM if finding.level == "problem" else 0)
        if args.json:
            told = {"sentence": str(finding.sentence), "advice": str(finding.advice)}
            said = {"said": finding.said} if finding.said else {}
            say_json({"event": "check", "name": name, "level": finding.level, **told, **said})
        else:
            print(as_text(name, finding), flush=True)
    return worst


def as_text(name: str, finding: Finding) -> str:
    """For a person: the finding, below it the advice."""
    mark = {"fine": "ok", "note": "--", "problem": "!!"}[finding.level]
    below = f"\n{'':13}{finding.advice}" if finding.advice else ""
    return f"{mark} {name:10}{finding.sentence}{below}"


def port(examined: Examined) -> Finding:
    """Check that the port for peers is free for both planes, or held by this home's own engine."""
    number = load_settings(examined.home.settings_file).settings.port
    if not number:
        return Finding("fine", "No port for peers is chosen yet; the first start draws one and keeps it.")
    held = _held_port(examined.home)
    if held is not None:
        return held
    for kind, word in ((socket.SOCK_STREAM, "TCP"), (socket.SOCK_DGRAM, "UDP")):
        error = refusal(ANY, number, kind)
        if error is not None:
            used = error.errno == errno.EADDRINUSE
            taken = Sentence("is used by another program" if used else "fails: {error}", error.strerror)
            return Finding(
                "problem",
                Sentence("Port {port} ({kind}), at which other computers call, {taken}.", number, word, taken),
                "End that program, or choose another port: potluck settings port NUMBER",
            )
    return Finding(
        "fine",
        Sentence("Port {port} is free for TCP and UDP.", number),
        "A router's own rule, if you make one, should lead TCP and UDP of this port here; none is needed.",
    )


def _held_port(home: Home) -> Finding | None:
    """The running engine's word on its port, as from `potluck settings port test`; None: no engine runs."""
    try:
        tested = asyncio.run(ask_port(home))
    except NotRunning:
        return None
    except (Problem, TimeoutError) as problem:
        why = problem.whole if isinstance(problem, Problem) else ""
        return Finding("note", Sentence("Potluck runs, but does not say how others reach it. {why}", why))
    told = Problem(tested.sentence, hint=tested.advice, said=tested.said)
    return Finding("note" if told.hint else "fine", Sentence("Potluck runs. {told}", told.sentence), told.advice)


def keyring(examined: Examined) -> Finding:
    """Check that the system's keyring answers."""
    ring = examined.keyring
    level: Level = "note"
    advice = Sentence("Nothing has to be done: the key is then kept in a file that only you can read.")
    if in_keyring(examined.home.identity_file):
        level = "problem"
        advice = Sentence("This computer's key is in it: unlock the keyring. {also}", KEY_IN_FILE)
    if ring is None:
        return Finding(level, "The system's keyring is switched off by POTLUCK_KEYRING.", advice)
    try:
        in_time(lambda: ring.get_password(SERVICE, "doctor"), KEYRING_S)
    except Exception as error:  # noqa: BLE001 - backends raise whatever their system does
        if isinstance(error, TimeoutError):
            return Finding(level, "The system's keyring does not answer.", advice)
        return Finding(level, "The system's keyring is not usable.", advice)
    return Finding("fine", "The system's keyring answers.")


def clock(examined: Examined) -> Finding:
    """The clock is set; passes and messages carry times."""
    advice = (
        "Turn on automatic date and time in the system's settings; other computers refuse messages of a wrong time."
    )
    if examined.now < CLOCK_EARLIEST:
        return Finding("problem", "This computer's clock is wrong by years.", advice)
    written = examined.home.settings_file
    if written.exists() and written.stat().st_mtime > examined.now + CLOCK_FUTURE_S:
        return Finding("problem", "This computer's clock went back: its files are from the future.", advice)
    if examined.platform != "linux":
        return Finding("fine", "The clock shows a possible time; joining compares it with the collaboration's.")
    match examined.ask(("timedatectl", "show", "-p", "NTPSynchronized", "--value")).strip():
        case "yes":
            return Finding("fine", "The clock is kept right by the system.")
        case "no":
            return Finding("note", "The system does not keep its clock right by itself.", advice)
        case _:
            return Finding(
                "note", "The system does not say whether its clock is kept right.", "Compare it with another."
            )


def disk(examined: Examined) -> Finding:
    """Check that there is room for checkpoints."""
    folder = examined.home.directory
    existing = next(place for place in (folder, *folder.parents) if place.exists())
    free = shutil.disk_usage(existing).free
    there = "{free} GB are free where Potluck keeps its things ({folder})."
    sentence = Sentence(there, f"{free / 1e9:.1f}", folder)
    if free < DISK_NEEDED_BYTES:
        needed = f"{DISK_NEEDED_BYTES / 1e9:.0f}"
        return Finding("problem", sentence, Sentence("Free some space: {needed} GB are needed.", needed))
    if free < DISK_GOOD_BYTES:
        return Finding("note", sentence, "Large models need more; POTLUCK_HOME can name a folder on another disk.")
    if not os.access(existing, os.W_OK):
        shut = Sentence("Potluck may not write to {folder}.", existing)
        return Finding("problem", shut, "Change its permissions, or set POTLUCK_HOME.")
    return Finding("fine", sentence)


def training(examined: Examined) -> Finding:
    """Check that this computer can train."""
    state = part.state_of(examined.home.directory)
    if state in part.LACKING:
        return Finding("problem" if state is PartState.DAMAGED else "note", part.LACKING[state], part.GET_IT)
    said = examined.ask((sys.executable, "-m", "core.training.devices.devices")).strip()
    if not said:
        return Finding("problem", "torch is installed, but does not start.", "Get another build: potluck training-part")
    found = msgspec.json.decode(said.splitlines()[-1], type=list[dict[str, str | int]])
    titles = ", ".join(f"{each['title']} ({each['name']})" for each in found)
    wish = load_settings(examined.home.settings_file).settings.device
    if missing := missing_devices(wish, [str(each["name"]) for each in found]):
        lacks = "Training can use {titles}. The settings say {wish}, and there is no {missing} now."
        told = Sentence(lacks, titles, wish, ", ".join(missing))
        return Finding("note", told, "Choose others: potluck settings device auto")
    if len(found) == 1:
        return Finding("fine", "Training runs on the processor; torch finds no other device here.")
    used = {
        "auto": "Training can use {titles}. The first of them is used.",
        "all": "Training can use {titles}. All of them are used.",
    }.get(wish, "Training can use {titles}. The settings say {wish}.")
    return Finding(
        "fine",
        Sentence(used, titles, wish),
        "Another is chosen as in: potluck settings device cpu; several as in: potluck settings device cuda:0,cpu",
    )


def window(examined: Examined) -> Finding:
    """Check that the window can open."""
    if importlib.util.find_spec("app.shell.screen") is None:
        return Finding("note", "The window is not installed.", "The command line does everything: potluck --help")
    screen = importlib.import_module("app.shell.screen")
    why = screen.obstacle(examined.environ, without_screen(examined.home.directory))
    if why is None:
        return Finding("fine", "The window can open.")
    obstacle, _, advice = str(why).partition(". ")
    return Finding("note", Sentence("{obstacle}.", obstacle.rstrip(".")), advice)


def network(examined: Examined) -> Finding:
    """Find the kind of network that this computer uses."""
    if not examined.hosts:
        return Finding(
            "problem",
            "This computer is in no network.",
            "Connect it to train with others; potluck demo needs no network.",
        )

    async def ask(words: Sequence[str]) -> str:
        return await asyncio.to_thread(examined.ask, words)

    known = asyncio.run(sense_network(ask, platform=examined.platform))
    return network_finding(known, allowed=load_settings(examined.home.settings_file).settings.use_metered)


def network_finding(known: NetworkSense, *, allowed: bool) -> Finding:
    """Describe the network in words.

    Args:
        known: The system's findings.
        allowed: The person lets Potluck use metered connections.
    """
    words = {"cable": "by cable", "wifi": "by Wi-Fi", "mobile": "by mobile radio", "unknown": "in a way not known"}
    router = Sentence("through a router" if known.gateway else "with no router in sight")
    sentence = Sentence("Connected {medium}, {router}.", Sentence(words[known.medium]), router)
    match known.metered:
        case True if allowed:
            return Finding(
                "note",
                Sentence("{network} The system says that this connection is metered.", sentence),
                "Potluck uses it, as you chose. To leave it alone: potluck settings metered no",
            )
        case True:
            return Finding(
                "note",
                Sentence("{network} The system says that this connection is metered.", sentence),
                "Potluck leaves it alone. To use it all the same: potluck settings metered yes",
            )
        case False:
            return Finding("fine", Sentence("{network} It is not metered.", sentence))
        case None:
            return Finding("note", sentence, _COSTS_UNKNOWN)


def senses(_: Examined) -> Finding:
    """Find out what this system tells of its use, which the rules for when to run need."""
    told, lacking = told_of(sense_now())
    return Finding("note" if lacking else "fine", told, lacking or "")


def in_time(call: Callable[[], T], timeout_s: float) -> T:
    """The answer of something that may hang, asked in a thread that ends with the process.

    Raises:
        TimeoutError: no answer in time.
    """
    answers: queue.SimpleQueue[tuple[T | None, Exception | None]] = queue.SimpleQueue()

    def ask() -> None:
        try:
            answers.put((call(), None))
        except Exception as error:  # noqa: BLE001 - handed to the caller
            answers.put((None, error))

    threading.Thread(target=ask, daemon=True).start()
    try:
        answer, error = answers.get(timeout=timeout_s)
    except queue.Empty:
        raise TimeoutError from None
    if error is not None:
        raise error
    return answer  # type: ignore[return-value]


CHECKS: Final[tuple[tuple[str, Check], ...]] = (
    ("port", port),
    ("network", network),
    ("clock", clock),
    ("keyring", keyring),
    ("disk", disk),
    ("training", training),
    ("window", window),
    ("senses", senses),
)
