"""A peer that missed rounds takes the same steps with their means: engine's side and worker's, with real files."""

import asyncio
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from core.averaging.kept_mean import MeanForm
from core.base.content import DIGEST_BYTES, digest
from core.base.ids import PeerId
from core.base.manifest import AveragingNumbers, Manifest
from core.base.state_header import StateHeader, header_of
from core.base.work import Loaded, Stepped
from core.codecs.registry import codec_of
from core.kept.kept_means import KeptMeans
from core.swarm.words import orders
from core.swarm.words.answers import MeanOffered
from core.swarm.words.states import State, StateName
from core.training.conversation import Conversation
from core.workers import frames
from core.workers.arena import Arena
from core.workers.interpreter import Interpreter, SharedFiles
from tests.unit.training.given_samples import GivenSamples
from tests.unit.training.small import MANIFEST, learner, ticking

ROUNDS = 3
ME = PeerId(bytes(32))
SGD = {"name": "sgd", "learning_rate": 0.1, "momentum": 0.9}
LOCAL = {"name": "local", "steps": 2, "samples": 16, "optimizer": SGD}
MANIFESTS = {
    "lamb": MANIFEST,
    "lamb as fp16": msgspec.structs.replace(MANIFEST, averaging=AveragingNumbers(codec="fp16")),
    "lamb in few bits": msgspec.structs.replace(MANIFEST, averaging=AveragingNumbers(codec="q4", chunk_numel=256)),
    "delayed": msgspec.structs.replace(MANIFEST, averaging=AveragingNumbers(delayed=True)),
    "local steps": msgspec.structs.replace(MANIFEST, rule=LOCAL, optimizer=SGD),
}


class Peer:
    """A computer without a network: the engine's side of its worker, and the worker."""

    def __init__(self, folder: Path, manifest: Manifest, *, seed: int) -> None:
        self.means = folder / "means"
        files = SharedFiles(manifest=manifest, arena=folder / "arena", residuals=folder / "residuals", means=self.means)
        self.told: list[Any] = []
        self.counts = 0
        """Samples of its own that the others' state counts."""
        self._interpreter = interpreter = Interpreter(files, tell=self.told.append, ledger=self, peer=ME)
        self.peer = learner(folder / "states", seed=seed, manifest=manifest)
        self.arena = Arena.create(interpreter.new_arena(), self.peer.numel)
        self._said: list[frames.ToEngine] = []
        start = frames.Start(manifest_path="", blobs_dir="", state_dir="", arena_path="", seed=seed)
        self._talk = Conversation(
            start, learner=self.peer, arena=self.arena, say=self._said.append, clock=ticking(0.0625)
        )

    def hold(self, data: bytes, epoch: int) -> None: ...

    def after(self, record: orders.RoundRecord) -> bytes:
        return f"after {record.name.epoch - 1}".encode()

    def counted(self, peer: PeerId, data: bytes) -> int:
        assert peer == ME
        return self.counts if data == f"after {ROUNDS - 1}".encode() else 0

    def send(self, frame: Any) -> None:
        self._talk.hear(frame)

    async def begin(self) -> None:
        self._talk.begin()
        await self._listen()

    async def order(self, order: Any) -> None:
        self._interpreter.order(order, self)  # type: ignore[arg-type]
        await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()})
        await self._listen()

    async def step(self, mean: np.ndarray, name: StateName) -> State:
        self.arena.slot("mean")[:] = mean
        record = orders.RoundRecord(name, (), 0.0, (), 1.0)
        await self.order(orders.Absorb(b"r", record))
        (step,) = (one for one in self.told if isinstance(one, Stepped) and State.of(one).name == name)
        return State.of(step)

    def close(self) -> None:
        self._interpreter.close()

    async def _listen(self) -> None:
        self._talk.settle()
        while self._said:
            frame = self._said.pop(0)
            await self._interpreter.heard(frame, self)  # type: ignore[arg-type]


def name_of(epoch: int) -> StateName:
    return StateName(epoch, digest(b"state %d" % epoch) if epoch else MANIFEST.id)


