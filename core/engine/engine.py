"""The engine: its life, what clients ask of it, and what follows from what the swarm says.

It and `core.engine.entry`, which puts its parts together, know everybody; everybody else knows what they were given.
"""

import asyncio
import logging
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import SystemRandom
from typing import Any

from core.api.commands import ModelEvaluation
from core.api.settings import PortTest, SettingsView
from core.api.snapshot import Snapshot
from core.averaging.receipts.exchange import Receipted
from core.backbone.join import usable_name
from core.backbone.link import Link
from core.base.ids import PeerId, short
from core.base.problems import Problem
from core.base.signing import KeyPair
from core.control.door import Door
from core.control.notices import NoticeRing
from core.dht.events import ClockOff, Learned
from core.engine.entry import SessionEntry, SessionListener
from core.engine.options import EngineOptions
from core.engine.parts import SessionParts, network_monitor_of
from core.engine.port_test import try_port
from core.engine.preferences import Preferences, view
from core.engine.snapshots import Standpoint, clock_notice, take_snapshot
from core.nat.events import DialEnded, ReachChanged, Way
from core.nat.reach import Reachability
from core.net.clock import Clock
from core.storage.identity import load_identity, system_keyring
from core.storage.settings import load_settings
from core.swarm import orders
from core.workers.trainer import FATAL_CODES

_LOG = logging.getLogger(__name__)


@dataclass(slots=True)
class _Life:
    """What the engine knows from its first moment."""

    key: KeyPair
    stage: str = "Potluck is starting."
    problem: Problem | None = None


