"""A backbone peer: founds the swarm, lets people in, watches.  It does not train (S000 3.3)."""

import asyncio
import logging
import socket
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import SystemRandom
from typing import Any

import msgspec

from core.api.snapshot import BACKBONE
from core.authority.decisions import Decisions
from core.authority.news import AuthorityDecided
from core.averaging.receipts.exchange import Receipted
from core.backbone.admission_log import AdmissionLog, Newcomer
from core.backbone.authority import Authority
from core.backbone.charter import Charter, merged_records, read_charter_records
from core.backbone.copy_check import check_copy
from core.backbone.desk_messages import KnownPeer
from core.backbone.kept_states import KeptStates
from core.backbone.link import Link, link_to
from core.backbone.names import BACKBONE_NAME
from core.backbone.offers import USUAL, Offers
from core.backbone.people import People
from core.backbone.ports import Ports, read_ports, write_ports
from core.backbone.remembered import RememberedContacts, backbone_key
from core.backbone.site_facts import SiteSources
from core.backbone.welcome import WelcomeDesk, presence
from core.base.problems import Busy, Problem, RemoteProblem
from core.base.state_header import ORIGIN_BYTES
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
from core.swarm.words.orders import CopyFailed, Keep
from core.swarm.words.states import StateName
from core.system.atomic_files import delete_torn
from core.system.file_lock import held
from core.system.parent_watch import stop_on_signals, watch_parent

_LOG = logging.getLogger(__name__)

