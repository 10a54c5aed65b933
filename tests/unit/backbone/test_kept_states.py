"""Copies of the model in a charter."""

import json
import os
from itertools import pairwise
from pathlib import Path

import pytest

from core.backbone.kept_states import AGES, STATES, KeptStates
from core.base.content import chunk_digests, root_digest
from core.base.problems import RemoteProblem
from core.swarm.keeper import REST_MIN_S
from core.swarm.orders import Keep
from core.swarm.states import StateName
from core.system.file_chunks import file_chunks

MANIFEST = b"\xab" * 32
NOW = 2_000_000_000.0
NAMES = [StateName(epoch, bytes([epoch]) * 32) for epoch in range(5)]


def fetched(folder: Path, name: StateName, *, calls: StateName | None = None, manifest: bytes = MANIFEST) -> Keep:
    """A copy that was just fetched; with `calls` its file calls itself otherwise."""
    called = calls or name
    said = json.dumps({"epoch": called.epoch, "lineage": called.lineage.hex(), "manifest": manifest.hex()})
    head = json.dumps({"__metadata__": {"potluck": said}}).encode()
    path = folder / "fetched"
    path.write_bytes(len(head).to_bytes(8, "little") + head + bytes(600_000))
    return Keep(str(path), name, root_digest(chunk_digests(file_chunks(path))))


def test_newest_copy_is_given_again_after_a_restart(tmp_path: Path) -> None:
    kept = KeptStates(tmp_path, manifest=MANIFEST)
    assert kept.newest() is None
    copies = [fetched(tmp_path, name) for name in NAMES[1:2]]
    first = kept.keep(copies[0], NOW)
    found = KeptStates(tmp_path, manifest=MANIFEST).newest()
    assert found is not None
    assert (found.name, found.file.digest) == (NAMES[1], copies[0].digest) == (first.name, first.file.digest)
    assert found.file.read(0) == first.file.read(0)


def test_copy_of_an_earlier_epoch_counts_when_it_came_last(tmp_path: Path) -> None:
    """The collaboration has gone back to a branch with fewer steps."""
    kept = KeptStates(tmp_path, manifest=MANIFEST)
    for age_s, name in ((60, NAMES[4]), (0, NAMES[2])):
        kept.keep(fetched(tmp_path, name), NOW)
        for path in (tmp_path / STATES).glob(f"state-{name.epoch:08}-*"):
            os.utime(path, (NOW - age_s, NOW - age_s))
    newest = kept.newest()
    assert newest is not None
    assert newest.name == NAMES[2]


def test_damaged_copy_is_set_aside_for_the_one_before(tmp_path: Path) -> None:
    kept = KeptStates(tmp_path, manifest=MANIFEST)
    for name in NAMES[1:3]:
        kept.keep(fetched(tmp_path, name), NOW)
    (damaged,) = (tmp_path / STATES).glob("state-00000002-*")
    data = bytearray(damaged.read_bytes())
    data[-1] ^= 1
    written = damaged.stat()
    damaged.write_bytes(data)
    os.utime(damaged, (written.st_atime, written.st_mtime))
    newest = kept.newest()
    assert newest is not None
    assert newest.name == NAMES[1]
    assert any(".damaged-" in path.name for path in (tmp_path / STATES).iterdir())


@pytest.mark.parametrize(("calls", "manifest"), [(NAMES[3], MANIFEST), (None, b"\xcd" * 32)])
def test_file_that_calls_itself_otherwise_is_not_kept(tmp_path: Path, calls: StateName | None, manifest: bytes) -> None:
    kept = KeptStates(tmp_path, manifest=MANIFEST)
    with pytest.raises(RemoteProblem):
        kept.keep(fetched(tmp_path, NAMES[2], calls=calls, manifest=manifest), NOW)
    assert kept.newest() is None
    assert not (tmp_path / "fetched").exists()


@pytest.mark.parametrize("data", [b"", b"\xff" * 300, (300).to_bytes(8, "little") + b"{" * 300])
def test_file_that_is_no_state_is_not_kept(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "fetched"
    path.write_bytes(data)
    with pytest.raises(RemoteProblem):
        KeptStates(tmp_path, manifest=MANIFEST).keep(Keep(str(path), NAMES[2], bytes(32)), NOW)
    assert not path.exists()


def test_old_copies_stay_whatever_comes_later(tmp_path: Path) -> None:
    """Somebody gives false states for a week, one each half minute: something from before that time is still there."""
    kept = KeptStates(tmp_path, manifest=MANIFEST)
    began, step_s = NOW, 7 * 86_400 / 400
    for number in range(800):
        now = began + number * step_s
        kept.keep(fetched(tmp_path, StateName(number + 1, number.to_bytes(32, "big"))), now)
        for path in (tmp_path / STATES).glob(f"state-{number + 1:08}-*"):
            os.utime(path, (now, now))
    ages_s = sorted(now - path.stat().st_mtime for path in (tmp_path / STATES).iterdir())
    assert ages_s[0] == 0
    assert len(ages_s) <= 7
    assert ages_s[-1] >= 7 * 86_400, "of the first week"
    assert all(later <= AGES**2 * max(earlier, REST_MIN_S) for earlier, later in pairwise(ages_s))


def test_copy_that_came_last_is_the_newest_whatever_clocks_said(tmp_path: Path) -> None:
    kept = KeptStates(tmp_path, manifest=MANIFEST)
    kept.keep(fetched(tmp_path, NAMES[1]), NOW + 3600)
    for number in range(20):
        kept.keep(fetched(tmp_path, StateName(number + 2, number.to_bytes(32, "big"))), NOW + 30 * number)
        newest = kept.newest()
        assert newest is not None
        assert newest.name.epoch == number + 2
