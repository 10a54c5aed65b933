"""How often copies of the model are taken, and where else the newest one is put: `copies.json` in the charter.

A mirror is any address of fsspec: a folder, a bucket, a server that takes files by HTTP (PUT).  A process of its own
(`core.backbone.mirror_work`) writes the file whole and then its digest beside it, so that a copy without one is not
whole; what fails is tried again, ever more seldom.  Nothing is deleted there, and no mirror stops a backbone.

What the worst mirror gains: the copies, which everybody may have anyway, and a process for `upload_s`.
"""

import asyncio
import logging
import re
from collections.abc import Callable
from pathlib import Path
from random import SystemRandom
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.backbone.kept_states import STATES, KeptCopy, kept_copies
from core.base.problems import BadInput, Problem, printable, quoted
from core.net.clock import Clock
from core.swarm.words.facts import CopyEvery
from core.system.atomic_files import read_bounded, set_aside, write_atomic
from core.system.child_process import own_command
from core.system.reports import answer

_LOG = logging.getLogger(__name__)
PLAN: Final = "copies.json"
NOTES: Final = "mirrors.json"
EVERY_MIN_S: Final = 60
EVERY_MAX_S: Final = 7 * 24 * 3600
MIRRORS_MAX: Final = 8
ADDRESS_MAX: Final = 400
LOOK_S: Final = 10.0
RETRY_S: Final = 30.0
RETRY_MAX_S: Final = 3600.0
UPLOAD_LEAST_S: Final = 120.0
UPLOAD_BYTES_PER_S: Final = 50_000
"""A mirror that takes less is given up, and tried again."""
MIRRORED: Final = "mirrored"
_BYTES_MAX: Final = 64 * 1024
_URL: Final = re.compile(
    r"(?<![\w+.:-])((?!file:)[a-z][\w+.:-]*://)([^\s/?#]*@)?(\[[^\]\s]*\]|[^\s/?#@:]*)((?::\d+\b)?)\S*", re.IGNORECASE
)
_Address = Annotated[str, Meta(min_length=1, max_length=ADDRESS_MAX)]


class CopyPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What the organiser wants of copies."""

    every_s: Annotated[int, Meta(ge=EVERY_MIN_S, le=EVERY_MAX_S)] | None = None
    """Seconds between two copies; None: as long as the usual rest after each."""
    mirrors: Annotated[tuple[_Address, ...], Meta(max_length=MIRRORS_MAX)] = ()


class MirrorNote(msgspec.Struct, frozen=True, kw_only=True):
    """What has become of one mirror."""

    copy: int = 0
    """Number of the last copy that is there whole; 0: none."""
    at: float = 0.0
    """When it was there, Unix seconds."""
    failed: int = 0
    """Failures since then."""
    fault: Annotated[str, Meta(max_length=600)] = ""
    again_at: float = 0.0
    """When it is tried again, Unix seconds."""


def read_plan(folder: Path) -> CopyPlan:
    """What the organiser wants; a damaged file is set aside.

    Args:
        folder: The charter's.
    """
    try:
        return msgspec.json.decode(read_bounded(folder / PLAN, _BYTES_MAX) or b"{}", type=CopyPlan)
    except ValueError:
        set_aside(folder / PLAN)
        return CopyPlan()


def write_plan(folder: Path, plan: CopyPlan) -> None:
    """Keep what the organiser wants; a backbone that runs finds it within seconds.

    Args:
        folder: The charter's.
        plan: What holds from now on.

    Raises:
        BadInput: there are too many mirrors.
        NoSpace: the disk is full.
    """
    if len(plan.mirrors) > MIRRORS_MAX:
        raise BadInput("There can be {most} mirrors.", MIRRORS_MAX, hint="Remove one first, with --no-mirror.")
    write_atomic(folder / PLAN, msgspec.json.encode(plan))


def read_notes(folder: Path) -> dict[str, MirrorNote]:
    """What has become of each mirror, by address; a damaged file counts as none.

    Args:
        folder: The charter's.
    """
    try:
        return msgspec.json.decode(read_bounded(folder / NOTES, _BYTES_MAX) or b"{}", type=dict[str, MirrorNote])
    except (ValueError, Problem):
        return {}


def check_address(address: str, folder: Path) -> str:
    """The address of a mirror; a path becomes absolute.

    Args:
        address: As the organiser writes it.
        folder: The charter's, in which no mirror lies.

    Raises:
        BadInput: it cannot be one.
    """
    said = address if "://" in address else str(Path(address).expanduser().absolute())
    if not address or len(said) > ADDRESS_MAX or not said.isprintable():
        raise BadInput("{address} cannot be a mirror.", quoted(address, 80), hint="Name a folder, or a URL of fsspec.")
    if "://" not in said and Path(said).is_relative_to(folder):
        raise BadInput("A mirror cannot lie in the folder of the collaboration.", hint="Name a folder elsewhere.")
    return said


def shown(address: str) -> str:
    """An address as far as it has no secret: a path, or the scheme and host of a URL."""
    found = _URL.match(address)
    return printable(address if found is None else found.expand(r"\1\3\4"))


def _fault_shown(said: str, address: str) -> str:
    """What went wrong, without the secrets of a mirror's address, which libraries repeat whole or in part."""
    if found := _URL.match(address):
        path, _, query = address[found.end(4) :].partition("?")
        password = (found[2] or "").partition(":")[2].removesuffix("@")
        said = said.replace(address, shown(address))
        for part in (f"{path}?{query}", path, query, password):
            said = said.replace(part, "...") if len(part) > 1 else said
    return printable(_URL.sub(r"\1\3\4", said))[:600]


