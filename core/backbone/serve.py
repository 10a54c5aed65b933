"""A backbone peer: founds the swarm, lets people in, watches.  It does not train (S000 3.3)."""

import asyncio
import logging
import socket
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from random import SystemRandom
from typing import Any

import msgspec

from core.api.snapshot import BACKBONE
from core.authority.decisions import Decisions, GoBack
from core.authority.news import AuthorityDecided
from core.averaging.receipts.exchange import Receipted
from core.backbone.admission_log import AdmissionLog, Newcomer
from core.backbone.authority import Authority
from core.backbone.charter import Charter, merged_records, read_charter_records
from core.backbone.copy_check import check_copy
from core.backbone.desk_messages import KnownPeer
from core.backbone.kept_states import KeptStates
from core.backbone.link import Link, link_to
from core.backbone.log_copies import LogCopies
from core.backbone.mirrors import keep_mirrors
from core.backbone.moderators.audit_log import AuditWatch
from core.backbone.moderators.seen_parts import SeenParts
from core.backbone.offers import EXPERTS, USUAL, Offers
from core.backbone.people import People
from core.backbone.remembered import Ports, RememberedContacts, backbone_key, read_ports, write_ports
from core.backbone.site_facts import SiteSources
from core.backbone.welcome import WelcomeDesk, presence
from core.base.names import BACKBONE_NAME
from core.base.problems import Busy, Problem, RemoteProblem
from core.ledger.receipts import ReceiptLog
from core.nat.relay import RelaySettings
from core.net.admission import Admission
from core.net.clock import Clock
from core.net.identity.passes import PassRole, pass_request
from core.net.identity.tls import server_context, show_pass
from core.net.listening import refusal
from core.session.participant import Role, participant_of
from core.session.session import Session
from core.swarm.participant import Participant
from core.swarm.words.facts import Help, StateNotKept
from core.swarm.words.orders import CopyFailed, Keep, KeyElsewhere
from core.swarm.words.states import StateName
from core.workers.expert_shelf import ExpertShelf

_LOG = logging.getLogger(__name__)

CONTACTS_MAX = 8
PEERS = "peers.json"
RECEIPTS = "receipts"
REMEMBER_S = 30.0
HEED_S = 3.0
"""Seconds between two looks at what moderators have decided."""
BACK_S = 600.0
"""Rest after the copy to which all go back could not be given: it is read whole each time."""
REFUSED_COPY = "a copy of the model at epoch %d is not offered. %s It was set aside as %s"
BACKBONE_RELAY = RelaySettings(
    circuits=256,
    circuits_per_peer=16,
    circuits_per_holder=32,
    reservations=512,
    rate_bytes_per_s=5_000_000.0,
    held_bytes=64 * 1024 * 1024,
)
"""More than a volunteer carries: in a young collaboration the backbone is the only relay that there is."""


def _taken(bind: str, port: int) -> bool:
    """Whether another program holds this port, for TCP or UDP."""
    return any(refusal(bind, port, kind) is not None for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM))


def _role(bind: str, receipts: ReceiptLog) -> Role:
    """A backbone is where those behind routers learn how they look from outside, and meet."""
    last = receipts.newest
    stood = None if last is None else StateName(last.epoch, last.lineage)
    return Role(name=BACKBONE, bind=bind, relay=BACKBONE_RELAY, met=receipts.met(), stood=stood, keeps=True)


