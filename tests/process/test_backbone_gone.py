"""The backbone goes for good after the first minute: those whom it has let in restart, and train together, for days.

With POTLUCK_LONG=1 four volunteers restart, each alone and then all at once; else one of two does.
"""

import asyncio
import json
import os
import socket
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from core.api.snapshot import Activity, Snapshot, activity_of
from core.api.verdict import VerdictCode
from core.joining.silence import SILENCE, SILENT_S
from tests.process.false_clock import FalseClock
from tests.process.swarm import Collaboration, Volunteer, collaboration, found

pytestmark = pytest.mark.process
LONG = bool(os.environ.get("POTLUCK_LONG"))
NAMES = ("ada", "bob", "cleo", "dora") if LONG else ("ada", "bob")
HOUR_S = 3600.0
TRAINING_S = 30.0 if LONG else 120.0  # the promise is measured alone; other tests share the cores here


def _trains_with(others: set[str], epoch: int) -> Callable[[Snapshot], bool]:
    def reached(news: Snapshot) -> bool:
        here = {peer.name for peer in news.peers if peer.activity == Activity.TRAINING}
        works = news.verdict.code is VerdictCode.CONTRIBUTING and activity_of(news.verdict) is Activity.TRAINING
        return works and news.epoch >= epoch and news.me.samples_pending > 0 and here >= others

    return reached


def free_ports(names: Sequence[str]) -> dict[str, int]:
    """A port for each volunteer, which it keeps, as an engine keeps the one that it has drawn."""
    held = [socket.socket() for _ in names]
    for one in held:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return dict(zip(names, ports, strict=True))


@pytest.mark.long
def test_volunteers_restart_and_train_without_any_backbone(tmp_path: Path) -> None:
    charter, ports = found(tmp_path, target_samples=256), free_ports(NAMES)

    def started(swarm: Collaboration, name: str) -> Volunteer:
        return swarm.join(name, "--port", str(ports[name]))

    async def again(swarm: Collaboration, running: dict[str, Volunteer], *names: str) -> list[float]:
        """Kill engines, start them, and take the time until each trains with the others."""
        epoch = (await running[names[0]].snapshot()).epoch
        for name in names:
            running[name].kill()
            swarm.volunteers.remove(running[name])
        begun = time.monotonic()
        running.update({name: started(swarm, name) for name in names})

        async def trains(name: str) -> float:
            await running[name].until(_trains_with(set(NAMES) - {name}, epoch), timeout_s=120)
            return time.monotonic() - begun

        return await asyncio.gather(*map(trains, names))

    async def run() -> None:
        async with collaboration(charter, tmp_path) as swarm:
            running = {name: started(swarm, name) for name in NAMES}
            await asyncio.gather(*(one.until(_trains_with(set(NAMES) - {name}, 1)) for name, one in running.items()))
            assert swarm.backbone is not None
            swarm.backbone.kill()
            swarm.backbone.wait()
            took = [await again(swarm, running, name) for name in (NAMES if LONG else NAMES[:1])]
            took += [await again(swarm, running, *NAMES)] if LONG else []
            (tmp_path / "seconds.txt").write_text(str(took))
            assert max(map(max, took)) < TRAINING_S, took
            log = await asyncio.to_thread((running["ada"].home.logs / "notices.log").read_text)
            assert "No backbone answers" in log
            ada = running["ada"]
            silence = ada.home.state(charter.manifest.id.hex()) / SILENCE
            asked = json.loads(silence.read_bytes())
            assert not asked["told"]
            ada.kill()
            swarm.volunteers.remove(ada)
            silence.write_text(json.dumps({"since": asked["since"] - SILENT_S}))
            running["ada"] = started(swarm, "ada")
            await running["ada"].until(lambda _: bool(json.loads(silence.read_bytes())["told"]))
            log = await asyncio.to_thread((ada.home.logs / "notices.log").read_text)
            assert log.count("potluck found --go-on") == 1

    asyncio.run(run())


@pytest.mark.long
def test_volunteers_train_for_three_days_without_any_desk(tmp_path: Path) -> None:
    """All desks are gone for 72 hours of all clocks; both restart and train; the day after their passes have ended."""
    charter, ports = found(tmp_path, target_samples=256), free_ports(NAMES)
    clocks = {name: FalseClock(tmp_path, name) for name in NAMES[:2]}

    async def run() -> None:
        async with collaboration(charter, tmp_path) as swarm:

            def started() -> dict[str, Volunteer]:
                return {n: swarm.join(n, "--port", str(ports[n]), program=one.program) for n, one in clocks.items()}

            async def train(running: dict[str, Volunteer], epoch: int) -> list[Snapshot]:
                others = {name: set(running) - {name} for name in running}
                return await asyncio.gather(*(one.until(_trains_with(others[n], epoch)) for n, one in running.items()))

            seen = await train(running := started(), 1)
            assert swarm.backbone is not None
            swarm.backbone.kill()
            swarm.backbone.wait()
            for name, one in running.items():
                one.kill()
                clocks[name].set(72 * HOUR_S)
            swarm.volunteers.clear()
            seen = await train(running := started(), 1 + max(news.epoch for news in seen))
            for clock in clocks.values():
                clock.set(72 * HOUR_S, steady_s=25 * HOUR_S)
            ended = [one.until(lambda news: news.verdict.reason == "pass_ended") for one in running.values()]
            assert all("pass has ended" in news.sentence for news in await asyncio.gather(*ended))
            for name, one in running.items():
                one.kill()
                clocks[name].set(97 * HOUR_S)
            swarm.volunteers.clear()
            waits = [one.until(lambda news: "does not hold now" in news.sentence) for one in started().values()]
            assert all("Waiting for the backbone" in news.sentence for news in await asyncio.gather(*waits))

    asyncio.run(run())