class Engine:
    """A volunteer's engine: the control door, the swarm, and the trainer.

    Args:
        options: How it was started.
        clock: The one clock of this process.
    """

    def __init__(self, options: EngineOptions, clock: Clock) -> None:
        self._options = options
        self._clock = clock
        self._home = options.home
        self._home.create()
        self.notices = NoticeRing(clock.now)
        read = load_settings(self._home.settings_file)
        identity = load_identity(self._home.identity_file, system_keyring(os.environ))
        self._life = _Life(identity.keys)
        self._preferences = Preferences(self._home.settings_file, read.settings.with_port(SystemRandom()))
        for notice in (read.notice, identity.notice):
            if notice is not None:
                self.notices.add("warning", notice)
        self._door = Door(home=self._home, intents=self, notices=self.notices, now=clock.now)
        self._parts: SessionParts | None = None
        self._quit = asyncio.Event()
        self._allowance_changed = asyncio.Event()
        self._fatal: Problem | None = None

    # --- what clients ask (core.control.intents.Intents) -------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """The whole state, now."""
        life, parts, now = self._life, self._parts, self._clock.now()
        trainer = parts.trainer if parts is not None else None
        stats = parts.host.stats if parts is not None else None
        return take_snapshot(
            Standpoint(
                pid=os.getpid(),
                now=now,
                stage=life.stage,
                contributing=self._preferences.settings.contributing,
                name=self._name(),
                me=life.key.peer_id,
                manifest=parts.membership.manifest if parts is not None else None,
                participant=parts.participant.view(now) if parts is not None else None,
                ledger=parts.journal.ledger if parts is not None else None,
                worker_pid=trainer.pid if trainer is not None else None,
                loss_unigram=trainer.loss_unigram if trainer is not None else None,
                bytes_sent=stats.bytes_sent if stats is not None else 0,
                bytes_received=stats.bytes_received if stats is not None else 0,
                contributing_s=parts.journal.contributed_s if parts is not None else 0.0,
                problem=life.problem or (trainer.problem if trainer is not None else None),
                reach=parts.outward.traversal.reach if parts is not None and parts.outward is not None else None,
                resting=parts.usage_policy.reason if parts is not None else "",
                notice_last=self.notices.last,
            )
        )

    async def pause(self) -> None:
        """The person's switch: off.  The worker is gone when this returns."""
        if self._parts is not None:
            await self._parts.trainer.pause()
        self._switch(contributing=False)
        self.notices.add("info", "Paused by you.")
        self._door.announce()

    async def resume(self) -> None:
        """The person's switch: on."""
        self._switch(contributing=True)
        if self._parts is not None and not self._parts.usage_policy.reason:
            self._parts.trainer.resume()
        self.notices.add("info", "Contributing again.")
        self._door.announce()

    async def quit(self) -> None:
        """Stop the engine, soon."""
        self._quit.set()

    async def evaluate(self) -> ModelEvaluation:
        """Look at the held-out text."""
        seen = await self._joined().trainer.evaluate()
        return ModelEvaluation(epoch=seen.epoch, loss=seen.loss, loss_unigram=seen.loss_unigram)

    def settings(self) -> SettingsView:
        """What the person chose about the network."""
        parts, chosen = self._parts, self._preferences.settings
        if parts is None:
            return view(chosen)
        port_now = parts.port if self._options.port is None else 0
        return view(chosen, month_used_bytes=parts.usage_policy.pace.used.used_bytes, port_now=port_now)

    def configure(self, wish: Mapping[str, object]) -> SettingsView:
        """Change some of it; it holds at once."""
        self._preferences.change(wish)
        self._door.announce()
        return self.settings()

    async def test_port(self) -> PortTest:
        """Have others call this computer."""
        parts = self._joined()
        participant = parts.participant
        heard = lambda now: participant.view(now).audible  # noqa: E731
        return await try_port(parts.outward, port=parts.port, now=self._clock.now, heard=heard)

    def _joined(self) -> SessionParts:
        if self._parts is None or not self._parts.port:
            raise Problem("The engine has not joined a collaboration yet.", hint="Try again in a moment.")
        return self._parts

    # --- the engine's life -------------------------------------------------------------------------------------------

    async def open(self) -> None:
        """Claim the home and let clients in.

        Raises:
            AlreadyRunning: an engine runs on this home.
            NoSpace: the disk is full.
        """
        await self._door.open()
        self._preferences.save()

    def stage(self, sentence: str) -> None:
        """Say what is being prepared."""
        self._life.stage = sentence
        self._door.announce()

    def fail(self, problem: Problem) -> None:
        """Show a problem that keeps the engine from going on, until somebody quits it."""
        self._life.problem = problem
        _LOG.error("%s", problem)
        self.notices.add("problem", str(problem))
        self._door.announce()

    @property
    def serving(self) -> bool:
        """Whether `serve` has joined; before that it can be cancelled, after it `stop` ends it properly."""
        return self._parts is not None

    def stop_after(self, epoch: int | None) -> None:
        """Take no part in epochs beyond this one; to be said before `serve`."""
        self._options = replace(self._options, last_epoch=epoch)

    def stop(self) -> None:
        """Ask `serve` to return."""
        self._quit.set()

    async def until_quit(self) -> None:
        """Wait until a client, a signal or the owner wants the engine to end."""
        await self._quit.wait()

    async def serve(self, link: Link) -> None:
        """Join the collaboration behind `link` and take part until `quit`.

        Raises:
            UserProblem: the link, the pass, the disk or a port is wrong; the sentence says what to do.
        """
        self.stage("Joining the collaboration.")
        entry = self._entry()
        parts = self._parts = await entry.join(link)
        try:
            async with asyncio.TaskGroup() as group:
                await entry.begin(parts)
                self._door.announce()
                tasks = [
                    group.create_task(parts.host.run()),
                    group.create_task(parts.trainer.run()),
                    group.create_task(parts.journal.keep(lambda: parts.participant.contacts)),
                    group.create_task(entry.keep_pass(parts)),
                    group.create_task(parts.usage_policy.keep()),
                    group.create_task(self._heed_allowance(parts)),
                ]
                if parts.outward is not None:
                    bind, me = self._options.bind, self._life.key.peer_id
                    network_monitor = network_monitor_of(parts, parts.outward, me=me, bind=bind, now=self._clock.now)
                    tasks.append(group.create_task(network_monitor.run()))
                if self._preferences.settings.contributing:
                    self._switch(contributing=True)
                    if not parts.usage_policy.reason:
                        parts.trainer.resume()
                await self._quit.wait()
                await parts.trainer.pause()
                for task in tasks:
                    task.cancel()
        finally:
            parts.journal.contributing(on=False)
            parts.journal.save(parts.participant.contacts)
            await parts.host.close()
        if self._fatal is not None:
            raise self._fatal

    async def close(self) -> None:
        """Say goodbye to clients and give the home back."""
        await self._door.close()

    def _entry(self) -> SessionEntry:
        return SessionEntry(
            options=self._options,
            home=self._home,
            key=self._life.key,
            clock=self._clock,
            preferences=self._preferences,
            notices=self.notices,
            name=self._name,
            hears=SessionListener(
                stage=self.stage,
                event=self._on_event,
                outward=self._on_outward,
                trainer=self._trainer_changed,
                usage_policy=self._allowance_changed.set,
            ),
        )

    # --- what the swarm says -----------------------------------------------------------------------------------------

    def _on_event(self, event: Any, _now: float) -> None:
        parts = self._parts
        assert parts is not None
        match event:
            case Learned(contact=contact):
                parts.host.learn(contact.peer_id, contact.host, contact.port)
            case ClockOff(offset_s=offset_s):
                self.notices.add(*clock_notice(offset_s))
            case orders.RoundRecord():
                self._record(parts, event)
            case Receipted(receipt=receipt):
                parts.journal.receipt(receipt, self._names(parts))
            case orders.RoundLost(reason=reason):
                self.notices.add("warning", f"A round of averaging came to nothing ({reason}); it is tried again.")
            case orders.HeldoutLearned(epoch=epoch, loss=loss):
                parts.journal.heldout(epoch, loss)
            case orders.LedgerLearned(ledger=data, epoch=epoch):
                parts.journal.merge(data, epoch_max=epoch, trace=parts.participant.trace)
            case orders.Changed():
                pass
            case _:
                parts.trainer.order(event)
        self._door.announce()

    def _on_outward(self, event: Any, now: float) -> None:
        """The same, where there may be routers between us and others."""
        match event:
            case ReachChanged(reach=reach):
                assert self._parts is not None
                self._parts.participant.handle(event, now)
                self._parts.participant.dht.client = reach.standing in {Reachability.PUNCHABLE, Reachability.RELAYED}
                self._door.announce()
            case DialEnded(peer=peer, way=None, reason=reason):
                _LOG.debug("%s not reached: %s", short(peer), reason)
            case DialEnded(peer=peer, way=Way() as way):
                _LOG.info("%s reached by %s", short(peer), way.name.lower())
            case _:
                self._on_event(event, now)

    def _record(self, parts: SessionParts, record: orders.RoundRecord) -> None:
        parts.journal.round(record, self._names(parts))
        if record.missing:
            self.notices.add(
                "warning", f"Epoch {record.name.epoch}: {len(record.missing)} contribution(s) arrived only in part."
            )

    def _names(self, parts: SessionParts) -> dict[PeerId, str]:
        """How those who are here call themselves."""
        live = parts.participant.view(self._clock.now()).peers
        return {peer: report.name for peer, report in live.items()} | {self._life.key.peer_id: self._name()}

    # --- the network -------------------------------------------------------------------------------------------------

    async def _heed_allowance(self, parts: SessionParts) -> None:
        """While the network is not to be used, nothing is trained that nobody would get."""
        while True:
            await self._allowance_changed.wait()
            self._allowance_changed.clear()
            reason, wanted = parts.usage_policy.reason, self._preferences.settings.contributing
            parts.journal.contributing(on=wanted and not reason)
            if reason:
                self.notices.add("warning", reason)
                await parts.trainer.pause()
            elif wanted:
                self.notices.add("info", "Contributing again: nothing stands in the way any more.")
                parts.trainer.resume()
            self._door.announce()

    # --- housekeeping ------------------------------------------------------------------------------------------------

    def _trainer_changed(self) -> None:
        """End with the problem that ended training for good, unless we stay to tell it."""
        problem = self._parts.trainer.problem if self._parts is not None else None
        if problem is not None and problem.code in FATAL_CODES and not self._options.stay:
            self._fatal = problem
            self._quit.set()
        self._door.announce()

    def _switch(self, *, contributing: bool) -> None:
        """Keep the person's choice, and count the time contributed."""
        if self._parts is not None:
            self._parts.journal.contributing(on=contributing)
        try:
            self._preferences.contribute(on=contributing)
        except Problem as problem:
            self.notices.add("problem", f"Your choice holds, but only until the next start: {problem}")

    def _name(self) -> str:
        chosen = (self._options.name, self._preferences.settings.name, platform.node())
        return next((usable for name in chosen if (usable := usable_name(name))), "A volunteer")
