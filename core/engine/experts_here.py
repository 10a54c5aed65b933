"""The experts of a computer: the worker that has them, how many the person wants, and their files, which it saves."""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import SystemRandom
from typing import Any, Final

from core.api.numbers import volume
from core.base.problems import Sentence
from core.engine.installation import Installation
from core.experts import hosting
from core.swarm.experts import exchange, places
from core.workers.expert_host import ExpertFolder, ExpertWorker, TrainersKnown
from core.workers.expert_shelf import ExpertShelf
from core.workers.frames import Throttle

SAVE_S: Final = 30.0
"""Time between two saves of an expert that has learned."""
LEAVING_S: Final = 3.0
"""Upper bound on the time in which what is left is saved: a window ends its engine by force 5 s after a quit."""

_LOG = logging.getLogger(__name__)


class ExpertsHere:
    """Has the worker take, save and leave experts, as the exchange and the person want it.

    Args:
        place: Paths and options of the worker.
        host: Answers calls.
        installation: This computer's.
        trainers: What is known of those that call.
        deliver: Gives the exchange an event, and performs what follows.
        changed: Called when something that people see has changed.
    """

    def __init__(
        self,
        place: ExpertFolder,
        host: hosting.ExpertHost,
        installation: Installation,
        *,
        trainers: TrainersKnown,
        deliver: Callable[[Any], None],
        changed: Callable[[], None],
    ) -> None:
        self._host = host
        self._preferences = installation.preferences
        self._notice = partial(installation.notices.add, "warning")
        self._expert_bytes = place.numbers.hosting_bytes
        self._deliver = deliver
        self._changed = changed
        self.shelf = ExpertShelf(place.folder, deliver, ahead_s=lambda: installation.clock.wall_ahead_s)
        """The files that lie here."""
        self._worker = ExpertWorker(
            place,
            trainers=trainers,
            tell=self._told,
            changed=self._worker_changed,
            notice=self._notice,
            random=SystemRandom(),
        )
        self._wanted = False
        """Whether the person contributes."""
        self._count = 0
        """Number of experts that this computer is to have now."""
        self._too_little: int | None = None
        """What the person lets training take of the memory, where that is too little for one expert, as it was told."""
        self._saved: dict[hosting.Expert, int] = {}
        """Rows that each expert had answered when it was saved last."""
        self._saving: set[hosting.Expert] = set()
        self._is_saved = asyncio.Event()
        """Set when the worker has saved an expert, or stands still."""

    async def run(self) -> None:
        """Keep a worker that hosts whenever one is wanted, and have it save, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for work in (self._worker.run(), self._save_often(), self.shelf.keep(), self._follow_choice()):
                group.create_task(work)

    def resume(self) -> None:
        """The person contributes: host experts, unless they want none."""
        self._wanted = True
        if self._preferences.settings.experts != 0:
            self._worker.keeper.resume()
            self._worker_changed()  # a pause may save experts still

    async def pause(self, *, memory_s: float = 0.0) -> None:
        """The person pauses: others are told, and the worker stands still, or is gone.

        Args:
            memory_s: Time for which it may keep its memory.
        """
        self._wanted = False
        await self._leave(memory_s=memory_s)

    def throttle(self, limit: Throttle) -> None:
        """Limit what the worker uses of the computer."""
        self._worker.keeper.throttle(limit)

    def take(self, event: object) -> bool:
        """Take in what the exchange reports; False: it is not about what is here."""
        match event:
            case hosting.ComputeBatch():
                self._worker.compute(event)
            case places.PlaceTaken(layer=layer, place=place):
                self._worker.take(layer, place, self.shelf.newest((layer, place)))
            case places.PlaceLeft(layer=layer, place=place):
                self._save((layer, place))
                self._worker.give_up(layer, place)
            case _:
                return self.shelf.take(event)
        return True

    # --- inside ------------------------------------------------------------------------------------------------------

    async def _leave(self, *, memory_s: float) -> None:
        self._have(0)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LEAVING_S):
                while self._saving:
                    self._is_saved.clear()
                    await self._is_saved.wait()
        if not self._count:  # else the person has resumed meanwhile
            await self._worker.keeper.pause(memory_s=memory_s)

    async def _follow_choice(self) -> None:
        """Host as many experts as the person wants, until cancelled."""
        chosen = asyncio.Event()
        unfollow = self._preferences.follow(lambda _: chosen.set())
        try:
            while True:
                await chosen.wait()
                chosen.clear()
                if self._preferences.settings.experts == 0:
                    await self._leave(memory_s=0.0)
                elif self._wanted:
                    self.resume()
        finally:
            unfollow()

    def _room(self) -> int:
        """Number of experts for which there is memory, and that the person wants at most."""
        chosen, room = self._preferences.settings, self._worker.places_max
        if chosen.memory_bytes is not None:
            room = min(room, chosen.memory_bytes // self._expert_bytes)
        return room if chosen.experts is None else min(room, chosen.experts)

    def _worker_changed(self) -> None:
        """Take places, or leave some, once the worker has said for how many there is memory; say why there is none."""
        chosen, room = self._preferences.settings, self._room()
        if self._wanted and room != self._count and self._worker.keeper.pid is not None:
            self._have(room)
        too_little = chosen.memory_bytes if self._worker.places_max and not room and chosen.experts != 0 else None
        if too_little is not None and too_little != self._too_little:
            none = "No expert of the model lives here: each takes {size} of memory, and training may take {most}."
            self._notice(Sentence(none, volume(self._expert_bytes), volume(too_little)))
        self._too_little = too_little
        self._changed()

    def _have(self, count: int) -> None:
        self._count = count
        self._deliver(exchange.HostExperts(count, self.shelf.put_all() if count else ()))

    async def _save_often(self) -> None:
        while True:
            await asyncio.sleep(SAVE_S)
            for expert in sorted(self._host.hosted):
                self._save(expert)

    def _save(self, expert: hosting.Expert) -> None:
        """Have the worker save an expert that has answered since it did so last, or was never saved."""
        answered = self._host.answered[expert]
        if answered != self._saved.get(expert) and self._worker.keeper.pid is not None:
            self._saved[expert] = answered
            self._saving.add(expert)
            self._worker.save(*expert)

    def _told(self, fact: hosting.HostFact) -> None:
        match fact:
            case hosting.ExpertHosted(layer=layer, place=place, version=version):
                _LOG.info("the expert %s begins at version %d", hosting.named((layer, place)), version)
            case hosting.ExpertLost(layer=layer, place=place, why=why):
                _LOG.warning("the expert %s does not begin: %s", hosting.named((layer, place)), why)
            case hosting.ExpertKept(layer=layer, place=place):
                self.shelf.put((layer, place), fact.version, Path(fact.path))
                self._saving.discard((layer, place))
                self._is_saved.set()
            case hosting.ExpertNotKept(layer=layer, place=place):
                self._saved.pop((layer, place), None)
                self._saving.discard((layer, place))
                self._is_saved.set()
            case hosting.HostStopped():
                self._saving.clear()
                self._is_saved.set()
        self._deliver(fact)
        self._changed()
