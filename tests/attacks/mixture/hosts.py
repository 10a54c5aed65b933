"""The DHT, and the processes of hosts, of a simulated town."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from core.base.ids import Key, PeerId
from core.base.mixture import ExpertNumbers
from core.codecs.registry import codec_of
from core.dht.events import Found
from core.dht.messages import Record
from core.dht.readwrite import Put
from core.experts import hosting
from core.experts.messages import call_bytes, rows_that_fit
from core.experts.queue import CallKind
from core.training.devices.devices import PROCESSOR
from core.training.experts.bank import ExpertBank
from core.training.experts.bounds import Rows
from core.training.experts.runtime import ExpertRuntime
from core.workers import expert_frames
from core.workers.arena import SlotFile

RUN: Final = bytes(32)


class Directory:
    """The DHT as one peer sees it, which answers at once."""

    client = False

    def __init__(self, stored: dict[Key, dict[bytes, Record]], me: PeerId) -> None:
        self._stored, self._me = stored, me

    def get(self, keys: Key | Sequence[Key], now: float, *, quorum: int | None = None) -> list[Found]:
        del quorum
        there = {key: self._stored.get(key, {}).values() for key in ([keys] if isinstance(keys, bytes) else keys)}
        return [Found(key, tuple(one for one in there[key] if one.expiration > now)) for key in there]

    def store(self, key: Key, value: bytes, *, lifetime_s: float, now: float, subkey: bytes | None = None) -> list[Any]:
        return self.store_many([Put(key, value, lifetime_s, subkey)], now)

    def store_many(self, puts: Iterable[Put], now: float) -> list[Any]:
        for put in puts:
            record = Record(put.subkey or self._me, put.value, int(1000 * (now + put.lifetime_s)), bytes(64))
            self._stored.setdefault(put.key, {})[record.subkey] = record
        return []


class HostWorker:
    """The process of a host, which computes one batch after the other.

    Args:
        folder: For its slots.
        numbers: The mixture's.
        clock: Of the town.
        lie: What becomes of its answers.
    """

    def __init__(self, folder: Path, numbers: ExpertNumbers, clock: Callable[[], float], lie: Any) -> None:
        self._codec, self._width, self._lie = codec_of(numbers.codec), numbers.width, lie
        size = 2 * self._codec.max_bytes(numbers.width) * rows_that_fit(self._codec, numbers=numbers.width)
        folder.mkdir(parents=True)
        self._slots = SlotFile.create(folder / "slots", count=1, slot_bytes=size)
        self._bank = ExpertBank(numbers, run=RUN, folder=folder, device="cpu", memory_bytes=10**9)
        start = expert_frames.ExpertStart(
            run=RUN,
            numbers=numbers,
            folder=str(folder),
            slots_path=str(folder / "slots"),
            slots=1,
            slot_bytes=size,
            memory_bytes=10**9,
        )
        self._runtime = ExpertRuntime(start, device=PROCESSOR, bank=self._bank, say=lambda _: None, clock=clock)
        self.free_at = 0.0

    def take(self, layer: int, place: tuple[int, ...]) -> None:
        self._bank.take((layer, place), None)

    def compute(self, batch: hosting.ComputeBatch) -> hosting.BatchComputed:
        view, at, calls = self._slots.slot(0), 0, []
        for call, payload in zip(batch.calls, batch.payloads, strict=True):
            view[at : at + payload.nbytes] = payload
            at += payload.nbytes
            calls.append(expert_frames.BatchCall(call.sender[:16], True, call.rows, call.seen, payload.nbytes))
        frame = expert_frames.ExpertBatch(
            number=batch.number, slot=0, layer=batch.layer, place=batch.place, kind=batch.kind, calls=tuple(calls)
        )
        done, at, answers = self._runtime.compute(frame), 0, []
        for number, (call, payload) in enumerate(zip(batch.calls, batch.payloads, strict=True)):
            size = call_bytes(self._codec, kind=CallKind.FORWARD, rows=call.rows, numbers=self._width)
            answer = bytes(view[at : at + size])
            if self._lie is not None:
                answer = self._lied(batch.kind, payload, answer, call.rows)
            answers.append(None if number in done.malformed else memoryview(answer))
            at += payload.nbytes
        return hosting.BatchComputed(batch.number, done.version, tuple(answers))

    def _lied(self, kind: CallKind, payload: memoryview, answer: bytes, rows: int) -> bytes:
        part = len(answer)
        x_RW = self._rows(payload[:part], rows)
        return bytes(self._codec.encode(self._lie(kind, x_RW, self._rows(memoryview(answer), rows)).reshape(-1)))

    def _rows(self, data: memoryview, rows: int) -> Rows:
        numbers = np.empty((rows, self._width), np.float32)
        self._codec.decode_into(data, numbers.reshape(-1))
        return numbers