async def keep_mirrors(folder: Path, tell: Callable[[CopyEvery], object]) -> None:
    """Follow the plan until cancelled.

    Args:
        folder: The charter's.
        tell: Takes how often copies are wanted, at first and when that changes.
    """
    clock, told, running = Clock(), CopyEvery(None), dict[str, asyncio.Task[None]]()
    async with asyncio.TaskGroup() as group:
        while True:
            try:
                plan = read_plan(folder)
            except Problem as problem:
                _LOG.warning("what is wanted of copies cannot be read: %s", problem)
                plan = CopyPlan()
            if told != (wanted := CopyEvery(plan.every_s)):
                told = wanted
                tell(told)
            newest, notes = kept_copies(folder / STATES)[-1:], read_notes(folder)
            for address in plan.mirrors if newest else ():
                note, busy = notes.get(address, MirrorNote()), running.get(address)
                if note.copy != newest[0].number and clock.now() >= note.again_at and (busy is None or busy.done()):
                    running[address] = group.create_task(_mirror(folder, address, newest[0], note, clock))
            await asyncio.sleep(LOOK_S)


async def _mirror(folder: Path, address: str, copy: KeptCopy, before: MirrorNote, clock: Clock) -> None:
    """Try once to have a copy at a mirror, and note what has come of it."""
    fault = ""
    try:
        upload_s = UPLOAD_LEAST_S + copy.path.stat().st_size / UPLOAD_BYTES_PER_S
        async with asyncio.timeout(upload_s):
            command = [*own_command("mirror", "core.backbone.mirror_work"), str(copy.path)]
            said = await answer(command, (MIRRORED,), secrets={"mirror": address})
        fault = str(said["fault"])
    except TimeoutError:
        fault = "It takes too long."
    except (OSError, Problem) as problem:
        fault = str(problem)
    fault, now = _fault_shown(fault, address), clock.now()
    if fault:
        rest_s = min(RETRY_S * 2 ** min(before.failed, 10), RETRY_MAX_S) * SystemRandom().uniform(0.5, 1.0)
        note = msgspec.structs.replace(before, failed=before.failed + 1, fault=fault, again_at=now + rest_s)
        _LOG.warning("the copy of epoch %d is not at the mirror %s: %s", copy.epoch, shown(address), fault)
    else:
        note = MirrorNote(copy=copy.number, at=now)
        _LOG.info("the copy of epoch %d is at the mirror %s", copy.epoch, shown(address))
    try:
        wanted = {*read_plan(folder).mirrors, address}
        notes = {each: known for each, known in read_notes(folder).items() if each in wanted}
        write_atomic(folder / NOTES, msgspec.json.encode({**notes, address: note}))
    except Problem as problem:
        _LOG.warning("what has become of a mirror is not noted: %s", problem)
