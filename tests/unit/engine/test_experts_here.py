"""The experts of a computer while its person changes the mind, and while its disk is full."""

import asyncio
from types import SimpleNamespace

import pytest

from app.ending import PATIENCE_MS
from core.base.machine import Trace
from core.base.mixture import ExpertNumbers
from core.cli.engine.control import QUIT_S
from core.codecs.registry import codec_of
from core.engine import experts_here
from core.experts import hosting
from core.swarm.experts.exchange import HostExperts
from core.swarm.experts.places import PlaceLeft, PlaceTaken
from core.workers.expert_frames import ExpertNotSaved, ExpertSaved, ExpertsReady, ExpertTaken
from core.workers.expert_host import ExpertFolder, ExpertWorker
from core.workers.place import WorkerShare

EXPERT, OTHER = (0, (0, 0)), (0, (0, 1))
NUMBERS = ExpertNumbers(live=16, width=32, codec="raw")


class Keeper:
    """A worker runs here, and stands still as soon as it is told to."""

    pid, wanted, problem = 1, False, None

    def resume(self):
        self.wanted = True

    async def pause(self, *, memory_s):
        self.wanted = False

    async def run(self):
        """Keep a worker until cancelled."""
        await asyncio.Event().wait()

    def send(self, frame):
        """Say something to the worker, which says only what a test has it say."""


class Home:
    """What is about the experts of a computer, whose worker a test speaks for."""

    def __init__(self, folder, monkeypatch):
        monkeypatch.setattr(experts_here, "SAVE_S", 0.01)
        limits = hosting.HostLimits(bytes_max=1 << 20, rows_max=64)
        self.host = hosting.ExpertHost(codec=codec_of("raw"), numbers=32, limits=limits, trace=Trace())
        self.wishes, self.has_wish = [], asyncio.Event()
        self.notices = []
        self.to_save, self.follows = asyncio.Queue(), asyncio.Event()
        self.settings = SimpleNamespace(experts=None, memory_bytes=None)
        preferences = SimpleNamespace(settings=self.settings, follow=self.follow)
        place = ExpertFolder(
            run=bytes(32),
            numbers=NUMBERS,
            folder=folder,
            log=folder / "log",
            share=lambda: WorkerShare("cpu", 1),
            memory_bytes=lambda: 1 << 30,
        )
        monkeypatch.setattr(experts_here, "ExpertWorker", self.worker)
        self.here = experts_here.ExpertsHere(
            place,
            self.host,
            SimpleNamespace(preferences=preferences, notices=self, clock=SimpleNamespace(wall_ahead_s=0.0)),
            trainers=None,
            deliver=self.deliver,
            changed=lambda: None,
        )

    def add(self, level, sentence):
        self.notices.append(str(sentence))

    def follow(self, choose):
        self.choose = choose
        self.follows.set()
        return lambda: None

    def worker(self, *args, **named):
        self.speaks = ExpertWorker(*args, **named)
        self.speaks.keeper = Keeper()
        self.speaks.save = self.save
        return self.speaks

    def save(self, *expert):
        self.to_save.put_nowait(expert)

    def deliver(self, event):
        """As the exchange does."""
        if isinstance(event, HostExperts):
            self.wishes.append(event.count)
            self.has_wish.set()
            for expert in list(self.host.hosted if not event.count else ()):
                self.leave(expert)
        elif isinstance(event, hosting.ExpertHost.TAKES):
            self.host.handle(event, 0.0)

    def leave(self, expert):
        self.host.handle(hosting.ExpertLeft(*expert), 0.0)
        self.here.take(PlaceLeft(*expert))

    async def live(self, *experts):
        """Experts live here, and have answered."""
        self.here.resume()
        await self.speaks.heard(ExpertsReady(device="cpu", title="", places_max=4))
        for layer, place in experts or (EXPERT,):
            self.here.take(PlaceTaken(layer, place))
            await self.speaks.heard(ExpertTaken(layer=layer, place=place, version=0))
            self.host.answered[layer, place] += 1

    async def saved(self, expert):
        file = {"path": "none", "digest": bytes(32), "size_bytes": 1}
        await self.speaks.heard(ExpertSaved(layer=expert[0], place=expert[1], version=0, **file))


@pytest.fixture
def play(tmp_path, monkeypatch):
    """Runs what a test does with a home, which it returns."""

    def run(act):
        async def play():
            home = Home(tmp_path, monkeypatch)
            await asyncio.wait_for(act(home), 20)
            return home

        return asyncio.run(play())

    return run


def test_expert_that_was_left_while_it_loaded_is_not_asked(play):
    async def act(home):
        await home.live()
        home.leave(EXPERT)
        await home.speaks.heard(ExpertTaken(layer=0, place=(0, 0), version=7))

    home = play(act)
    assert not home.host.hosted


def test_person_who_resumes_while_a_pause_saves_hosts_on(play):
    async def act(home):
        await home.live()
        pausing = asyncio.create_task(home.here.pause())
        expert = await home.to_save.get()
        home.here.resume()
        await home.saved(expert)
        await pausing

    home = play(act)
    assert home.speaks.keeper.wanted
    assert home.wishes == [4, 0, 4]


def test_experts_take_no_more_memory_than_training_may(play):
    async def act(home):
        await home.live()
        running = asyncio.create_task(home.here.run())
        await home.follows.wait()
        for home.settings.memory_bytes in (3 * NUMBERS.hosting_bytes - 1, NUMBERS.hosting_bytes - 1, None):
            home.has_wish.clear()
            home.choose(home.settings)
            await home.has_wish.wait()
        running.cancel()

    home = play(act)
    assert home.wishes == [4, 2, 0, 4]
    (told,) = home.notices
    assert "406.02 kB of memory, and training may take 406.01 kB" in told, "once, where it is too little for one"


def test_leaving_ends_before_the_engine_is_ended_by_force(play, monkeypatch):
    """The worker saves nothing; here its time is over sooner."""
    assert min(PATIENCE_MS / 1000, QUIT_S) > experts_here.LEAVING_S + 1
    monkeypatch.setattr(experts_here, "LEAVING_S", 0.01)

    async def act(home):
        await home.live()
        await home.here.pause()

    assert not play(act).speaks.keeper.wanted


def test_expert_is_saved_again_once_the_disk_has_room(play):
    """Nobody has asked it meanwhile, nor the other one, for which there was room."""
    saves = []

    async def act(home):
        await home.live(EXPERT, OTHER)
        running = asyncio.create_task(home.here.run())
        while saves.count(EXPERT) < 3:
            saves.append(await home.to_save.get())
            if saves[-1] == OTHER:
                await home.saved(OTHER)
            else:
                await home.speaks.heard(ExpertNotSaved(layer=0, place=EXPERT[1]))
        running.cancel()

    play(act)
    assert saves.count(OTHER) == 1
