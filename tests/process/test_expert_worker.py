"""A real worker hosts experts: it answers calls over slots, is missed when it is killed, and goes on from its files."""

import asyncio
import os
import signal
import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch

from core.base.ids import PeerId
from core.base.machine import Received, Send, Trace
from core.base.mixture import ExpertNumbers, ExpertOptimizer
from core.codecs.registry import codec_of
from core.experts.hosting import (
    ComputeBatch,
    ExpertHost,
    ExpertHosted,
    ExpertKept,
    ExpertNotKept,
    HostLimits,
    HostStopped,
)
from core.experts.messages import ExpertCall, ExpertRefused, ExpertReply
from core.experts.queue import CallKind, CallRefusal
from core.tasks.experts.blocks import new_expert
from core.workers.expert_host import ExpertFolder, ExpertWorker, TrainersKnown
from core.workers.place import WorkerShare

pytestmark = pytest.mark.process

PATIENCE_S = 120.0
"""Bounds a failure only: other tests compute on the same cores."""
NUMBERS = ExpertNumbers(
    live=16, width=32, step_rows=8, step_calls=100, codec="raw", optimizer=ExpertOptimizer(learning_rate=0.01)
)
CODEC = codec_of(NUMBERS.codec)
TRAINER = PeerId(bytes(32))
FULL = Path("/dev/full")


class Stage:
    """A host's machine and its worker, without a network."""

    def __init__(self, folder, memory_bytes=1 << 30, log=None):
        limits = HostLimits(bytes_max=1 << 24, rows_max=64)
        self.host = ExpertHost(codec=CODEC, numbers=NUMBERS.width, limits=limits, trace=Trace())
        self.told: asyncio.Queue[object] = asyncio.Queue()
        place = ExpertFolder(
            run=bytes(32),
            numbers=NUMBERS,
            folder=folder / "experts",
            log=log or folder / "log",
            share=lambda: WorkerShare("cpu", 1),
            memory_bytes=lambda: memory_bytes,
        )
        self.notices, self.changed = [], asyncio.Event()
        self.worker = ExpertWorker(
            place,
            trainers=TrainersKnown(account=lambda peer: peer[:16], counted=lambda _: True),
            tell=self.tell,
            changed=self.changed.set,
            notice=self.notices.append,
            random=Random(0),
        )

    def tell(self, event):
        self.told.put_nowait(event)
        if isinstance(event, ExpertHost.TAKES):
            self.handle(event)

    def handle(self, event):
        for output in self.host.handle(event, 0.0):
            if isinstance(output, ComputeBatch):
                self.worker.compute(output)
            elif isinstance(output, Send):
                self.told.put_nowait(output.message)

    def call(self, number, place, *arrays, layer=0):
        kind = CallKind.BACKWARD if len(arrays) > 1 else CallKind.FORWARD
        payload = b"".join(bytes(CODEC.encode(array.ravel())) for array in arrays)
        call = ExpertCall(number, layer, place, kind, len(arrays[0]), 0, 120_000, memoryview(payload))
        self.handle(Received(TRAINER, call))

    async def until(self, kind):
        async with asyncio.timeout(PATIENCE_S):
            while not isinstance(event := await self.told.get(), kind):
                pass
        return event

    async def answer(self, number):
        while (reply := await self.until(ExpertReply)).call != number:
            pass
        return np.frombuffer(reply.payload, np.float32).reshape(reply.rows, NUMBERS.width), reply.version


def play(folder, act, **given):
    async def go():
        stage = Stage(folder, **given)
        running = asyncio.create_task(stage.worker.run())
        stage.worker.keeper.resume()
        try:
            await act(stage)
        finally:
            await stage.worker.keeper.pause()
            running.cancel()

    asyncio.run(go())


def test_too_little_memory_for_one_expert_is_told(tmp_path):
    async def act(stage):
        async with asyncio.timeout(PATIENCE_S):
            while not stage.worker.computes_on:
                await stage.changed.wait()
                stage.changed.clear()
        assert stage.worker.places_max == 0
        [said] = map(str, stage.notices)
        assert said == "No expert of the model lives here: each takes 406.02 kB of memory, and too little is free."

    play(tmp_path, act, memory_bytes=NUMBERS.hosting_bytes - 1)