def averaged(peers: Sequence[Peer], manifest: Manifest) -> np.ndarray:
    """The mean of what peers contribute, as all have it after a round: through the codec, chunk by chunk."""
    for number, one in enumerate(peers, 1):
        for _ in range(3 * number):
            one.peer.accumulate()
    mean = np.mean([one.peer.hand_over() for one in peers], axis=0, dtype=np.float32)
    codec, chunk = codec_of(manifest.averaging.codec), manifest.averaging.chunk_numel
    for start in range(0, mean.size, chunk):
        part = mean[start : start + chunk]
        codec.decode_into(codec.encode(part.copy(), start), part, start)
    return mean


class Missed:
    """Two peers that took some steps together, and one that was away."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.manifest = manifest
        *self.here, self.late = (Peer(folder / str(n), manifest, seed=n) for n in range(3))
        self.states: list[State] = []

    async def begin(self) -> None:
        for one in (*self.here, self.late):
            await one.begin()
        for epoch in range(1, ROUNDS + 1):
            mean = averaged(self.here, self.manifest)
            states = [await one.step(mean, name_of(epoch)) for one in self.here]
            assert len({state.digest for state in states}) == 1
            self.states = states

    @property
    def header(self) -> StateHeader:
        return header_of(Path(self.states[0].location).read_bytes())

    def replay(self, **changed: Any) -> orders.Replay:
        header = self.header
        digests = bytes.fromhex(header.means)
        named = [digests[at : at + DIGEST_BYTES].hex() for at in range(0, len(digests), DIGEST_BYTES)]
        files = tuple(str(self.here[0].means / f"{one}.mean") for one in reversed(named))
        order = {"name": name_of(ROUNDS), "header": header, "digest": self.states[0].digest, "means": files}
        return orders.Replay(**order | changed)

    async def given(self, **changed: Any) -> State:
        await self.late.order(self.replay(**changed))
        answer = self.late.told[-1]
        assert isinstance(answer, Loaded)
        return State.of(answer)


@pytest.mark.parametrize("kind", MANIFESTS)
def test_replayed_state_has_the_others_bits(kind: str, tmp_path: Path) -> None:
    async def go() -> None:
        missed = Missed(tmp_path, MANIFESTS[kind])
        await missed.begin()
        for _ in range(5):
            missed.late.peer.accumulate()
        state = await missed.given()
        assert (state.name, state.digest) == (name_of(ROUNDS), missed.states[0].digest)
        assert missed.late.peer.state.saved.path.read_bytes() == missed.here[0].peer.state.saved.path.read_bytes()
        assert missed.late.peer.samples == 0
        everybody = [*missed.here, missed.late]
        mean = averaged(everybody, missed.manifest)
        states = [await one.step(mean, name_of(ROUNDS + 1)) for one in everybody]
        assert len({one.digest for one in states}) == 1
        for one in everybody:
            one.close()

    asyncio.run(go())


@pytest.mark.parametrize("way", ["replay", "load"])
def test_contribution_in_the_others_state_is_not_drawn_again(way: str, tmp_path: Path) -> None:
    async def go() -> None:
        missed = Missed(tmp_path, MANIFESTS["lamb"])
        await missed.begin()
        late, samples = missed.late, missed.late.peer.data
        assert isinstance(samples, GivenSamples)
        late.peer.accumulate()
        late.send(frames.Collect(round=b"r"))
        late.send(frames.Release(round=b"r"))
        late.counts = out = late.peer.samples
        late.peer.accumulate()
        more = late.peer.samples
        path = shutil.copy(missed.states[0].location, tmp_path / "fetched")
        await late.order(missed.replay() if way == "replay" else orders.Load(str(path), name_of(ROUNDS)))
        assert late.peer.state.saved.digest == missed.states[0].digest
        assert samples.used == list(range(out))
        assert samples.back == list(range(out, more))
        for one in (*missed.here, late):
            one.close()

    asyncio.run(go())


def test_state_that_others_do_not_hold_counts_nothing(tmp_path: Path) -> None:
    async def go() -> None:
        missed = Missed(tmp_path, MANIFESTS["lamb"])
        await missed.begin()
        late, samples = missed.late, missed.late.peer.data
        assert isinstance(samples, GivenSamples)
        late.peer.accumulate()
        late.send(frames.Collect(round=b"r"))
        late.counts = late.peer.samples
        await missed.given(digest=bytes(32))
        (tmp_path / "torn").write_bytes(b"\xff" * 100)
        await late.order(orders.Load(str(tmp_path / "torn"), name_of(ROUNDS)))
        assert late.peer.state.epoch == 0
        assert samples.used == samples.back == []
        for one in (*missed.here, late):
            one.close()

    asyncio.run(go())


def test_step_with_means_equals_steps_from_the_same_numbers(tmp_path: Path) -> None:
    """The digests in the header are those of files that hold the very means, made here by hand."""

    async def go() -> None:
        missed = Missed(tmp_path, MANIFESTS["lamb"])
        means = []
        for one in (*missed.here, missed.late):
            await one.begin()
        for epoch in range(1, ROUNDS + 1):
            means.append(averaged(missed.here, missed.manifest))
            missed.states = [await one.step(means[-1], name_of(epoch)) for one in missed.here]
        chunk = missed.manifest.averaging.chunk_numel
        assert means[0].size <= chunk
        head = chunk.to_bytes(4, "little")
        files = [head + (4 * mean.size).to_bytes(4, "little") + mean.astype("<f4").tobytes() for mean in means]
        expected = [digest(digest(file)).hex() for file in files]
        assert missed.header.means == "".join(reversed(expected))
        assert missed.header.ancestors == "".join(name_of(epoch).lineage[:8].hex() for epoch in (2, 1, 0))

    asyncio.run(go())


@pytest.mark.parametrize("lie", ["another mean", "not finite", "gone", "too few", "another digest", "torn"])
def test_means_that_lead_elsewhere_change_nothing(lie: str, tmp_path: Path) -> None:
    async def go() -> None:
        missed = Missed(tmp_path, MANIFESTS["lamb"])
        await missed.begin()
        late = missed.late.peer
        held, numbers = late.state.saved.digest, late.parameters.values_N.clone()
        order = missed.replay()
        form = MeanForm(codec_of("raw"), chunk_numel=missed.manifest.averaging.chunk_numel, numel=late.numel)
        others = KeptMeans(tmp_path / "lies", form)
        false = np.full(late.numel, np.nan if lie == "not finite" else 0.5, dtype=np.float32)
        root, _ = others.keep(false)
        path = tmp_path / "lies" / f"{root.hex()}.mean"
        if lie == "torn":
            path.write_bytes(path.read_bytes()[:-1])
        changed: dict[str, Any] = {"means": (order.means[0], str(path), order.means[2])}
        if lie == "gone":
            changed = {"means": (*order.means[:2], str(tmp_path / "nothing"))}
        elif lie == "too few":
            changed = {"means": order.means[:2]}
        elif lie == "another digest":
            changed = {"digest": bytes(32)}
        state = await missed.given(**changed)
        assert (state.name, state.digest) == (name_of(0), held)
        assert late.parameters.values_N.equal(numbers)
        assert not list((tmp_path / "2" / "states").glob("state-00000003-*"))
        state = await missed.given()
        assert state.digest == missed.states[0].digest

    asyncio.run(go())


def test_means_of_an_inexact_optimizer_are_not_kept(tmp_path: Path) -> None:
    async def go() -> None:
        manifest = msgspec.structs.replace(MANIFEST, optimizer={"name": "muon", "weight_decay": 0.01})
        missed = Missed(tmp_path, manifest)
        await missed.begin()
        assert missed.header.means == ""
        assert not [one for one in missed.here[0].told if isinstance(one, MeanOffered)]

    asyncio.run(go())


def test_restarted_worker_offers_the_means_that_are_whole(tmp_path: Path) -> None:
    async def go() -> None:
        missed = Missed(tmp_path, MANIFESTS["lamb"])
        await missed.begin()
        before = [one.file.digest for one in missed.here[0].told if isinstance(one, MeanOffered)]
        again = Peer(tmp_path / "0", missed.manifest, seed=0)
        await again.begin()
        offered = [one.file.digest for one in again.told if isinstance(one, MeanOffered)]
        assert offered == before[-len(offered) :]
        assert offered

    asyncio.run(go())
