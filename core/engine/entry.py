"""How an engine comes into a collaboration: with a pass, its parts put together, and its ports opened."""

import asyncio
import logging
import platform
from collections.abc import Callable
from dataclasses import dataclass
from random import SystemRandom
from typing import Any

from core.backbone.join import CLOCK_SKEW_MAX_S, JoinedCollaboration, Joining
from core.backbone.link import Link
from core.backbone.source import check_source
from core.base.problems import Busy, Problem
from core.base.signing import Ed25519Verifier, KeyPair
from core.base.wire import MessageCodec
from core.control.notices import NoticeRing
from core.dht.messages import DHT_MESSAGES, Contact
from core.engine.journal import Journal
from core.engine.options import EngineOptions
from core.engine.parts import SessionParts, carrying, participant_settings, trainer_place
from core.engine.preferences import Preferences
from core.engine.snapshots import clock_notice
from core.engine.usage_policy import UsagePolicy
from core.ledger.contributions import Ledger
from core.nat.messages import NAT_MESSAGES
from core.net.admission import Admission, HostOwner, LineUse
from core.net.clock import Clock
from core.net.host import Host
from core.net.interfaces import is_loopback
from core.net.outward import Outward
from core.storage.paths import Home
from core.swarm.messages import CATCH_UP_MESSAGES
from core.swarm.participant import Participant
from core.swarm.rounds import Rounds
from core.system.atomic_files import make_directory
from core.workers.helper import Helper
from core.workers.state_files import DiskStateSink
from core.workers.trainer import Trainer

PASS_RENEW_S = 6 * 3600.0
"""How often a pass, valid for 24 hours, is renewed."""
LEDGER_OFFER_BYTES = 60 * 1024

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionListener:
    """Whom the parts tell what happens."""

    stage: Callable[[str], None]
    """What is being prepared, as a sentence."""
    event: Callable[[Any, float], None]
    """What the participant says, and when."""
    outward: Callable[[Any, float], None]
    """The same, where there may be routers between us and others."""
    trainer: Callable[[], None]
    """It has something to show."""
    usage_policy: Callable[[], None]
    """Whether the network may be used is another than before."""


