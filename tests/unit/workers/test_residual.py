"""Residuals that outlive the process."""

import errno
import itertools
import os
import random
import signal
import subprocess
import sys
import tracemalloc
import zlib
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from core.averaging.feedback import RESIDUAL_CODEC, Carry, MemoryStore
from core.base.problems import NoSpace, UserProblem
from core.codecs.registry import codec_of
from core.kept import residual
from core.kept.residual import ResidualFile, ResidualShape

SHAPE = ResidualShape(manifest=bytes(range(32)), codec="q4", numel=1000, chunk_numel=256)


def payload(chunk: int, value: float) -> memoryview:
    numel = min(256, 1000 - 256 * chunk)
    return RESIDUAL_CODEC.encode(np.full(numel, value, dtype=np.float32))


def values(file: ResidualFile) -> list[float]:
    """One number a chunk, all of whose numbers are the same."""
    found = []
    for chunk in range(SHAPE.chunks):
        data = file.read(chunk)
        assert data is not None
        numbers = np.empty(len(data) // 2, dtype=np.float32)
        RESIDUAL_CODEC.decode_into(data, numbers)
        assert np.all(numbers == numbers[0])
        found.append(float(numbers[0]))
    return found


def write_all(file: ResidualFile, value: float, *, commit: bool = True) -> None:
    draft = file.begin()
    for chunk in range(SHAPE.chunks):
        file.write(draft, chunk, payload(chunk, value))
    if commit:
        file.commit(draft, [])


def test_it_begins_at_zero_and_belongs_to_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "state" / "residuals"
    file = ResidualFile(path, SHAPE)
    assert values(file) == [0.0] * 4
    assert file.set_aside is None
    file.close()
    if os.name == "posix":
        assert path.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == ["residuals"]


def test_committed_residuals_survive_and_drafts_do_not(tmp_path: Path) -> None:
    path = tmp_path / "residuals"
    file = ResidualFile(path, SHAPE)
    write_all(file, 2.0)
    draft = file.begin()
    file.write(draft, 1, payload(1, 3.0))
    file.commit(draft, [0, 2, 3])
    write_all(file, 9.0, commit=False)
    assert values(file) == [2.0, 3.0, 2.0, 2.0]
    file.close()
    again = ResidualFile(path, SHAPE)
    assert values(again) == [2.0, 3.0, 2.0, 2.0]
    assert again.number == file.number
    again.close()


def test_a_void_draft_changes_nothing(tmp_path: Path) -> None:
    file = ResidualFile(tmp_path / "residuals", SHAPE)
    old = file.begin()
    new = file.begin()
    for chunk in range(4):
        file.write(new, chunk, payload(chunk, 1.0))
    file.write(old, 2, payload(2, 5.0))
    file.commit(old, [0, 1, 3])
    assert values(file) == [0.0] * 4
    file.commit(new, [])
    file.commit(new, [])
    assert values(file) == [1.0] * 4
    file.close()


@pytest.mark.parametrize("other", ["numel", "codec", "manifest", "chunk_numel"])
def test_residuals_of_anything_else_are_set_aside(tmp_path: Path, other: str) -> None:
    path = tmp_path / "residuals"
    file = ResidualFile(path, SHAPE)
    write_all(file, 2.0)
    file.close()
    changes: dict[str, Any] = {"numel": 999, "codec": "u8", "manifest": bytes(32), "chunk_numel": 300}
    words = {name: getattr(SHAPE, name) for name in changes} | {other: changes[other]}
    before = path.read_bytes()
    again = ResidualFile(path, ResidualShape(**words))
    assert again.set_aside is not None
    assert again.set_aside.read_bytes() == before
    data = again.read(0)
    assert data is not None
    assert not any(data)
    again.close()


def test_any_bit_that_flips_in_what_counts_is_noticed(tmp_path: Path) -> None:
    """Or does not matter: then the residuals are those of before."""
    path = tmp_path / "residuals"
    file = ResidualFile(path, SHAPE)
    write_all(file, 1.0)
    write_all(file, 2.0)
    file.close()
    whole = path.read_bytes()
    chance = random.Random(3)
    noticed = 0
    for _ in range(150):
        place = chance.choice([chance.randrange(len(whole)), chance.randrange(80), 512 + chance.randrange(80)])
        torn = bytearray(whole)
        torn[place] ^= 1 << chance.randrange(8)
        path.write_bytes(torn)
        again = ResidualFile(path, SHAPE)
        if again.set_aside is None:
            assert values(again) in ([2.0] * 4, [1.0] * 4)
        else:
            noticed += 1
            assert values(again) == [0.0] * 4
            again.set_aside.unlink()
        again.close()
    assert 20 < noticed < 130
    path.write_bytes(whole[:-1])
    again = ResidualFile(path, SHAPE)
    assert again.set_aside is not None
    again.close()


def test_a_full_disk_says_so_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class FullDisk(FileIO):
        def write(self, data: Any) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(residual, "FileIO", FullDisk)
    with pytest.raises(NoSpace):
        ResidualFile(tmp_path / "residuals", SHAPE)
    assert not list(tmp_path.iterdir())


def test_unopenable_file_gets_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "residuals").mkdir()
    with pytest.raises(UserProblem):
        ResidualFile(tmp_path / "residuals", SHAPE)


