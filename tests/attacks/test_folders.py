"""An organiser names a folder of the volunteers' computers in the place of texts."""

from pathlib import Path

import pytest

from core.base.data_source import DataSource
from core.base.problems import BadInput
from core.text.sources import folder
from core.text.sources.opening import open_source
from core.text.sources.source import Access

SECRET = "My diary of these days, which is nobody's business."


def read(address: str, named: Path) -> str:
    source = open_source(DataSource(address=address), Access(folder=named))
    shards = range(len(source.listing().shards))
    return "".join(text for shard in shards for piece in source.read(shard) for text in piece.texts)


@pytest.mark.parametrize("address", ["..", ".", "{tmp}/notes", "{tmp}/texts/../notes"])
def test_no_folder_is_read_that_nobody_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    for place in ("texts", "notes/new"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "a.txt").write_text(SECRET)
    monkeypatch.chdir(tmp_path / "notes/new")
    written = address.format(tmp=tmp_path)
    with pytest.raises(BadInput, match=r"that you have named|is not the whole path"):
        read(written, tmp_path / "texts")
    monkeypatch.setattr(folder, "named_path", lambda address, _: Path(address))
    assert SECRET in read(written, tmp_path / "texts"), "where nobody asks what the person has named"
