"""One collaboration as a volunteer's engine takes part in it: a session, a trainer or a helper, and what is remembered.

An engine that has joined several collaborations has one of these at a time.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import SystemRandom
from typing import Any, Final

from core.api.commands import ModelEvaluation
from core.api.settings import PortTest
from core.api.snapshot import HELPER, VOLUNTEER
from core.authority.news import AuthorityDecided
from core.backbone.revocations import shut_out
from core.base.problems import NoSpace, Problem
from core.engine.allowed_use import AllowedUse, share_of
from core.engine.installation import Installation
from core.engine.mixture_desk import answered_today, mixture_desks
from core.engine.network.clock_watch import ClockWatch, contacts_of, seeds
from core.engine.network.network_monitor import network_monitor_of
from core.engine.network.own_port import listening, try_port
from core.engine.remembered.gift import GiftMeter, watts_of
from core.engine.remembered.journal import Journal
from core.engine.shown.snapshots import Standpoint
from core.engine.text.data_access import DataRoom
from core.engine.text.data_desk import DataDesk
from core.engine.text.data_watch import DataWatch
from core.engine.text.shard_sharing import shared_shards
from core.joining.join import JoinedCollaboration, Joining
from core.ledger.board import GivenToday
from core.ledger.days import GiftTotals
from core.nat.events import CheckReachability, ReachChanged, RelayAllowed
from core.nat.relay import RelaySettings
from core.net.addresses.interfaces import is_loopback
from core.session.participant import Role, participant_of
from core.session.session import Session
from core.storage.settings import Settings
from core.swarm.participant import Participant
from core.swarm.words import orders
from core.system.atomic_files import make_directory
from core.workers.helper import Helper
from core.workers.keeper import FATAL_CODES
from core.workers.place import TrainerPlace
from core.workers.trainer import Trainer

ENDING_CODES: Final = FATAL_CODES | {NoSpace.code}
"""Problems that end a program nobody looks at: a person has to mend them."""

_LOG = logging.getLogger(__name__)


class VolunteerSession:
    """Runs a volunteer's part in one collaboration from joining to leaving.

    Args:
        installation: What all sessions have in common.
        joined: The collaboration, and this computer's pass.
        joining: Renews the pass.
        changed: Called when something that people see has changed.
    """

    def __init__(
        self,
        installation: Installation,
        joined: JoinedCollaboration,
        joining: Joining,
        *,
        changed: Callable[[], None],
    ) -> None:
        options, home, collaboration = installation.options, installation.options.home, joined.manifest.id.hex()
        self._installation = installation
        self.joined, self.place = joined, (joining.link, joined.name)
        self._changed = changed
        folder = home.state(collaboration)
        self.journal = Journal(
            folder=folder,
            board=home.board(collaboration),
            receipts=home.receipts(collaboration),
            target_samples=joined.manifest.target_samples,
            notices=installation.notices,
            now=installation.clock.now,
        )
        self.journal.board.named(joined.grant.named)
        role = replace(_role(installation), met=(*joined.grant.members, *self.journal.met), backbone=joined.backbone)
        role = replace(role, account=lambda peer: self.passes.account(peer))  # noqa: PLW0108 - they are made below
        participant = participant_of(joined.manifest, role, keys=installation.key, folder=folder)
        deliver = lambda told: self._session.deliver(told)  # noqa: E731, PLW0108 - the session is made below
        self.shards = shared_shards(joined, participant, installation, deliver=deliver)
        self.experts = mixture_desks(
            joined.manifest, participant, installation, account=role.account, deliver=deliver, changed=changed
        )
        """Its part in a mixture of experts, if the model has one."""
        self._session: Session[Participant] = Session(
            participant,
            admission=joined.admission(installation.key),
            clock=installation.clock,
            owner=self._on_event,
            pace=None if is_loopback(options.bind) else installation.usage_policy.pace,
            companions=[*self.shards.companions, *(one.exchange for one in self.experts)],
        )
        self.authority, self.learn_records = self._session.authority, self._session.learn_records
        self.participant = participant
        self.passes = self._session.host.passes
        self.clock_watch = ClockWatch(installation, joining, self._session, end=self._end)
        self.data = DataWatch(installation.notices, installation.clock.now, shared=lambda: self.shards.tally)
        self.desk = DataDesk(installation.usage_policy.pace, self.shards)
        """Is asked by the reader of data, which is the worker's child; open while the session runs."""
        self._room = DataRoom(installation, joined.manifest, self.desk, folder / "blocks", near=joining.link.is_near)
        self.trainer = self._trainer_in(folder)
        self.gift = GiftMeter(installation.days, self._given, partial(watts_of, installation))
        self._computing = [self.trainer, *(one.here for one in self.experts)]
        self.use = AllowedUse(installation, self._computing, changed=changed)
        """Has what computes follow the person's wish."""
        self.use.end(self.authority.decisions.end, joined.manifest.name)
        self.port = 0
        """Port at which others are heard; 0 until there is one."""
        self._over = asyncio.Event()
        self.begins_again = False
        """It ended to be begun again: the backbone's clock is behind this computer's."""
        self.fatal: Problem | None = None
        """Why this session has ended for good, or is about to."""

    # --- its life ----------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Take part until `stop`.

        Raises:
            NotTrusted: the organiser has shut this computer out.
            UserProblem: a port is wrong, or training ended for good; the sentence says what to do.
        """
        installation, session = self._installation, self._session
        unfollow = installation.preferences.follow(lambda chosen: session.deliver(RelayAllowed(_relay(chosen))))
        try:
            async with asyncio.TaskGroup() as group:
                self.port = await listening(session, installation)
                known, public = seeds(self.joined, self.journal.contacts), contacts_of(self.joined.grant.contacts)
                await session.join(known, address=installation.options.host, public=public)
                await self.desk.open()
                await self._room.look_up()
                self._changed()
                works = [
                    session.run(),
                    session.keep_pass(self.clock_watch.renewed, at_once=self.joined.kept_until is not None),
                    *(one.run() for one in self._computing),
                    self.journal.keep(lambda: session.peer.dht.contacts),
                    *(each.keep() for each in (self.use, self.clock_watch, self.gift)),
                ]
                if session.locator is not None:
                    works.append(network_monitor_of(session, session.locator, installation).run())
                tasks = [group.create_task(work) for work in works]
                await self._over.wait()
                await asyncio.gather(*(one.pause() for one in self._computing))
                for task in tasks:
                    task.cancel()
        finally:
            unfollow()
            self.journal.contributing(on=False)
            self.journal.save(session.peer.dht.contacts)
            await self.desk.close()
            await session.close()
        if self.fatal is not None:
            raise self.fatal

    def stop(self) -> None:
        """The engine asks `run` to return; the call does not wait for it."""
        self._over.set()

    # --- what the person wants ---------------------------------------------------------------------------------------

    async def evaluate(self) -> ModelEvaluation:
        """Look at the held-out text.

        Raises:
            WorkerProblem: nobody is here who could.
        """
        seen = await self.trainer.evaluate()
        return ModelEvaluation(epoch=seen.epoch, score=seen.score, meaning=self.trainer.loss)

    async def test_port(self) -> PortTest:
        """Other peers call this computer, and the result is worded for the person that asked."""
        session, now = self._session, self._installation.clock.now
        return await try_port(
            session.peer.traversal,
            examine=lambda: session.deliver(CheckReachability()),
            port=self.port,
            forwarded=session.locator is not None and session.locator.forwarded,
            now=now,
            heard=lambda: session.peer.view(now()).audible,
        )

    # --- what people see ---------------------------------------------------------------------------------------------

    def seen(self, at: Standpoint) -> Standpoint:
        """What the engine knows, with what this session knows."""
        trainer, stats, passes, me = self.trainer, self._session.host.stats, self.passes.known, self._session.peer.me
        peers = [*passes, me]
        self.journal.board.named({peer: one.username for peer, one in passes.items()} | {me: self.joined.name})
        self.gift.count()
        return replace(
            at,
            manifest=self.joined.manifest,
            page=self.joined.page,
            name=self.joined.name,
            participant=self._session.peer.view(at.now),
            board=self.journal.board,
            relayed=self.journal.receipts.relayed,
            given_today=GivenToday(
                self.shards.credits(peers, at.now), answered_today(self.experts, peers, self.journal.board, at.now)
            ),
            passes=passes,
            revoked=self.passes.revoked,
            pass_ends=self._session.host.pass_ends,
            worker_pid=trainer.pid,
            loss=trainer.loss,
            data=self.data.view,
            hosting=next((one.view(at.now) for one in self.experts), None),
            device=trainer.device,
            bytes_sent=stats.bytes_sent,
            bytes_received=stats.bytes_received,
            contributing_s=self.journal.contributed_s,
            first=self.journal.first,
            today=self._installation.days.today(),
            failure=at.failure or self.fatal,
            trouble=trainer.problem,
            reach=self._session.reach,
        )

    # --- inside ------------------------------------------------------------------------------------------------------

    def _given(self) -> GiftTotals:
        """What this computer gave to this collaboration, and its traffic in this run."""
        stats = self._session.host.stats
        return GiftTotals(
            seconds=self.journal.contributed_s,
            samples=self.journal.receipts.credit(self._session.peer.me).samples,
            bytes_sent=stats.bytes_sent,
            bytes_received=stats.bytes_received,
            answered=sum(one.exchange.host.replies for one in self.experts),
        )

    def _on_event(self, event: Any, _now: float) -> None:
        match event:
            case _ if isinstance(event, orders.Changed | ReachChanged) or self.shards.take(event):
                pass
            case _ if any(one.take(event) for one in self.experts):
                return
            case _ if isinstance(event, orders.TrainerOrder):
                self.trainer.order(event)
            case _:
                self.journal.take(event)
                if isinstance(event, AuthorityDecided):
                    self.use.end(event.decisions.end, self.joined.manifest.name)
                    if self._session.peer.me in event.shut_out or self.joined.account in event.decisions.banned:
                        self._end(shut_out())
        self._changed()

    def _end(self, problem: Problem | None) -> None:
        """End for good; None: to be begun again.  The first reason counts."""
        if not self._over.is_set():
            self.fatal, self.begins_again = problem, problem is None
            self.stop()

    def _trainer_changed(self) -> None:
        """End with the problem that a person has to mend, unless we stay to tell it."""
        problem = self.trainer.problem
        if problem is not None and problem.code in ENDING_CODES and not self._installation.options.stay:
            self._end(problem)
        self._installation.usage_policy.computes_on(self.trainer.computes_on)
        self.journal.look(self.trainer.loss)
        self._changed()

    def _trainer_in(self, folder: Path) -> Trainer | Helper:
        """What trains, with its files in the collaboration's folder; where nothing is trained, what helps."""
        if room_bytes := self._installation.options.help_bytes:
            return Helper(room_bytes=room_bytes, tell=self._session.deliver, changed=self._trainer_changed)
        trainer = Trainer(
            _trainer_place(self._installation, self.joined, folder, self._room),
            tell=self._session.deliver,
            ledger=self.journal.board,
            changed=self._trainer_changed,
            notice=partial(self._installation.notices.add, "warning"),
            random=SystemRandom(),
        )
        trainer.data = self.data.hear
        for one in self.experts:
            trainer.flight, one.say = one.wish, trainer.fly_on
        return trainer


