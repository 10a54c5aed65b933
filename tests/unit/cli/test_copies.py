"""`potluck copies`."""

import asyncio
import json
from pathlib import Path

import msgspec
import pytest

from core.__main__ import main
from core.backbone import charter as charters
from core.backbone import kept_states
from core.backbone.charter import Charter
from core.backbone.kept_states import KeptStates, changing_copies
from tests.unit.backbone.test_kept_states import NAMES, fetched
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
    (gone_back,) = said(capsys, charter, "--back-to", "1")
    assert (gone_back["copy"], gone_back["epoch"], gone_back["backbone_runs"]) == (3, 1, False)
    root = said(capsys, charter)[-1]
    assert (root["copy"], root["loss"], root["chosen"], root["followed"]) == (3, 3.25, True, False)
    assert main(["copies", "--charter", str(charter.folder)]) == 0
    assert "held-out loss 3.25, all are to go back to it" in capsys.readouterr().out


def test_command_changes_no_copies_while_a_backbone_does(
    charter: Charter, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(kept_states, "LOCK_S", 0.1)

    async def run() -> int:
        async with changing_copies(charter.folder):
            return await asyncio.to_thread(main, ["copies", "--charter", str(charter.folder), "--back-to", "1"])

    assert asyncio.run(run()) == 2
    assert "Another program changes the copies" in capsys.readouterr().err
