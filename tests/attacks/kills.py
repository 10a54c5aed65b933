"""A backbone and the organiser's commands are killed (kill -9) at random moments under load: what was said is kept.

python -m tests.attacks.kills --moments 100 --seed 1

Each moment: a real backbone lets newcomers in by HTTPS, members bring further computers, and a process beside it shuts
people out, holds others, makes invitations and takes copies of the model, as the organiser's commands and the backbone
do.  At its page strangers make accounts, and a moderator lets them in; a moderator asks the desk for the chain of what
was done.  Each acknowledges what it has done; all are killed; then the charter is read by the program's own code, and
must have all that was acknowledged at any moment so far.  The last line is the figure.
"""

import argparse
import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import aiohttp
import msgspec
from sqlalchemy import Connection, select

from core.api.account import AccountAct
from core.api.moderation import ModerationAct, ModerationWish
from core.authority.acts import signed_wish
from core.authority.audit import AuditLine
from core.backbone.admission_log import AdmissionLog
from core.backbone.charter import (
    Charter,
    keep_document,
    load_charter,
    only_command,
    read_charter_records,
    revoke,
    revoked_keys,
)
from core.backbone.desk_messages import ModeratorAct
from core.backbone.invitations import INVITATIONS_MAX, new_invitation, write_invitations
from core.backbone.kept_states import STATES, KeptStates, kept_copies
from core.backbone.moderators.audit_log import ACTOR_DAILY, AuditLog
from core.base.ids import PeerId
from core.base.problems import Problem
from core.base.signing import KeyPair
from core.base.site.ways import WAYS
from core.joining.account import ask_account
from core.joining.signed_questions import ask_moderator
from core.net.clock import Clock
from core.site.database import Database, database_url
from core.site.tables import AccountState, account
from core.swarm.words.states import StateName
from tests.process.crowd import Crowd
from tests.process.site_sign_in import Browser
from tests.process.swarm import ENVIRONMENT, LOOPBACK, found
from tests.process.test_site import free_port, read, until
from tests.unit.backbone.test_kept_states import fetched

AT_ONCE = 4
LONGEST_S = 4.0
ANSWERS_MAX = ACTOR_DAILY - 50
"""The chain takes `ACTOR_DAILY` lines of a moderator a day, holds among them."""


@dataclass
class Acknowledged:
    """All that was said to be done, at all moments so far."""

    people: dict[str, bytes] = field(default_factory=dict)
    devices: dict[bytes, bytes] = field(default_factory=dict)
    """Further keys of accounts, with the first one."""
    revoked: set[bytes] = field(default_factory=set)
    held: set[bytes] = field(default_factory=set)
    invitations: set[str] = field(default_factory=set)
    accounts: set[str] = field(default_factory=set)
    """Names of people who have asked at the page."""
    answered: set[str] = field(default_factory=set)
    """Those to whom a moderator has said yes there."""
    audit: dict[int, bytes] = field(default_factory=dict)
    """Digests of lines of the chain, by number."""
    copy: int = 0
    counts: Counter[str] = field(default_factory=Counter)

    def take(self, line: str) -> None:
        """Note what the process beside the backbone has printed."""
        what, value = json.loads(line)
        self.counts[what] += 1
        match what:
            case "revoked":
                self.revoked.add(bytes.fromhex(value))
            case "held":
                self.held.add(bytes.fromhex(value))
            case "invitation":
                self.invitations.add(value)
            case "copy":
                self.copy = max(self.copy, value)

    def missing(self, folder: Path) -> list[str]:
        """What the charter has lost."""
        charter, lost = load_charter(folder), list[str]()
        log, records = AdmissionLog(folder), read_charter_records(charter)
        lost += [f"person {name}" for name, key in self.people.items() if log.name_of(PeerId(key)) != name]
        accounts = log.accounts
        lost += [
            f"device {key.hex()[:8]}"
            for key, first in self.devices.items()
            if log.name_of(PeerId(key)) is None or accounts.of(PeerId(key)) != accounts.of(PeerId(first))
        ]
        lost += [f"revocation {key.hex()[:8]}" for key in self.revoked - {*map(bytes, revoked_keys(charter))}]
        holds = {one.key for one in records.holds.of(charter.authority.peer_id).held}
        lost += [f"hold {key.hex()[:8]}" for key in self.held - {*map(bytes, holds)}]
        lost += [f"invitation {one}" for one in self.invitations - {each.secret for each in charter.invitations}]
        lost += self._missing_at_page(folder)
        lines = {line.n: line.digest for line in _chain(folder)}
        lost += [f"line {n}" for n, digest in self.audit.items() if lines.get(n) != digest]
        newest = KeptStates(folder, manifest=charter.manifest.id).newest()
        number = max((copy.number for copy in kept_copies(folder / STATES)), default=0)
        if self.copy and (newest is None or number < self.copy):
            lost.append(f"copy {self.copy}")
        return lost

    def _missing_at_page(self, folder: Path) -> list[str]:
        """What the page's database has lost, and answers that are not in the chain."""

        def rows(connection: Connection) -> dict[str, str]:
            found = connection.execute(select(account.c.name, account.c.state)).all()
            return {name: str(state) for name, state in found}

        async def read() -> dict[str, str]:
            database = Database(database_url("", folder))
            try:
                return await database.do(rows)
            finally:
                database.close()

        states = asyncio.run(read()) if self.accounts else {}
        said = [line.subject for line in _chain(folder)]
        answers = {one.partition(" (")[0] for one in said if one.endswith("yes")}
        lost = [f"account {name}" for name in self.accounts if name not in states]
        lost += [f"answer to {name}" for name in self.answered if states.get(name) != AccountState.ACTIVE]
        return lost + [f"line about {name}" for name in self.answered - answers]


