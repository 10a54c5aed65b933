"""Copies of the model in a charter."""

import errno
import json
import math
import os
import shutil
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from core.averaging.receipts.receipt import Deed
from core.backbone.kept_states import AGES, REFUSED, STATES, KeptStates
from core.base.content import chunk_digests, root_digest
from core.base.ids import PeerId
from core.base.problems import Damaged, RemoteProblem
from core.base.state_header import StateHeader, epoch_of
from core.ledger.ledger import Ledger
from core.swarm.words.orders import Keep, RoundRecord
from core.swarm.words.states import StateName
from core.system.file_chunks import file_chunks

MANIFEST = b"\xab" * 32
NAMES = [StateName(epoch, bytes([epoch]) * 32) for epoch in range(5)]


def fetched(
    folder: Path, name: StateName, *, calls: StateName | None = None, manifest: bytes = MANIFEST, ledger: bytes = b""
) -> Keep:
    """A copy that was just fetched; with `calls` its file calls itself otherwise."""
    called = calls or name
    header = StateHeader(epoch=called.epoch, lineage=called.lineage.hex(), manifest=manifest.hex(), ledger=ledger)
    said = msgspec.json.encode(header).decode()
    head = json.dumps({"__metadata__": {"potluck": said}}).encode()
    folder.mkdir(exist_ok=True)
    path = folder / "fetched"
    path.write_bytes(len(head).to_bytes(8, "little") + head + bytes(600_000))
    return Keep(str(path), name, root_digest(chunk_digests(file_chunks(path))))


def test_newest_copy_is_given_again_after_a_restart(tmp_path: Path) -> None:
    kept = KeptStates(tmp_path, manifest=MANIFEST)
    assert kept.newest() is None
    copies = [fetched(tmp_path, name) for name in NAMES[1:2]]
    first = kept.keep(copies[0])
    found = KeptStates(tmp_path, manifest=MANIFEST).newest()
    assert found is not None
    assert (found.name, found.file.digest) == (NAMES[1], copies[0].digest) == (first.name, first.file.digest)
    assert found.file.read(0) == first.file.read(0)


def test_copy_names_whom_its_ledger_credits_of_those_let_in(tmp_path: Path) -> None:
    ada, bob, ghost = PeerId(b"a" * 32), PeerId(b"b" * 32), PeerId(b"g" * 32)
    deeds = (Deed(ada, 4, 1, 0), Deed(bob, 0, 0, 9), Deed(ghost, 4, 1, 0))
    record = RoundRecord(NAMES[1], ((ada, 4), (bob, 0), (ghost, 4)), 1.0, (), 1.0, deeds=deeds)
    ledgers = Ledger().after(record, target_samples=4).to_bytes(), b"what nobody can read"
    for ledger, credited in zip(ledgers, ((ada,), ()), strict=True):
        kept = KeptStates(tmp_path, manifest=MANIFEST, admitted={ada, bob})
        assert kept.keep(fetched(tmp_path, NAMES[1], ledger=ledger)).credited == credited
        newest = kept.newest()
        assert newest is not None
        assert newest.credited == credited


def test_copy_of_an_earlier_epoch_counts_when_it_came_last(tmp_path: Path) -> None:
    """The collaboration has gone back to a branch with fewer steps."""
    kept = KeptStates(tmp_path, manifest=MANIFEST)
    for name in (NAMES[4], NAMES[2]):
        kept.keep(fetched(tmp_path, name))
    newest = kept.newest()
    assert newest is not None
    assert newest.name == NAMES[2]


def test_damaged_copy_is_set_aside_for_the_one_before(tmp_path: Path) -> None:
    kept = KeptStates(tmp_path, manifest=MANIFEST)
    for name in NAMES[1:3]:
        kept.keep(fetched(tmp_path, name))
    (damaged,) = (tmp_path / STATES).glob("*-state-00000002-*")
    data = bytearray(damaged.read_bytes())
    data[-1] ^= 1
    damaged.write_bytes(data)
    newest = kept.newest()
    assert newest is not None
    assert newest.name == NAMES[1]
    assert any(".damaged-" in path.name for path in (tmp_path / STATES).iterdir())


def test_copy_of_another_collaboration_is_offered_to_nobody(tmp_path: Path) -> None:
    """Somebody has put it into the folder."""
    kept, other = KeptStates(tmp_path, manifest=MANIFEST), KeptStates(tmp_path, manifest=b"\xcd" * 32)
    kept.keep(fetched(tmp_path, NAMES[1]))
    other.keep(fetched(tmp_path, NAMES[2], manifest=b"\xcd" * 32))
    newest = kept.newest()
    assert newest is not None
    assert newest.name == NAMES[1]
    assert other.newest() is not None, "it is left there"