@pytest.mark.skipif(not FULL.exists(), reason="no device that is always full")
def test_host_answers_on_where_its_log_cannot_be_written(tmp_path):
    """The log lies on the same full disk as the file of the expert, of which it tells that there was no room."""

    async def act(stage):
        stage.worker.take(0, (0, 0))
        await stage.until(ExpertHosted)
        (tmp_path / "experts").rename(tmp_path / "gone")
        (tmp_path / "experts").touch()
        stage.worker.save(0, (0, 0))
        await stage.until(ExpertNotKept)
        stage.call(1, (0, 0), drawn(1))
        assert (await stage.answer(1))[1] == 0

    play(tmp_path, act, log=FULL)


def drawn(seed, rows=8):
    return np.random.default_rng(seed).normal(0, 1, (rows, NUMBERS.width)).astype(np.float32)


@pytest.mark.skipif(sys.platform == "win32", reason="A process is killed by a signal.")
def test_killed_worker_is_missed_and_its_experts_come_back(tmp_path):
    async def act(stage):
        places = [(0, 0), (3, 1)]
        for place in places:
            stage.worker.take(0, place)
            await stage.until(ExpertHosted)
        x, g = drawn(1), drawn(2)
        g /= np.linalg.norm(g, axis=1, keepdims=True)
        for number, place in enumerate(places):
            stage.call(number, place, x)
        ys = [(await stage.answer(number))[0] for number in range(2)]
        assert np.abs(ys[0] - ys[1]).max() > 0.01, "each place has an expert of its own"
        stage.call(10, places[1], x, g)
        dx, version = await stage.answer(10)
        assert (dx.shape, version) == (x.shape, 0)
        stage.call(11, places[1], x)
        learned, version = await stage.answer(11)
        assert version == 1
        assert np.abs(learned - ys[1]).max() > 1e-3
        stage.worker.save(0, places[1])
        kept = await stage.until(ExpertKept)
        assert (kept.version, kept.place) == (1, places[1])

        os.kill(stage.worker.keeper.pid, signal.SIGKILL)
        stage.call(13, places[0], x)
        await stage.until(HostStopped)
        assert (await stage.until(ExpertRefused)).why is CallRefusal.STOPPING
        assert stage.host.hosted == set()
        versions = {(event := await stage.until(ExpertHosted)).place: event.version for _ in places}
        assert versions == {places[0]: 0, places[1]: 1}
        stage.call(14, places[1], x)
        again, version = await stage.answer(14)
        assert version == 1
        np.testing.assert_allclose(again, learned, atol=0.01)

    play(tmp_path, act)


def test_worker_computes_what_a_plain_block_computes(tmp_path):
    async def act(stage):
        stage.worker.take(2, (1, 1))
        await stage.until(ExpertHosted)
        stage.worker.save(2, (1, 1))
        path = (await stage.until(ExpertKept)).path
        block = new_expert("ffn", width=NUMBERS.width, factor=NUMBERS.factor, seed=0)
        from safetensors.torch import load_file

        block.load_state_dict({name: tensor.float() for name, tensor in load_file(path).items()})
        arrays = [drawn(seed, rows) for seed, rows in enumerate((1, 7, 20, 3))]
        for number, x in enumerate(arrays):
            stage.call(number, (1, 1), x, layer=2)
        for number, x in enumerate(arrays):
            y, _ = await stage.answer(number)
            np.testing.assert_allclose(y, block(torch.from_numpy(x)).detach().numpy(), atol=0.01)

        stage.call(20, (1, 1), drawn(1), drawn(2), layer=2)
        await stage.answer(20)
        await stage.worker.keeper.pause(memory_s=100)
        await stage.until(HostStopped)
        stage.worker.keeper.resume()
        assert (await stage.until(ExpertHosted)).version == 1, "a pause loses nothing, although the file is older"

    play(tmp_path, act)
