"""`potluck found --go-on`: what it takes over, and what it refuses; in `tests/process` the model is checked, too."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from safetensors.torch import load_file

from core.__main__ import main
from core.authority.changes import new_decisions
from core.backbone.admission_log import AdmissionLog
from core.backbone.charter import AUTHORITY as AUTHORITY_KEY
from core.backbone.charter import RECORDS, load_charter
from core.backbone.copy_check import CopyCheck
from core.backbone.derived_root import derive_root
from core.backbone.kept_pass import records_of
from core.backbone.kept_states import STATES, kept_copies, losses_of
from core.backbone.link import Link
from core.base.content import chunk_digests, digest, root_digest
from core.base.data_source import MEMBERS, DataSource
from core.base.ids import PeerId
from core.base.manifest import PREDECESSOR, Manifest, sign_manifest
from core.base.state_header import HEADER_BYTES_MAX, ORIGIN_BYTES, StateHeader, header_of, state_file_name
from core.cli.organiser import go_on
from core.engine.remembered.collaborations import Collaborations
from core.ledger.board import Board
from core.ledger.ledger import Ledger, LedgerRow
from core.storage.paths import Home
from core.text.order.shard_index import ShardIndex
from tests.unit.authority.people import founders
from tests.unit.cli.test_model import AUTHORITY, named
from tests.unit.training.small import learner

ADA, ADAS_OTHER, BOB, EVE, BACKBONE = (PeerId(digest(bytes([number]))) for number in range(5))
NAMED = {ADA: "Ada", ADAS_OTHER: "Ada", BOB: "Bob", EVE: "Eve", BACKBONE: "Backbone"}
LEDGER = Ledger(
    {key: LedgerRow(samples=0 if key == BACKBONE else 100, epochs=1, reduced=5) for key in NAMED}
).to_bytes()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    async def checked(*_: Any) -> CopyCheck:
        return CopyCheck(loss=2.5)

    monkeypatch.setattr(go_on, "check_copy", checked)
    monkeypatch.chdir(tmp_path)
    return Home(tmp_path / "home")


def took_part(home: Home, manifest: Manifest, *, epochs: int = 2) -> Path:
    """What a volunteer keeps of a collaboration; returns its folder."""
    folder = home.state(manifest.id.hex())
    folder.mkdir(parents=True)
    home.blobs.mkdir(exist_ok=True)
    (folder / "manifest.json").write_bytes(sign_manifest(manifest, AUTHORITY))
    made = learner(folder / "states", manifest=manifest)
    for epoch in range(1, epochs + 1):
        assert made.accumulate()
        lineage = digest(bytes([epoch]))[:-ORIGIN_BYTES] + manifest.id[-ORIGIN_BYTES:]
        made.absorb(made.hand_over(), epoch=epoch, lineage=lineage, ledger=LEDGER)
        assert made.state.saved.path.exists()
    board = Board(home.board(manifest.id.hex()), target_samples=100)
    board.named(NAMED)
    board.save()
    return folder


def going_on(home: Home, *words: str) -> int:
    return main(["--home", str(home.directory), "found", "--go-on", *words])


def header_at(path: Path) -> StateHeader:
    return header_of(path.read_bytes()[:HEADER_BYTES_MAX])


def test_newest_state_begins_the_collaboration_that_goes_on(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    old = named("Books")
    source = max((took_part(home, old) / "states").glob("state-*"))
    assert going_on(home, "Books", "--charter", "new", "--organiser", "Bob", "--host", "192.168.1.7", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["goes_on_from"], said["epoch"], bool(said["link"])) == (old.id.hex(), 2, True)
    charter = load_charter(Path("new"))
    made = charter.manifest
    same = msgspec.structs.replace(made, name=old.name, organiser=old.organiser, blobs={}, authority=old.authority)
    assert (same, made.name, made.organiser) == (old, "Books (2)", "Bob")
    assert (made.predecessor, (charter.blobs / made.blobs[PREDECESSOR]).read_bytes()) == (old.id.hex(), old.canonical())
    (copy,) = kept_copies(charter.folder / STATES)
    one, other = load_file(source), load_file(copy.path)
    assert one.keys() == other.keys()
    assert all(one[name].equal(other[name]) for name in one)
    before, after = header_at(source), header_at(copy.path)
    assert (after.epoch, after.ledger, after.manifest) == (2, LEDGER, made.id.hex())
    assert (after.ancestors, after.means, before.ancestors != "") == ("", "", True)
    assert bytes.fromhex(after.lineage).endswith(made.id[-ORIGIN_BYTES:])
    assert after.lineage[:16] not in {before.lineage[:16], made.id.hex()[:16]}
    assert losses_of(charter.folder / STATES) == {1: 2.5}


def test_who_gave_keeps_name_and_computers(home: Home) -> None:
    old = named("Books")
    (took_part(home, old) / RECORDS).write_bytes(founders(1, EVE, by=AUTHORITY, manifest_id=old.id))
    assert going_on(home, "Books", "--charter", "new") == 0
    log = AdmissionLog(Path("new"))
    assert {key: one.name for key, one in log.admitted.items()} == {ADA: "Ada", ADAS_OTHER: "Ada", BOB: "Bob"}
    accounts = {key: one.account for key, one in log.admitted.items()}
    assert (bool(accounts[ADA]), bool(accounts[ADAS_OTHER])) in {(True, False), (False, True)}


def test_charter_goes_on_from_its_newest_copy(home: Home) -> None:
    took_part(home, named("Books"))
    assert going_on(home, "Books", "--charter", "new") == 0
    assert going_on(Home(Path("empty")), "new", "--charter", "newer") == 0
    second, third = load_charter(Path("new")).manifest, load_charter(Path("newer")).manifest
    assert (third.name, third.predecessor) == ("Books (3)", second.id.hex())
    assert [copy.epoch for copy in kept_copies(Path("newer") / STATES)] == [2]


def test_members_see_from_where_it_goes_on(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    old = named("Books")
    took_part(home, old)
    assert going_on(home, "Books", "--charter", "new") == 0
    charter, joined = load_charter(Path("new")), Collaborations(home)
    joined.keep(Link("127.0.0.1", 7, charter.manifest.id, "s" * 32), charter.manifest_path.read_bytes())
    for line in (f"goes on from {old.id.hex()[:16]}", "goes on from Books\n"):
        capsys.readouterr()
        assert main(["--home", str(home.directory), "collaborations"]) == 0
        assert line in capsys.readouterr().out
        joined.keep(Link("127.0.0.1", 7, old.id, "s" * 32))


def test_undone_states_are_not_gone_on_from(home: Home) -> None:
    """All have gone back to the first state, and the second one, which is further, lies here as well."""
    old = named("Books")
    folder = took_part(home, old)
    first = min((folder / "states").glob("state-00000001-*"))
    back = derive_root(first, folder / "root", b"anothers")
    (folder / "root").rename(folder / "states" / state_file_name(back.epoch, back.root, back.digest))
    records = records_of(old)
    records.take(new_decisions(records, AUTHORITY, 1.0, back=back), 0.0)
    (folder / RECORDS).write_bytes(records.to_bytes())
    assert going_on(home, "Books", "--charter", "new") == 0
    assert [copy.epoch for copy in kept_copies(Path("new") / STATES)] == [1]


def test_shards_come_from_here_and_from_a_named_folder(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    shards = [b"one", b"two"]
    roots = [root_digest(chunk_digests([shard])) for shard in shards]
    index = ShardIndex(sizes=(3, 3), documents=(1, 1), characters=(1, 1), roots=b"".join(roots))
    listed = index.encode()
    source = DataSource(address=MEMBERS, index="shards-0")
    old = msgspec.structs.replace(named("Books"), data=(source,), blobs={"shards-0": digest(listed).hex()})
    took_part(home, old)
    (home.blobs / digest(listed).hex()).write_bytes(listed)
    (home.directory / "shards").mkdir()
    (home.directory / "shards" / roots[0].hex()).write_bytes(b"one")
    assert going_on(home, "Books", "--charter", "new") == 2
    assert "lies in 2 shards, 1 of which are not on this computer" in capsys.readouterr().err
    Path("brought").mkdir()
    (Path("brought") / index.shard(1).name).write_bytes(b"tow")
    assert going_on(home, "Books", "--charter", "new", "--shards", "brought") == 2
    (Path("brought") / index.shard(1).name).write_bytes(b"two")
    assert going_on(home, "Books", "--charter", "new", "--shards", "brought") == 0
    assert [(Path("new") / "shards" / "0" / index.shard(at).name).read_bytes() for at in (0, 1)] == shards


def _no_model(folder: Path) -> None:
    for path in (folder / "states").iterdir():
        path.unlink()


def _damage_models(folder: Path) -> None:
    for path in (folder / "states").iterdir():
        path.write_bytes(path.read_bytes()[:-9] + bytes(9))


def _damage_records(folder: Path) -> None:
    (folder / RECORDS).write_bytes(b"[" * 99)


def _take_place(folder: Path) -> None:
    (folder.parents[2] / "new").mkdir()
    (folder.parents[2] / "new" / AUTHORITY_KEY).write_bytes(b"precious")


@pytest.mark.parametrize(
    ("changes", "spoil", "words", "said"),
    [
        ({}, lambda _: None, ("Poems",), "no collaboration called 'Poems'"),
        ({}, _no_model, ("Books",), "There is no model of Books on this computer yet"),
        ({}, _damage_models, ("Books",), "are damaged"),
        ({}, _damage_records, ("Books",), "is damaged"),
        ({}, _take_place, ("Books",), "is there already; nothing in it was changed"),
        ({"data": (DataSource(address="/nowhere/texts"),)}, lambda _: None, ("Books",), "lies in /nowhere/texts"),
        ({"blobs": {"tokenizer.json": "ab" * 32}}, lambda _: None, ("Books",), "Files of Books are missing or damaged"),
        ({}, lambda _: None, ("Books", "--name", "x" * 81), "What was said cannot be used"),
        ({}, lambda _: None, ("Books", "small-gpt"), "Leave the others out"),
    ],
)
def test_what_cannot_be_gone_on_from_is_told(
    home: Home,
    capsys: pytest.CaptureFixture[str],
    changes: dict[str, object],
    spoil: Callable[[Path], None],
    words: tuple[str, ...],
    said: str,
) -> None:
    spoil(took_part(home, msgspec.structs.replace(named("Books"), **changes)))
    there = sorted(Path().rglob("*"))
    assert going_on(home, *words, "--charter", "new") == 2
    assert said in capsys.readouterr().err
    assert sorted(Path().rglob("*")) == there, "nothing is left of it"


def test_model_that_fails_its_check_is_not_gone_on_from(
    home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def fails(*_: Any) -> CopyCheck:
        return CopyCheck("It is worse than the first model.")

    monkeypatch.setattr(go_on, "check_copy", fails)
    took_part(home, named("Books"))
    assert going_on(home, "Books", "--charter", "new") == 2
    assert "It is worse than the first model." in capsys.readouterr().err
    assert not Path("new").exists()


@pytest.mark.parametrize(
    ("name", "then"), [("Books", "Books (2)"), ("Books (9)", "Books (10)"), ("Since 1900", "Since 1900 (2)")]
)
def test_name_that_goes_on_counts_up(name: str, then: str) -> None:
    assert go_on.next_name(name) == then
    assert len(go_on.next_name("x" * 80)) == 80