class SessionEntry:
    """See the module's docstring.

    Args:
        options: How the engine was started.
        home: Where the collaboration's files go.
        key: Ours.
        clock: The process's.
        preferences: What the person chose.
        notices: For what the person should know.
        name: How the leaderboard is to call this computer, as it is now.
        hears: Is told what happens.
    """

    def __init__(  # noqa: PLR0913 - the composition root names each part once
        self,
        *,
        options: EngineOptions,
        home: Home,
        key: KeyPair,
        clock: Clock,
        preferences: Preferences,
        notices: NoticeRing,
        name: Callable[[], str],
        hears: SessionListener,
    ) -> None:
        self._options = options
        self._home = home
        self._key = key
        self._clock = clock
        self._preferences = preferences
        self._notices = notices
        self._name = name
        self._hears = hears

    async def join(self, link: Link) -> SessionParts:
        """Get a pass, and put together what takes part; nothing listens yet.

        Raises:
            UserProblem: the link, the pass or the disk is wrong; the sentence says what to do.
        """
        folder = self._home.state(link.manifest_id.hex())
        make_directory(folder)
        joining = Joining(link=link, key=self._key, folder=folder, blobs=self._home.blobs)
        membership = await joining.join(
            username=self._name(),
            device=platform.node()[:40],
            now=self._clock.now,
            random=SystemRandom(),
            waiting=self._hears.stage,
        )
        if not self._options.help_bytes:
            check_source(membership.manifest, self._options.text)
        if abs(membership.clock_ahead_s) > CLOCK_SKEW_MAX_S:
            self._notices.add(*clock_notice(membership.clock_ahead_s))
        journal = Journal(
            folder=folder,
            ledger=self._home.ledger(link.manifest_id.hex()),
            receipts=self._home.receipts(link.manifest_id.hex()),
            notices=self._notices,
            now=self._clock.now,
        )
        participant = Participant(
            settings=participant_settings(membership, self._options, name=self._name()),
            signer=self._key,
            verifier=Ed25519Verifier(),
            random=SystemRandom(),
            sink=DiskStateSink(folder / "incoming"),
        )
        outward = None if is_loopback(self._options.bind) else self._outward_of(participant)
        usage_policy = UsagePolicy(
            self._preferences.settings,
            path=self._home.usage_file,
            now=self._clock.now,
            changed=self._hears.usage_policy,
            alone=outward is None,
        )
        self._preferences.follow(usage_policy.apply)
        if outward is not None:
            self._preferences.follow(lambda chosen: outward.carry(carrying(chosen)))
        host = Host(
            outward or participant,
            admission=Admission(
                keys=self._key,
                pass_der=membership.certificate,
                authority_der=membership.authority,
                manifest_id=membership.manifest.id,
            ),
            codec=MessageCodec((*DHT_MESSAGES, *Rounds.MESSAGES, *CATCH_UP_MESSAGES, *NAT_MESSAGES)),
            clock=self._clock,
            owner=HostOwner(
                trace=participant.trace,
                event=self._hears.event if outward is None else outward.act,
                wanted=None if outward is None else outward.wanted,
                opened=None if outward is None else outward.opened,
            ),
            line=LineUse(pace=None if outward is None else usage_policy.pace, meter=participant.meter),
        )
        trainer = self._make_trainer(membership, host, journal.ledger)
        return SessionParts(membership, participant, outward, usage_policy, host, trainer, journal, joining)

    async def begin(self, parts: SessionParts) -> None:
        """Open the ports and meet the swarm.

        Raises:
            Busy: the port that the command line named is taken.
            BadInput: this computer has no such address.
        """
        options = self._options
        wanted = options.port if options.port is not None else self._preferences.settings.port
        try:
            port = await parts.host.start(bind=options.bind, port=wanted)
        except Busy as busy:
            if options.port is not None:
                raise
            port = await parts.host.start(bind=options.bind, port=0)
            self._notices.add("warning", f"{busy.message} This time port {port} is used for other peers.")
        parts.port = port
        _LOG.info("listening for peers on port %d", port)
        given = [Contact(known.peer, known.host, known.port) for known in parts.membership.contacts]
        # What the backbone says now beats what we remember: it may have another port than last time.
        fresh = {contact.peer_id for contact in given}
        contacts = [*given, *(contact for contact in parts.journal.contacts if contact.peer_id not in fresh)]
        for contact in contacts:
            parts.host.learn(contact.peer_id, contact.host, contact.port)
        if parts.outward is not None:
            parts.outward.begin(parts.host, bind=options.bind, port=port, helpers=given)
        parts.host.perform(parts.participant.start(contacts, host=options.host, port=port, now=self._clock.now()))

    async def keep_pass(self, parts: SessionParts) -> None:
        """Renew the pass again and again, until it is cancelled."""
        while True:
            await asyncio.sleep(PASS_RENEW_S * SystemRandom().uniform(0.5, 1.0))
            try:
                renewed = await parts.joining.join(
                    username=self._name(), device=platform.node()[:40], now=self._clock.now, random=SystemRandom()
                )
            except Problem as problem:
                self._notices.add("warning", f"The access pass could not be renewed: {problem}")
            else:
                parts.host.renew(renewed.certificate)

    def _outward_of(self, participant: Participant) -> Outward:
        return Outward.of(
            participant,
            relay=carrying(self._preferences.settings),
            now=self._clock.now,
            rest=self._hears.outward,
            random=SystemRandom(),
        )

    def _make_trainer(self, membership: JoinedCollaboration, host: Host, ledger: Ledger) -> Trainer | Helper:
        if self._options.help_bytes:
            return Helper(room_bytes=self._options.help_bytes, tell=host.deliver, changed=self._hears.trainer)
        place = trainer_place(
            membership, self._options, home=self._home, me=self._key.peer_id, settings=self._preferences.settings
        )
        return Trainer(
            place,
            tell=host.deliver,
            ledger=lambda: ledger.to_bytes(LEDGER_OFFER_BYTES),
            changed=self._hears.trainer,
            random=SystemRandom(),
        )
