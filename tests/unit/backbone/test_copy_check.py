"""A copy of the model is checked in a process of its own, which may hang."""

import asyncio
import sys
from pathlib import Path

import pytest

from core.backbone import copy_check
from core.backbone.charter import Charter
from core.backbone.copy_check import FIRST_MEASURED, check_copy
from core.base.signing import KeyPair
from tests.unit.training.small import MANIFEST

HANGS = """
import json, time
print(json.dumps({"event": "progress", "text": "", "fraction": %s}), flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("measured", [True, False])
def test_check_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, measured: bool) -> None:
    """A computer that cannot even measure the first model in time holds nothing against the copy."""
    program = tmp_path / "hangs.py"
    program.write_text(HANGS % (FIRST_MEASURED if measured else 0.1))
    monkeypatch.setattr(copy_check, "own_command", lambda *_: [sys.executable, str(program)])
    monkeypatch.setattr(copy_check, "FIRST_MODEL_S", 3600.0 if measured else 1.0)
    charter = Charter(tmp_path, MANIFEST, KeyPair.generate())
    found = asyncio.run(asyncio.wait_for(check_copy(charter, tmp_path / "copy"), 60.0))
    assert (bool(found.fault), found.loss) == (measured, None)


def test_check_that_cannot_begin_ends_no_backbone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An update has moved the program, or the system gives no further process."""
    monkeypatch.setattr(copy_check, "own_command", lambda *_: [str(tmp_path / "gone")])
    found = asyncio.run(check_copy(Charter(tmp_path, MANIFEST, KeyPair.generate()), tmp_path / "copy"))
    assert (found.fault, found.loss) == ("", None)
