"""A computer's part in a mixture of experts: its trainer's flights, and the worker that hosts experts for others.

Frames of the trainer's worker become wishes for `core.swarm.experts.exchange`, what that reports becomes frames; and it
orders batches and experts from the other worker.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from random import SystemRandom
from typing import Any, Final

import psutil

from core.api.reports import ExpertPlaceView, ExpertsView
from core.api.snapshot import ExpertsLack, HostingView
from core.base.arrays import np
from core.base.ids import AccountId, PeerId, short
from core.base.manifest import Manifest
from core.base.mixture import ExpertNumbers
from core.base.tasks import sample_rows
from core.codecs.registry import codec_of
from core.engine.allowed_use import share_of
from core.engine.experts_here import ExpertsHere
from core.engine.installation import Installation
from core.experts import hosting
from core.experts.calls import CallAnswered, CallLapsed, ExpertAsk
from core.experts.grid import ExpertGrid
from core.experts.messages import ROWS_MAX, batch_rows, call_bytes
from core.experts.queue import CallKind
from core.kept.state_files import DiskStateSink
from core.ledger.board import Board
from core.swarm.experts import exchange
from core.swarm.experts.credit import KnownOfPeers
from core.swarm.experts.reading import ExpertsSought
from core.swarm.experts.records import Mixture
from core.swarm.participant import Participant
from core.workers import flight_frames as frames
from core.workers.expert_host import ExpertFolder, TrainersKnown

EXPERTS: Final = "experts"
"""Folder of a collaboration's home, with the files of the experts that this computer hosts."""
WAITING: Final = 1 / 8
"""Part of the free memory that calls may take which wait here."""
SURVEY_S: Final = 2.0
"""Time in which rows are read for people who look."""
HOSTED: Final = 1 / 2
"""Part of the free memory that experts may take."""


class MixtureDesk:
    """Carries words between the two workers and the exchange.

    Args:
        manifest: The collaboration's, which has layers of experts.
        participant: The peer.
        installation: This computer's.
        trainers: What is known of those that call.
        deliver: Gives the exchange an event, and performs what follows.
        changed: Called when something that people see has changed.
    """

    def __init__(
        self,
        manifest: Manifest,
        participant: Participant,
        installation: Installation,
        *,
        trainers: TrainersKnown,
        deliver: Callable[[Any], None],
        changed: Callable[[], None],
    ) -> None:
        self.lines = participant.rounds.lines
        """What is known of everybody's lines."""
        numbers = manifest.mixture
        assert numbers is not None
        self._numbers: ExpertNumbers = numbers
        self._deliver = deliver
        self.say: Callable[[frames.FlightNews], object] = lambda _: None
        """Sends the trainer's worker a frame."""
        self._codec = codec_of(numbers.codec)
        of_sample, of_batch = _rows(manifest)
        mixture = Mixture.of(manifest.id, numbers, rows=of_sample)
        self._grid = mixture.grid
        limits = hosting.HostLimits(
            bytes_max=int(WAITING * psutil.virtual_memory().available),
            rows_max=batch_rows(self._codec, numbers=numbers.width, rows=of_batch),
        )
        options = installation.options
        folder = options.home.state(manifest.id.hex()) / EXPERTS
        self.exchange = exchange.ExpertExchange(
            participant.me,
            mixture,
            parts=exchange.ExchangeParts(
                host=hosting.ExpertHost(
                    codec=self._codec, numbers=numbers.width, limits=limits, trace=participant.trace
                ),
                directory=participant.dht,
                sink=DiskStateSink(folder / "incoming"),
                members=participant.donor.members,
            ),
            random=SystemRandom(),
            trace=participant.trace,
        )
        place = ExpertFolder(
            run=manifest.id,
            numbers=numbers,
            folder=folder,
            log=options.home.logs / "experts.log",
            share=lambda: share_of(installation),
            memory_bytes=lambda: int(HOSTED * psutil.virtual_memory().available),
        )
        self.here = ExpertsHere(
            place, self.exchange.host, installation, trainers=trainers, deliver=deliver, changed=changed
        )
        """Computes, as far as the person wants it."""

    def view(self, now: float) -> HostingView:
        """What this computer does for experts, as people see it."""
        host, layer = self.exchange.host, self.exchange.lacks(now)
        lack = None
        if layer is not None:
            live, numbers = self.exchange.live(now), self._numbers
            lack = ExpertsLack(live, numbers.layers * numbers.live, layer + 1)
        return HostingView(len(host.hosted), host.replies, host.wait_s, lack)

    async def survey(self, names: Mapping[PeerId, str], *, now: Callable[[], float], gather_s: float) -> ExpertsView:
        """Who hosts which expert, read anew.

        Args:
            names: Of those that are known.
            now: Unix seconds.
            gather_s: For so long copies of all experts are kept here, seconds.
        """
        self._deliver(exchange.SurveyExperts(gather_s))
        await asyncio.sleep(SURVEY_S)
        saved, host, known = self.here.shelf.saved(), self.exchange.host, []
        for one in self.exchange.known(now()):
            layer, place = one.expert
            mine = saved.get(one.expert)
            copies = [copy.saved for copy in one.copies.values()] + ([] if mine is None else [mine])
            known.append(
                ExpertPlaceView(
                    layer=layer + 1,
                    place=place,
                    hosts=tuple(sorted(names.get(peer, short(peer)) for peer in one.hosts)),
                    copies=len(copies),
                    saved=max(copies, default=0),
                    rows=host.answered[one.expert],
                    here=mine is not None,
                )
            )
        return ExpertsView(
            layers=self._numbers.layers,
            places=self._numbers.live,
            time=now(),
            answered=host.replies,
            known=tuple(known),
        )

    # --- the trainer's flights ---------------------------------------------------------------------------------------

    def wish(self, frame: frames.FlightWish | None) -> None:
        """The trainer's worker wants something of experts; None: it has ended, or stands still."""
        told = exchange.ForgetAsks(None) if frame is None else wish_of(frame, self._numbers, self._grid)
        self._deliver(told)

    # --- what the exchange reports -----------------------------------------------------------------------------------

    def take(self, event: object) -> bool:
        """Take in what the exchange reports; False: it is not about experts."""
        match event:
            case ExpertsSought(ticket=ticket, places=places):
                self.say(frames.FlightSought(flight=ticket, places=places.tobytes()))
            case CallAnswered(ticket=ticket, version=version, payload=payload):
                self.say(frames.FlightAnswered(call=ticket, version=version, payload=bytes(payload)))
            case CallLapsed(ticket=ticket):
                self.say(frames.FlightLapsed(call=ticket))
            case _:
                return self.here.take(event)
        return True