class Backbone:
    """Runs a backbone: the swarm's first peer and its welcome desk.

    Args:
        charter: The collaboration.
        bind: Address to listen on.
        ports: Addresses that others are told, at least one, and ports to listen at; 0: those of the last time, or any.
        offers: What it does for members beside letting them in.
        copying: Copies the admission logs of other backbones, until cancelled; None: nobody does.
    """

    def __init__(
        self,
        *,
        charter: Charter,
        bind: str,
        ports: Ports,
        clock: Clock,
        offers: Offers = USUAL,
        copying: Callable[[LogCopies, Callable[[], float]], Coroutine[None, None, None]] | None = None,
    ) -> None:
        self._charter = charter
        self._bind = bind
        self._clock = clock
        self._wanted = ports
        self._offers = offers
        self._copying = copying
        self._receipts = ReceiptLog(charter.folder / RECEIPTS)
        self._admission_log = AdmissionLog(charter.folder)
        admitted = self._admission_log.admitted
        self._states = KeptStates(charter.folder, manifest=charter.manifest.id, admitted=admitted)
        self._tried: tuple[GoBack | None, float] = None, 0.0  # what was given in vain, and when it is tried again
        self._fetched = asyncio.Queue[Keep]()
        """Copies that are to be checked and taken."""
        self._key = backbone_key(charter.folder / "backbone.key")
        self._authority = Authority(charter.authority, charter.manifest.id, charter.manifest.authority_id)
        if not self._admission_log.keys_of(BACKBONE_NAME):  # the name is nobody else's
            self._admission_log.enter(Newcomer(self._key.peer_id, BACKBONE_NAME), invitation="", now=clock.now())
        self._people = People(charter, self._admission_log)
        role = replace(_role(bind, self._receipts), account=self._admission_log.accounts.of)
        participant = participant_of(charter.manifest, role, keys=self._key, folder=charter.folder)
        self._seen_parts = SeenParts(charter.folder, participant.rounds.distances)
        self._session: Session[Participant] = Session(
            participant,
            companions=offers.companions(participant, charter),
            admission=Admission(
                keys=self._key,
                pass_der=self._new_pass(),
                authority_id=charter.manifest.authority_id,
                manifest_id=charter.manifest.id,
                records=read_charter_records(charter).to_bytes(),
            ),
            clock=clock,
            owner=self._on_event,
        )
        self._experts = ExpertShelf(charter.folder / EXPERTS, self._session.deliver, ahead_s=lambda: clock.wall_ahead_s)
        self._desk = WelcomeDesk(
            charter=charter,
            authority=self._authority,
            admission_log=self._admission_log,
            contacts=self._contacts,
            now=clock.now,
            trace=self._session.peer.trace,
        )
        pages = self._desk.moderators.pages
        pages.people, pages.distances = self._people, participant.rounds.distances
        did, said = self._desk.moderators.audit, self._session.authority
        self._audit = AuditWatch(did, said, self._admission_log, lambda: charter.invitations)
        self._desk.presence = lambda: presence(self._session.peer.view(clock.now()))
        self._desk.earned = lambda: participant.view(clock.now()).earned
        self._desk_context = server_context(key=self._key, pass_der=self._new_pass())
        self._port = 0
        self.moved_from = 0
        """The port that earlier links name, if it is not ours any more; else 0."""
        self._remembered = RememberedContacts(charter.folder / PEERS)

    async def open(self) -> Link:
        """Listen; returns the link by which people join.

        Raises:
            Busy: another program has a port that was asked for.
            BadInput: this computer has no such address.
        """
        kept, wanted = read_ports(self._charter.folder), self._wanted
        peers = wanted.peers or (0 if _taken(self._bind, kept.peers) else kept.peers)
        copy = await asyncio.to_thread(self._states.newest)  # before the desk opens: newcomers go on from it
        self._port = await self._session.listen(bind=self._bind, port=peers)
        if copy is not None:
            self._people.read(copy)
            self._session.deliver(copy)
        desk = wanted.desk or (0 if _taken(self._bind, kept.desk) else kept.desk)
        try:
            desk_port = await self._desk.open(self._bind, self._desk_context, port=desk)
        except Busy:
            await self._session.close()
            raise
        self.moved_from = kept.desk if kept.desk not in {0, desk_port} else 0
        write_ports(self._charter.folder, msgspec.structs.replace(wanted, peers=self._port, desk=desk_port))
        await self._session.join(self._remembered.contacts, address=wanted.host, mirrors=True)
        if self._offers.help_bytes:
            self._session.deliver(Help(self._offers.help_bytes))
        return link_to(wanted.hosts, desk_port, self._charter.manifest.id, self._open_invitation())

    async def serve(self, stop: asyncio.Event) -> None:
        """The backbone lets people in and keeps its own pass fresh until `stop` is set, then closes."""
        session, desk = self._session, self._desk
        known = SiteSources(
            self._charter,
            self._people,
            session.authority,
            desk.presence,
            desk.tickets,
            desk.moderators.pages,
            lambda: session.host.stats.moved_bytes,
        )
        site = self._offers.show(known, self._clock.now)
        self._experts.put_all()
        try:
            async with asyncio.TaskGroup() as group:
                tasks = (self._session.run(), self._session.keep_pass(self._renewed), self._remember(), self._heed())
                copying = () if self._copying is None else (self._copying(self._desk.copies, self._clock.now),)
                mirrors = keep_mirrors(self._charter.folder, session.deliver)
                more = (self._keep_copies(), self._experts.keep(), mirrors, site, *copying)
                living = [group.create_task(task) for task in (*tasks, *more)]
                await stop.wait()
                for task in living:
                    task.cancel()
        finally:
            self._people.close(self._clock.now())
            self._seen_parts.save()
            self._remembered.save(self._session.peer.dht.contacts)
            await self._desk.close()
            await self._session.close()

    def _open_invitation(self) -> str:
        """The secret of the oldest invitation that lets people in; empty: there is none."""
        log, now = self._admission_log, self._clock.now()
        return next((one.secret for one in self._charter.invitations if log.uses.is_open(one, now)), "")

    async def _remember(self) -> None:
        while True:
            await asyncio.sleep(REMEMBER_S * SystemRandom().uniform(0.8, 1.2))
            self._remembered.save(self._session.peer.dht.contacts)
            self._seen_parts.save()

    async def _heed(self) -> None:
        """Tell the swarm what was decided here meanwhile, go back if all do, and note who is here."""
        while True:
            await asyncio.sleep(HEED_S)
            now = self._clock.now()
            view = self._session.peer.view(now)
            self._people.look(view.peers.keys() - view.silent, now)
            try:
                self._session.learn_records(await merged_records(self._charter, self._session.authority))
                self._audit.look(now)
                self._desk.copies.note(self._session.host.passes, now)
                await self._go_back(now)
            except Problem as problem:
                _LOG.warning("what moderators have decided is not followed: %s", problem)

    async def _renewed(self) -> bytes:
        """A new pass, which the welcome desk shows as well."""
        pass_der = self._new_pass()
        show_pass(self._desk_context, self._key, pass_der)
        return pass_der

    def _new_pass(self) -> bytes:
        return self._authority.issue(
            pass_request(self._key), username=BACKBONE_NAME, device="", now=self._clock.now(), role=PassRole.BACKBONE
        )

    def _contacts(self) -> list[KnownPeer]:
        mine = KnownPeer(self._key.peer_id, self._wanted.host, self._port)
        live = self._session.peer.view(self._clock.now()).peers
        others = [KnownPeer(peer, r.host, r.port) for peer, r in live.items() if r.host and r.port]
        return [mine, *others[: CONTACTS_MAX - 1]]

    def _on_event(self, event: Any, now: float) -> None:
        del now
        if isinstance(event, Keep):
            self._fetched.put_nowait(event)
        elif self._experts.take(event):
            pass
        elif isinstance(event, CopyFailed):
            self._people.no_copy(event.reason)
        elif isinstance(event, KeyElsewhere):
            self._people.elsewhere(event.host, event.port)
        elif isinstance(event, AuthorityDecided):
            self._people.decided(event.shut_out)
        elif isinstance(event, Receipted):
            try:
                self._receipts.append(event.receipt)
            except Problem as problem:  # a full disk costs receipts, not the collaboration
                _LOG.warning("a receipt is not kept: %s", problem)

    async def _keep_copies(self) -> None:
        """Check what was fetched, and take it into the charter, in a thread: a model may be large."""
        while True:
            copy = await self._fetched.get()
            check = await check_copy(self._charter, Path(copy.location))
            try:
                if check.fault:
                    aside = await asyncio.to_thread(self._states.refuse, copy)
                    _LOG.warning(REFUSED_COPY, copy.name.epoch, check.fault, aside)
                    self._session.deliver(StateNotKept(lied=True))
                    continue
                back = self._session.authority.decisions.back
                if back is not None and back.undoes(copy.name.lineage):
                    raise Busy("It was fetched before everybody went back to an earlier one.")
                kept = await asyncio.to_thread(self._states.keep, copy, check.loss)
            except Problem as problem:
                _LOG.warning("a copy of the model is not kept: %s", problem)
                self._session.deliver(StateNotKept(lied=isinstance(problem, RemoteProblem)))
            else:
                self._people.no_copy("")
                _LOG.info("a copy of the model at epoch %d is kept", copy.name.epoch)
                self._people.read(kept)
                self._session.deliver(kept)

    async def _go_back(self, now: float) -> None:
        """Give the copy to which everybody goes back, once moderators have decided so, unless that has just failed.

        Raises:
            Damaged: the copy is not what was written; so does NoSpace, when the disk is full.
        """
        back = self._session.authority.decisions.back
        proposed = (one.content.back for one in self._session.authority.proposals if isinstance(one.content, Decisions))
        self._states.wanted = frozenset(one.source for one in (back, *proposed) if one is not None)
        if back is None or (back == self._tried[0] and now < self._tried[1]):
            return
        self._tried = back, now + BACK_S
        root = await asyncio.to_thread(self._states.go_back, back)
        self._tried = back, now
        if root is not None:
            _LOG.info("everybody goes back to the copy of epoch %d", root.name.epoch)
            self._people.read(root)
            self._session.deliver(root)
