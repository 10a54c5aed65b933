from pathlib import Path
from uuid import uuid4

import pytest

from core.base.problems import BadInput, UserProblem
from core.text.sources.cut_folder import CutFolder


@pytest.fixture(params=["folder", "memory"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "shards") if request.param == "folder" else f"memory://{uuid4().hex}/shards"


def test_files_are_kept_and_read(address: str) -> None:
    store = CutFolder(address)
    assert store.read("a", 10) is None
    store.write("a", b"first")
    store.write("a", b"second")
    assert CutFolder(address).read("a", 10) == b"second"
    assert store.read("a", 3) == b"sec"
    assert store.read("b", 10) is None


def test_an_unknown_kind_of_address_is_said() -> None:
    with pytest.raises(BadInput, match="cannot be used"):
        CutFolder("gopher://shards")


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UserProblem, match="file"):
        CutFolder(str(tmp_path / "file")).write("a", b"x")
