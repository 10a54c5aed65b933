import numpy as np

from core.base.content import CHUNK_BYTES, chunk_digests, root_digest
from core.swarm.words.states import StateName
from tests.sim.swarm.disk import Disk, MemoryFile, ModelState


def model(epoch: int) -> ModelState:
    return ModelState(
        StateName(epoch, bytes([epoch]) * 32), np.arange(5, dtype=np.float32), np.ones(5, dtype=np.float32)
    )


def test_a_model_survives_its_checkpoint() -> None:
    data = model(7).to_bytes(1000)
    back = ModelState.from_bytes(data, 5)
    assert back.name == model(7).name
    assert np.array_equal(back.parameters, model(7).parameters)
    assert np.array_equal(back.momentum, model(7).momentum)


def test_a_file_gives_its_chunks() -> None:
    data = bytes(range(256)) * 3000
    file = MemoryFile(data)
    assert len(file.chunks) == 3
    assert b"".join(file.read(index) for index in range(3)) == data
    assert root_digest(chunk_digests([file.read(index) for index in range(3)])) == file.digest
    assert file.size_bytes == len(data)
    assert len(file.read(0)) == CHUNK_BYTES


def test_a_disk_keeps_the_newest_two() -> None:
    disk = Disk()
    states = [disk.keep(model(epoch), 0) for epoch in range(4)]
    assert [state for state, _ in disk.checkpoints] == states[2:]


def test_a_broken_download_goes_on_and_another_begins_anew() -> None:
    disk = Disk()
    assert disk.begin(b"a" * 32, 6, [b"", b""]) == set()
    disk.write(1, memoryview(b"def"))
    assert disk.begin(b"a" * 32, 6, [b"", b""]) == {1}
    disk.write(0, memoryview(b"abc"))
    assert disk.fetched(disk.finish()) == b"abcdef"
    assert disk.begin(b"b" * 32, 6, [b"", b""]) == set()