def _chain(folder: Path) -> list[AuditLine]:
    """All lines about what was done."""
    log, lines = AuditLog(folder, load_charter(folder).manifest.id), list[AuditLine]()
    while more := log.after(lines[-1].n if lines else 0):
        lines += more
    assert log.broken is None
    return lines


async def work(folder: Path, seed: int) -> None:
    """The process beside the backbone: do, then print what was done."""
    charter, random, scratch = load_charter(folder), Random(seed), folder.parent / f"scratch-{os.getpid()}"
    kept, epoch = KeptStates(folder, manifest=charter.manifest.id), 1 + len(kept_copies(folder / STATES))
    while True:
        key, now = KeyPair.generate().peer_id, Clock().now()
        match random.randrange(4):
            case 0:
                async with only_command(charter):
                    revoke(charter, [key], now=now)
                _say("revoked", key.hex())
            case 1:
                await _hold(charter, key, now)
            case 2 if len(charter.invitations) < INVITATIONS_MAX:
                one = new_invitation(uses_max=3)
                async with only_command(charter):
                    write_invitations(folder, [*charter.invitations, one])
                _say("invitation", one.secret)
            case _:
                epoch += 1
                name = StateName(epoch, os.urandom(32))
                kept.keep(fetched(scratch, name, manifest=charter.manifest.id), 1.5)
                _say("copy", max(copy.number for copy in kept_copies(folder / STATES)))


async def _hold(charter: Charter, key: PeerId, now: float) -> None:
    wish = ModerationWish(act=ModerationAct.HOLD, who=key.hex(), days=6)
    async with only_command(charter):
        records = read_charter_records(charter)
        held = records.holds.of(charter.authority.peer_id).held
        if len(held) >= 20 or (held and now < records.holds.of(charter.authority.peer_id).number + 6):
            return  # as many as one moderator may hold, or too soon after the last
        keep_document(charter, records, signed_wish(records, charter.authority, now, wish, lambda _: [key]))
    _say("held", key.hex())


def _say(what: str, value: object) -> None:
    sys.stdout.write(json.dumps([what, value]) + "\n")
    sys.stdout.flush()


def _started(*words: str) -> "subprocess.Popen[bytes]":
    """A process in a group of its own, so that all that it starts is killed with it."""
    command = [sys.executable, "-m", *words]
    quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command, env=ENVIRONMENT, start_new_session=True, **quiet)


async def moment(folder: Path, known: Acknowledged, random: Random) -> None:
    """Start both, let them work for a while, and kill them."""
    port = free_port()
    (folder / WAYS).write_text(f'address = "http://127.0.0.1:{port}"\n[passphrase]\nadmit = "asked"\n')
    backbone = _started("core", "backbone", "--charter", str(folder), *LOOPBACK, "--site", str(port), "--json")
    assert backbone.stdout is not None
    crowd = Crowd.at(json.loads(await asyncio.to_thread(backbone.stdout.readline))["link"])
    crowd.numbers = iter(range(len(known.people) + 1000 * known.counts["moments"], 10**9))  # type: ignore[assignment]
    beside = _started("tests.attacks.kills", "--work", str(folder), "--seed", str(random.randrange(2**31)))
    assert beside.stdout is not None
    first = await asyncio.to_thread(beside.stdout.readline)
    await until(lambda: read(port, "/in"))
    loads = [asyncio.create_task(_join(crowd, known)) for _ in range(AT_ONCE)]
    loads += [asyncio.create_task(_ask_at_page(port, known)), asyncio.create_task(_moderate(crowd, folder, known))]
    await asyncio.sleep(random.uniform(0.0, LONGEST_S))
    for process in (backbone, beside):
        os.killpg(process.pid, signal.SIGKILL)
    for line in [first, *beside.stdout]:
        if line.endswith(b"\n"):
            known.take(line.decode())
    for process in (backbone, beside):
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
    await asyncio.gather(*loads)
    known.people.update({name: key.peer_id for name, key in crowd.acknowledged.items()})
    known.counts["people"] = len(known.people)
    for name in ("devices", "accounts", "answered", "audit"):
        known.counts[name] = len(getattr(known, name))
    known.counts["moments"] += 1