def _role(installation: Installation) -> Role:
    options = installation.options
    return Role(
        name=HELPER if options.help_bytes else VOLUNTEER,
        bind=options.bind,
        relay=_relay(installation.preferences.settings),
        evaluate_first=options.evaluate_first,
        last_epoch=options.last_epoch,
    )


def _relay(chosen: Settings) -> RelaySettings:
    """What this computer carries for others."""
    return RelaySettings() if chosen.relay else RelaySettings(circuits=0)


def _trainer_place(
    installation: Installation, joined: JoinedCollaboration, folder: Path, room: DataRoom
) -> TrainerPlace:
    """Where the worker's files are; makes the folders.

    Raises:
        UserProblem: the system does not allow it, or the disk is full.
    """
    options = installation.options
    make_directory(folder / "states")
    make_directory(options.home.logs)
    return TrainerPlace(
        peer=installation.key.peer_id,
        manifest=joined.manifest,
        manifest_path=joined.manifest_path,
        blobs=joined.blobs,
        states=folder / "states",
        arena=folder / "arena",
        log=options.home.logs / "worker.log",
        residuals=folder / "residuals",
        means=folder / "means",
        seed=int.from_bytes(installation.key.peer_id[:4], "big"),
        share=partial(share_of, installation),
        last_epoch=joined.manifest.last_epoch_within(options.last_epoch),
        metrics=options.metrics,
        data=room.access,
    )