@pytest.mark.parametrize(("calls", "manifest"), [(NAMES[3], MANIFEST), (None, b"\xcd" * 32)])
def test_file_that_calls_itself_otherwise_is_not_kept(tmp_path: Path, calls: StateName | None, manifest: bytes) -> None:
    kept = KeptStates(tmp_path, manifest=MANIFEST)
    with pytest.raises(RemoteProblem):
        kept.keep(fetched(tmp_path, NAMES[2], calls=calls, manifest=manifest))
    assert kept.newest() is None
    assert not (tmp_path / "fetched").exists()


@pytest.mark.parametrize("data", [b"", b"\xff" * 300, (300).to_bytes(8, "little") + b"{" * 300])
def test_file_that_is_no_state_is_not_kept(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "fetched"
    path.write_bytes(data)
    with pytest.raises(RemoteProblem):
        KeptStates(tmp_path, manifest=MANIFEST).keep(Keep(str(path), NAMES[2], bytes(32)))
    assert not path.exists()


def test_refused_copy_is_set_aside_and_counts_among_none(tmp_path: Path) -> None:
    kept = KeptStates(tmp_path, manifest=MANIFEST)
    kept.keep(fetched(tmp_path, NAMES[1]))
    for name in NAMES[2:4]:
        copy = fetched(tmp_path, name)
        assert kept.refuse(copy) == tmp_path / STATES / REFUSED
        assert not (tmp_path / "fetched").exists()
    newest = kept.newest()
    assert newest is not None
    assert newest.name == NAMES[1]
    assert len(list((tmp_path / STATES).iterdir())) == 2
    kept.keep(fetched(tmp_path, NAMES[4]))
    assert len(list((tmp_path / STATES).iterdir())) == 3, "it is not thinned either"


def test_unreadable_copy_leaves_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = KeptStates(tmp_path, manifest=MANIFEST)
    for name in NAMES[1:3]:
        kept.keep(fetched(tmp_path, name))
    readable = Path.open

    def with_bad_sectors(path: Path, *args: object, **kwargs: object) -> object:
        if "-state-00000002-" in path.name:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return readable(path, *args, **kwargs)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", with_bad_sectors)
    newest = kept.newest()
    assert newest is not None
    assert newest.name == NAMES[1]


def test_copy_that_cannot_be_read_again_costs_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = KeptStates(tmp_path, manifest=MANIFEST)
    for name in NAMES[1:4]:
        kept.keep(fetched(tmp_path, name))
    before = set((tmp_path / STATES).iterdir())
    bad = fetched(tmp_path, NAMES[4])
    with pytest.raises(Damaged):
        kept.keep(Keep(bad.location, bad.name, b"\xee" * 32))
    assert before < set((tmp_path / STATES).iterdir())


def test_old_copies_stay_whatever_comes_later(tmp_path: Path) -> None:
    """Somebody gives false states for a long time: something from before is still there."""
    kept, number = KeptStates(tmp_path, manifest=MANIFEST), 600
    for epoch in range(1, number + 1):
        kept.keep(fetched(tmp_path, StateName(epoch, epoch.to_bytes(32, "big"))))
        there = [int(path.name.partition("-")[0]) for path in sorted((tmp_path / STATES).iterdir())]
        ago = sorted(epoch - one for one in there)
        assert (ago[0], ago[-1]) == (0, epoch - 1), "the newest, and the first"
        assert len(ago) <= 2 + math.log(epoch, AGES)
        assert all(later <= AGES**2 * max(earlier, 1) for earlier, later in pairwise(ago))


def test_furthest_copy_stays_until_another_is_as_far(tmp_path: Path) -> None:
    """The model has gone back, perhaps by the fault of one who was alone with the backbone for a while."""
    kept = KeptStates(tmp_path, manifest=MANIFEST)
    came = [18, 90, 153, 189, *range(169, 189)]
    for count, epoch in enumerate(came, 1):
        kept.keep(fetched(tmp_path, StateName(epoch, epoch.to_bytes(32, "big"))))
        there = [epoch_of(path.name.partition("-")[2]) for path in (tmp_path / STATES).iterdir()]
        assert max(came[:count]) in there
        assert len(there) <= 2 * (2 + math.log(count, AGES))
    kept.keep(fetched(tmp_path, StateName(189, bytes(32))))
    assert min(path.name for path in (tmp_path / STATES).iterdir()).startswith("000001-")
    assert len([path for path in (tmp_path / STATES).iterdir() if "-00000189-" in path.name]) == 1


def test_moved_copies_keep_their_order(tmp_path: Path) -> None:
    """Times do not come along: the charter was copied, and the last copy first."""
    kept = KeptStates(tmp_path / "here", manifest=MANIFEST)
    for name in NAMES[1:4]:
        kept.keep(fetched(tmp_path, name))
    there = tmp_path / "there" / STATES
    there.mkdir(parents=True)
    for path in sorted((tmp_path / "here" / STATES).iterdir(), reverse=True):
        shutil.copyfile(path, there / path.name)
    newest = KeptStates(tmp_path / "there", manifest=MANIFEST).newest()
    assert newest is not None
    assert newest.name == NAMES[3]
