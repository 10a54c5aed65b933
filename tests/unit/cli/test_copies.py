"""`potluck copies`."""

import json
from pathlib import Path

import msgspec
import pytest

from core.__main__ import main
from core.authority.changes import new_decisions, new_roles
from core.authority.roles import Moderator
from core.authority.view import proposal_id
from core.backbone import charter as charters
from core.backbone.charter import Charter, keep_document, read_charter_records
from core.backbone.kept_states import STATES, KeptStates, way_back
from core.net.clock import Clock
from tests.unit.backbone.test_kept_states import NAMES, fetched
from tests.unit.net.people import id_of, keys
from tests.unit.training.small import MANIFEST


@pytest.fixture
def charter(tmp_path: Path) -> Charter:
    """A collaboration with two copies of its model."""
    authority = charters.new_authority()
    manifest = msgspec.structs.replace(MANIFEST, task="gpt", authority=authority.peer_id.hex())
    made = charters.found(tmp_path / "charter", manifest, authority)
    kept = KeptStates(made.folder, manifest=manifest.id)
    kept.keep(fetched(tmp_path, NAMES[1], manifest=manifest.id), 3.25)
    kept.keep(fetched(tmp_path, NAMES[2], manifest=manifest.id))
    return made


def said(capsys: pytest.CaptureFixture[str], charter: Charter, *words: str) -> list[dict[str, object]]:
    assert main(["copies", "--charter", str(charter.folder), "--json", *words]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_copies_are_listed_with_what_is_known(charter: Charter, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = said(capsys, charter)
    assert (first["copy"], first["epoch"], first["loss"], first["chosen"]) == (1, 1, 3.25, False)
    assert (second["copy"], second["loss"]) == (2, None)
    (gone_back,) = said(capsys, charter, "--back-to", "1", "--words", "It was noise.")
    assert (gone_back["copy"], gone_back["epoch"], gone_back["done"]) == (1, 1, True)
    decisions = read_charter_records(charter).decisions
    assert decisions.words == "It was noise."
    assert decisions.back is not None
    KeptStates(charter.folder, manifest=charter.manifest.id).go_back(decisions.back)
    root = said(capsys, charter)[-1]
    assert (root["copy"], root["loss"], root["chosen"]) == (3, 3.25, True)
    assert main(["copies", "--charter", str(charter.folder)]) == 0
    assert "held-out loss 3.25, all went back to it" in capsys.readouterr().out


def test_going_back_for_a_long_reason_is_refused(charter: Charter, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["copies", "--charter", str(charter.folder), "--back-to", "1", "--words", "a" * 301]
    assert main(words) == 2
    assert "too long" in capsys.readouterr().err
    assert read_charter_records(charter).decisions.back is None


def test_charter_signs_the_way_back_to_a_copy_alone(charter: Charter, capsys: pytest.CaptureFixture[str]) -> None:
    records, now = read_charter_records(charter), Clock().now()
    founder = Moderator(charter.authority.peer_id, "the founder")
    three = [founder, *(Moderator(id_of(name), name) for name in ("ada", "ben"))]
    list_ = new_roles(records, charter.authority, now, moderators=three, threshold=2)
    keep_document(charter, records, records.seal.countersign(list_, keys("ada")))
    true = way_back(charter.folder / STATES, 1, charter.manifest.id)
    for back, code in ((msgspec.structs.replace(true, digest=bytes(32)), 2), (true, 0)):
        proposal = new_decisions(records, keys("ada"), now, back=back)
        keep_document(charter, records, proposal)
        assert main(["moderate", "sign", proposal_id(proposal), "--charter", str(charter.folder)]) == code
        assert ("does not come from any copy" in capsys.readouterr().err) is (code == 2)
    assert read_charter_records(charter).decisions.back == true