async def _join(crowd: Crowd, known: Acknowledged) -> None:
    """Newcomers, one after another; each third brings a further computer."""
    while not crowd.refused:
        before = {*crowd.acknowledged}
        await crowd.join_one()
        for name in crowd.acknowledged.keys() - before:
            if len(crowd.acknowledged) % 3 == 0:
                key, more = crowd.acknowledged[name], KeyPair.generate()
                try:
                    answer = await ask_account(crowd.link, key, Clock().now, AccountAct.ADD)
                except Problem:
                    return
                if await crowd.ask(more, name, answer.invite, next(crowd.numbers)) is not None:
                    known.devices[more.peer_id] = key.peer_id


async def _ask_at_page(port: int, known: Acknowledged) -> None:
    """Strangers make accounts, one after another, each from another household."""
    async with _browsers(f"http://127.0.0.1:{port}") as browser:
        for number in range(250):
            browser.client.headers["X-Forwarded-For"] = f"198.51.100.{number}"
            browser.client.cookie_jar.clear()
            name = f"asks{len(known.accounts)}x{known.counts['moments']}"
            if "has not answered yet" not in await browser.new(name, words="please"):
                return
            known.accounts.add(name)


async def _moderate(crowd: Crowd, folder: Path, known: Acknowledged) -> None:
    """The founder signs in at the page and lets in all who ask; then asks the desk for all that was done, and so on."""
    charter = load_charter(folder)
    with suppress(Problem):
        page = (await ask_moderator(crowd.link, charter.authority, Clock().now, ModeratorAct.PAGE))[1].page
        async with _browsers(page.partition("/m/in")[0]) as browser:
            await browser.get(page)
            await browser.post("/m/in", code=page.partition("=")[2])
            for turn in range(10**9):
                text = await browser.get("/m/requests")
                asked = re.search(r'request-(\d+)"><bdi>(\w+)<', text)
                if (
                    asked is not None
                    and len(known.answered) < ANSWERS_MAX
                    and "signed in as" in await browser.post("/m/requests", number=asked[1], answer="yes")
                ):
                    known.answered.add(asked[2])
                if turn % 5:  # a desk answers ten questions of a moderator at once
                    continue
                after = max(known.audit, default=0)
                asking = ask_moderator(crowd.link, charter.authority, Clock().now, ModeratorAct.AUDIT, after)
                known.audit.update({line.n: line.digest for line in (await asking)[1].lines})


@asynccontextmanager
async def _browsers(site: str) -> AsyncIterator[Browser]:
    """A browser until the page is killed."""
    browser = Browser(site)
    try:
        with suppress(aiohttp.ClientError, OSError):
            yield browser
    finally:
        await browser.client.close()


async def kills(folder: Path, moments: int, seed: int, *, told: bool = False) -> tuple[Acknowledged, list[str]]:
    """Kill at so many moments; what was acknowledged, and what of it is missing."""
    charter = found(folder, target_samples=64)
    write_invitations(charter.folder, [msgspec.structs.replace(charter.invitations[0], uses_max=None)])
    known, random, missing = Acknowledged(), Random(seed), list[str]()
    known.invitations.add(charter.invitations[0].secret)
    for number in range(moments):
        began = time.monotonic()
        await moment(charter.folder, known, random)
        missing += [f"moment {number}: {one}" for one in await asyncio.to_thread(known.missing, charter.folder)]
        if told:
            sys.stderr.write(f"{number + 1}: {dict(known.counts)}, {time.monotonic() - began:.1f} s, {missing}\n")
    return known, missing


def main(argv: list[str]) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--moments", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=Path)
    args = parser.parse_args(argv)
    if args.work is not None:
        asyncio.run(work(args.work, args.seed))
    with tempfile.TemporaryDirectory(prefix="potluck-kills-") as folder:
        known, missing = asyncio.run(kills(Path(folder), args.moments, args.seed, told=True))
    sys.stdout.write(json.dumps({"acknowledged": dict(known.counts), "missing": missing}) + "\n")
    return 1 if missing else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
