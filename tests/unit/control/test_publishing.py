"""Which snapshots go out: none for numbers that always run, but once in a while."""

import asyncio

import msgspec

from core.api.snapshot import COUNTERS_S
from core.control.client import ControlClient
from core.control.notices import NoticeRing
from core.control.service import ControlService


def test_no_snapshot_when_only_bytes_change(home, engine):
    at = engine.snapshot()
    engine.snapshot = lambda: at

    async def test():
        nonlocal at
        service = ControlService(home=home, intents=engine, notices=NoticeRing(lambda: 1.0), interval_s=0.0)
        await service.open()
        try:
            async with asyncio.timeout(20), ControlClient.connect(home) as client:
                came = client.notifications()
                assert (await anext(came)).me.bytes_sent == 0
                for sent, time, epoch in ((10, 1.0, 0), (20, 2.0, 0), (30, 3.0, 7), (40, 4.0, 7)):
                    me = msgspec.structs.replace(at.me, bytes_sent=sent)
                    at = msgspec.structs.replace(at, me=me, time=1000.0 + time, epoch=epoch)
                    service.announce()
                    await client.call("pause")  # an answer: by now the snapshot before it has come, if there is one
                seen = []
                at = msgspec.structs.replace(at, time=1003.0 + COUNTERS_S)
                service.announce()
                while not seen or seen[-1][0] < 1003.0 + COUNTERS_S:
                    snapshot = await anext(came)
                    seen.append((snapshot.time, snapshot.me.bytes_sent))
        finally:
            await service.close()
        assert not {1002.0, 1004.0} & {time for time, _ in seen}
        assert seen[-1] == (1003.0 + COUNTERS_S, 40)

    asyncio.run(test())


def test_nothing_is_done_where_no_client_is_connected(home, engine, monkeypatch):
    async def test():
        service = ControlService(home=home, intents=engine, notices=NoticeRing(lambda: 1.0))
        await service.open()
        try:
            with monkeypatch.context() as patch:
                patch.setattr(asyncio.get_running_loop(), "call_at", None)
                service.announce()
        finally:
            await service.close()

    asyncio.run(test())