CONTACTS_MAX = 8
PEERS = "peers.json"
RECEIPTS = "receipts"
REMEMBER_S = 30.0
HEED_S = 3.0
"""Seconds between two looks at what moderators have decided."""
LOCK = "backbone.lock"
REFUSED_COPY = "a copy of the model at epoch %d is not offered. %s It was set aside as %s"
LEAVING_S = 10.0
"""A backbone that was just told to stop has so long to leave."""
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
    """

    def __init__(
        self,
        *,
        charter: Charter,
        bind: str,
        ports: Ports,
        clock: Clock,
        offers: Offers = USUAL,
    ) -> None:
        self._charter = charter
        self._bind = bind
        self._clock = clock
        self._wanted = ports
        self._offers = offers
        self._receipts = ReceiptLog(charter.folder / RECEIPTS)
        self._states = KeptStates(charter.folder, manifest=charter.manifest.id)
        self._fetched = asyncio.Queue[Keep]()
        """Copies that are to be checked and taken."""
        self._copy_failed = ""
        """Why the last copy could not be taken: the log has it once."""
        self._key = backbone_key(charter.folder / "backbone.key")
        self._authority = Authority(charter.authority, charter.manifest.id)
        self._admission_log = AdmissionLog(charter.folder)
        if not self._admission_log.keys_of(BACKBONE_NAME):  # the name is nobody else's
            self._admission_log.enter(Newcomer(self._key.peer_id, BACKBONE_NAME), invitation="", now=clock.now())
        self._people = People(charter, self._admission_log)
        role = replace(_role(bind, self._receipts), account=self._admission_log.accounts.of)
        participant = participant_of(charter.manifest, role, keys=self._key, folder=charter.folder)
        self._session: Session[Participant] = Session(
            participant,
            shards=offers.exchange(participant, charter),
            admission=Admission(
                keys=self._key,
                pass_der=self._new_pass(),
                authority_der=self._authority.certificate,
                manifest_id=charter.manifest.id,
                records=read_charter_records(charter).to_bytes(),
            ),
            clock=clock,
            owner=self._on_event,
        )
        self._desk = WelcomeDesk(
            charter=charter,
            authority=self._authority,
            admission_log=self._admission_log,
            contacts=self._contacts,
            now=clock.now,
            trace=self._session.peer.trace,
        )
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
        known = SiteSources(self._charter, self._people, self._session.authority, self._desk.presence)
        site = self._offers.show(known, self._clock.now)
        try:
            async with asyncio.TaskGroup() as group:
                tasks = (self._session.run(), self._session.keep_pass(self._renewed), self._remember(), self._heed())
                living = [group.create_task(task) for task in (*tasks, self._keep_copies(), site)]
                await stop.wait()
                for task in living:
                    task.cancel()
        finally:
            self._people.close(self._clock.now())
            self._remembered.save(self._session.peer.contacts)
            await self._desk.close()
            await self._session.close()

    def _open_invitation(self) -> str:
        """The secret of the oldest invitation that lets people in; empty: there is none."""
        log, now = self._admission_log, self._clock.now()
        return next((one.secret for one in self._charter.invitations if log.is_open(one, now)), "")

    async def _remember(self) -> None:
        while True:
            await asyncio.sleep(REMEMBER_S * SystemRandom().uniform(0.8, 1.2))
            self._remembered.save(self._session.peer.contacts)

    async def _heed(self) -> None:
        """Tell the swarm what was decided here meanwhile, go back if all do, and note who is here."""
        while True:
            await asyncio.sleep(HEED_S)
            now = self._clock.now()
            view = self._session.peer.view(now)
            self._people.look(view.peers.keys() - view.silent, now)
            try:
                self._session.learn_records(await merged_records(self._charter, self._session.authority))
                await self._go_back()
            except Problem as problem:
                _LOG.warning("what moderators have decided is not read: %s", problem)

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
        elif isinstance(event, CopyFailed):
            if event.reason != self._copy_failed:
                _LOG.warning("no copy of the model could be taken: %s", event.reason)
            self._copy_failed = event.reason
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
                if self._undoes(copy.name):
                    raise Busy("It was fetched before everybody went back to an earlier one.")
                kept = await asyncio.to_thread(self._states.keep, copy, check.loss)
            except Problem as problem:
                _LOG.warning("a copy of the model is not kept: %s", problem)
                self._session.deliver(StateNotKept(lied=isinstance(problem, RemoteProblem)))
            else:
                self._copy_failed = ""
                _LOG.info("a copy of the model at epoch %d is kept", copy.name.epoch)
                self._people.read(kept)
                self._session.deliver(kept)

    async def _go_back(self) -> None:
        """Give the copy to which everybody goes back, once moderators have decided so.

        Raises:
            Damaged: the copy is not what was written; so does NoSpace, when the disk is full.
        """
        back = self._session.authority.decisions.back
        proposed = (one.content.back for one in self._session.authority.proposals if isinstance(one.content, Decisions))
        self._states.wanted = frozenset(one.source for one in (back, *proposed) if one is not None)
        root = None if back is None else await asyncio.to_thread(self._states.go_back, back)
        if root is not None:
            _LOG.info("everybody goes back to the copy of epoch %d", root.name.epoch)
            self._people.read(root)
            self._session.deliver(root)

    def _undoes(self, state: StateName) -> bool:
        back = self._session.authority.decisions.back
        return back is not None and state.origin != back.root[-ORIGIN_BYTES:]


async def serve_backbone(
    charter: Charter, made: Callable[[], Backbone], *, with_parent: bool, say: Callable[[Link], object]
) -> None:
    """Run a backbone until it is told to stop.

    Args:
        charter: The collaboration.
        made: Makes the backbone, once no other one runs on the charter.
        with_parent: End also when stdin closes.  Without it a backbone outlives the terminal that started it.
        say: Takes the link, once others can join by it.

    Raises:
        Busy: a backbone runs on this charter, or another program has a port that was asked for.
    """
    stop = asyncio.Event()
    if with_parent:
        watch_parent(stop.set)
    stop_on_signals(stop.set)
    taken = Busy("A backbone runs on this charter already.", hint="Hand out its link, or stop it and start again.")
    async with held(charter.folder / LOCK, patience_s=LEAVING_S, otherwise=taken):
        delete_torn(charter.folder)
        backbone = made()
        link = await backbone.open()
        if backbone.moved_from:
            sys.stderr.write(
                f"potluck: Earlier links name port {backbone.moved_from}, where this backbone is no longer: "
                "hand out the new link, or free that port and start again.\n"
            )
        if not link.invite:
            sys.stderr.write("potluck: No invitation lets people in: make one with potluck invite.\n")
        say(link)
        _LOG.info("the backbone starts")  # a start without an end before it: it was killed
        await backbone.serve(stop)
        _LOG.info("the backbone ends")