def test_later_disk_failure_zeroes_residuals_without_raising(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Fragile(FileIO):
        failed = False

        def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
            if self.failed:
                raise OSError(errno.EIO, "Input/output error")
            return super().seek(offset, whence)

    monkeypatch.setattr(residual, "FileIO", Fragile)
    path = tmp_path / "residuals"
    file = ResidualFile(path, SHAPE)
    write_all(file, 2.0)
    monkeypatch.setattr(Fragile, "failed", True)
    draft = file.begin()
    file.write(draft, 0, payload(0, 3.0))
    assert file.read(1) is None
    file.commit(draft, [1, 2, 3])
    file.close()
    monkeypatch.setattr(Fragile, "failed", False)
    again = ResidualFile(path, SHAPE)
    assert values(again) == [2.0] * 4
    again.close()


class AgainstMemory(RuleBasedStateMachine):
    """The file does what the store in memory does, closed and opened at any time; a closing ends its draft."""

    folder: Path
    numbers = itertools.count()

    @initialize()
    def begin_both(self) -> None:
        self.path = self.folder / f"residuals-{next(self.numbers)}"
        self.file, self.memory = ResidualFile(self.path, SHAPE), MemoryStore()
        self.drafts = (self.file.begin(), self.memory.begin())
        self.written: set[int] = set()

    @rule()
    def draft(self) -> None:
        self.drafts = (self.file.begin(), self.memory.begin())
        self.written = set()

    @rule(chunk=st.integers(0, 3), value=st.integers(-9, 9))
    def write(self, chunk: int, value: int) -> None:
        self.file.write(self.drafts[0], chunk, payload(chunk, value))
        self.memory.write(self.drafts[1], chunk, payload(chunk, value))
        self.written.add(chunk)

    @rule(also=st.sets(st.integers(0, 3)))
    def commit(self, also: set[int]) -> None:
        kept = ({0, 1, 2, 3} - self.written) | also
        self.file.commit(self.drafts[0], kept)
        self.memory.commit(self.drafts[1], kept)

    @rule()
    def reopen(self) -> None:
        self.file.close()
        self.file = ResidualFile(self.path, SHAPE)
        assert self.file.set_aside is None
        self.draft()

    @invariant()
    def equal(self) -> None:
        if hasattr(self, "file"):
            for chunk in range(4):
                data = self.file.read(chunk)
                assert data is not None
                assert bytes(data) == bytes(self.memory.read(chunk) or bytes(len(data)))

    def teardown(self) -> None:
        if hasattr(self, "file"):
            self.file.close()


def test_it_is_as_good_as_memory(tmp_path: Path) -> None:
    machine = type("M", (AgainstMemory,), {"folder": tmp_path})
    test = machine.TestCase
    test.settings = settings(max_examples=30, stateful_step_count=30, deadline=None)
    test().runTest()


WRITER = """
import sys
import tracemalloc
from io import FileIO
from pathlib import Path
from tests.unit.workers.test_residual import SHAPE, write_all
from core.kept import residual
from core.kept.residual import ResidualFile
file = ResidualFile(Path(sys.argv[1]), SHAPE)
number = file.number
while True:
    number += 1
    write_all(file, float(number % 251))
    print(number, flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_kill_at_any_time_leaves_old_or_new_residuals(tmp_path: Path) -> None:
    path = tmp_path / "residuals"
    chance = random.Random(5)
    last = 0
    for _ in range(6):
        process = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(chance.randrange(3, 60))]
        process.send_signal(signal.SIGKILL)
        said = int((lines + process.stdout.read().splitlines())[-1])
        process.stdout.close()
        process.wait()
        file = ResidualFile(path, SHAPE)
        assert file.set_aside is None
        assert file.number in (said, said + 1)
        assert values(file) == [float(file.number % 251)] * 4
        assert file.number > last
        last = file.number
        file.close()


def test_a_carry_goes_on_where_the_file_left_off(tmp_path: Path) -> None:
    """A member that is restarted between rounds sends what one that was not sends."""
    path, codec = tmp_path / "residuals", codec_of("q4")
    gradients = np.random.default_rng(4).standard_normal((6, 1000), dtype=np.float32)
    memory, sums = MemoryStore(), []
    for store_of in (lambda: memory, lambda: ResidualFile(path, SHAPE)):
        total = 0
        for number, gradient in enumerate(gradients):
            store = store_of()
            carry = Carry(codec, store, samples=3 + number)
            for chunk in range(4):
                part = carry.part(chunk, gradient[256 * chunk : 256 * (chunk + 1)], 256 * chunk)
                total = zlib.crc32(part, total)
            if number != 3:  # a round that fails
                carry.commit([True] * 4)
            if isinstance(store, ResidualFile):
                store.close()
        sums.append(total)
    assert sums[0] == sums[1]


def test_a_round_takes_memory_for_some_chunks_only(tmp_path: Path) -> None:
    shape = ResidualShape(manifest=bytes(32), codec="q4", numel=2_000_000, chunk_numel=65_536)
    file = ResidualFile(tmp_path / "residuals", shape)
    gradient = np.random.default_rng(1).standard_normal(shape.numel, dtype=np.float32)
    codec = codec_of("q4")
    for _ in range(2):  # the second time there are residuals, and all tables are made
        tracemalloc.start()
        carry = Carry(codec, file, samples=9)
        for chunk in range(shape.chunks):
            start = chunk * shape.chunk_numel
            carry.part(chunk, gradient[start : start + shape.chunk_numel], start)
        carry.commit([True] * shape.chunks)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert most < 8 * 4 * shape.chunk_numel
    file.close()