def mixture_desks(
    manifest: Manifest,
    participant: Participant,
    installation: Installation,
    *,
    account: Callable[[PeerId], AccountId],
    deliver: Callable[[Any], None],
    changed: Callable[[], None],
) -> Sequence[MixtureDesk]:
    """The desk of a collaboration whose model has layers of experts; none for others.

    Args:
        manifest: The collaboration's.
        participant: The peer.
        installation: This computer's.
        account: Whose key a peer's is.
        deliver: Gives the machines beside the participant an event.
        changed: Called when something that people see has changed.
    """
    if manifest.mixture is None or not installation.options.trains:
        return ()
    trainers = TrainersKnown(account, participant.rounds.earned.__contains__)
    return (MixtureDesk(manifest, participant, installation, trainers=trainers, deliver=deliver, changed=changed),)


def _rows(manifest: Manifest) -> tuple[int, int]:
    """Rows of a sample and of a trainer's batch, by the task's numbers; what is not told is as large as it can be."""
    samples = manifest.numbers.get("micro_batch")
    of_sample = sample_rows(manifest.task, manifest.numbers) or ROWS_MAX
    return of_sample, min(ROWS_MAX, of_sample * samples) if isinstance(samples, int) else ROWS_MAX


def answered_today(
    desks: Sequence[MixtureDesk], peers: Iterable[PeerId], board: Board, now: float
) -> Mapping[PeerId, int]:
    """Rows that the experts of these have answered for others today, as the others say and as can be true.

    Args:
        desks: That of the collaboration, if its model has layers of experts.
        peers: Who is asked about.
        board: Says what rounds have counted for whom.
        now: Unix seconds.
    """
    if not desks:
        return {}
    lines, credit = desks[0].lines, desks[0].exchange.credit
    known = KnownOfPeers(
        rates=lambda peer: lines.known([peer]).lines.get(peer), samples=lambda peer: board.row(peer).samples
    )
    return credit.credits(peers, known, now)


def wish_of(frame: frames.FlightWish, numbers: ExpertNumbers, grid: ExpertGrid) -> exchange.TrainerWish:
    """What a frame of the trainer's worker asks the exchange for.

    Args:
        frame: The worker's.
        numbers: The mixture's.
        grid: The places of each layer.
    """
    match frame:
        case frames.FlightSeeks(flight=flight, layer=layer, rows=rows, count=count, scores=scores):
            return exchange.SearchExperts(flight, layer, np.frombuffer(scores, np.float32).reshape(rows, -1), count)
        case frames.FlightAsks():
            codec = codec_of(numbers.codec)
            size = call_bytes(codec, kind=CallKind.FORWARD, rows=frame.rows, numbers=numbers.width)
            return ExpertAsk(
                ticket=frame.call,
                layer=frame.layer,
                place=grid.place(frame.place),
                kind=frame.kind,
                rows=frame.rows,
                seen=frame.seen,
                payload=lambda: memoryview(frame.payload),
                bytes=size,
            )
        case frames.FlightForgets(calls=calls):
            return exchange.ForgetAsks(calls)
        case frames.FlightBlames(call=call):
            return exchange.UselessAnswer(call)
