"""A worker that dies at its start, as a driver may have it, with a small program in its place."""

import asyncio
import os
import sys
from pathlib import Path
from random import Random

import pytest

from core.base.ids import PeerId
from core.base.manifest import Manifest
from core.system import restarts
from core.workers.keeper import CRASHES_MAX
from core.workers.place import TrainerPlace, WorkerShare
from core.workers.trainer import Trainer

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(os.name == "nt", reason="Windows has no signals that end a process"),
]

PROGRAM = """
import os, signal, sys
from core.api.sentence import Sentence
from core.workers import frames as f
start = f.frame_decoder(f.ToWorker).decode(sys.stdin.buffer.read(f.frame_length(sys.stdin.buffer.read(4))))
with open(sys.argv[1], "a") as file:
    file.write(start.device + "\\n")
{ends}
"""
CRASHES = "os.kill(os.getpid(), signal.SIGSEGV)"
FINDS_A_FULL_DISK = """
failed = f.Failed(code="no_space", message=Sentence("The disk is full."), hint=Sentence("Free some."))
sys.stdout.buffer.write(f.encode_frame(failed))
sys.stdout.buffer.flush()
"""


class NoLedger:
    counts = 0
    """Samples of this computer in the next state."""

    def hold(self, ledger: bytes, epoch: int) -> None: ...

    def after(self, record: object) -> bytes:
        return b""

    def counted(self, peer: PeerId, data: bytes) -> int:
        return self.counts


@pytest.mark.parametrize("wish", ["cuda", "cpu"])
def test_a_driver_that_ends_workers_is_left_alone(tmp_path: Path, wish: str) -> None:
    devices, told = devices_of_starts(tmp_path, wish, ends=CRASHES)
    assert devices == [wish] * CRASHES_MAX + ["cpu"]
    assert any("processor alone" in str(sentence) for sentence in told) == (wish != "cpu")


def test_full_disk_is_no_bad_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restarts, "TROUBLE_S", (0.0,))
    devices, told = devices_of_starts(tmp_path, "cuda", ends=FINDS_A_FULL_DISK)
    assert devices == ["cuda"] * (CRASHES_MAX + 1)
    assert list(map(str, told)) == ["The disk is full."]


def devices_of_starts(tmp_path: Path, wish: str, *, ends: str) -> tuple[list[str], list[str]]:
    """The devices of one start more than a driver may crash, and what people were told meanwhile.

    Args:
        tmp_path: For the worker's files.
        wish: The device that the person wants.
        ends: How each worker ends.
    """
    started, told = tmp_path / "started", list[str]()
    place = TrainerPlace(
        peer=PeerId(bytes(32)),
        manifest=Manifest(name="t", organiser="t", task="albert", authority="00" * 32),
        manifest_path=tmp_path / "manifest",
        blobs=tmp_path,
        states=tmp_path,
        arena=tmp_path / "arena",
        log=tmp_path / "log",
        residuals=tmp_path / "residuals",
        means=tmp_path / "means",
        seed=0,
        share=lambda: WorkerShare(wish, 1),
        command=[sys.executable, "-c", PROGRAM.replace("{ends}", ends), str(started)],
    )

    async def go() -> None:
        enough = asyncio.Event()

        def changed() -> None:
            if started.exists() and len(started.read_text().split()) > CRASHES_MAX:
                enough.set()

        trainer = Trainer(
            place,
            tell=lambda _: None,
            ledger=NoLedger(),
            changed=changed,
            notice=told.append,
            random=Random(0),
        )
        running = asyncio.create_task(trainer.run())
        trainer.resume()
        async with asyncio.timeout(60):
            await enough.wait()
        await trainer.pause()
        running.cancel()

    asyncio.run(go())
    return started.read_text().split()[: CRASHES_MAX + 1], told
