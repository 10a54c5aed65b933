"""Where things are."""

import stat
from pathlib import Path

import platformdirs
import pytest

from core.storage.paths import Home


def test_home_is_found(monkeypatch, tmp_path):
    assert Home.find(tmp_path).directory == tmp_path
    monkeypatch.setenv("POTLUCK_HOME", str(tmp_path / "x"))
    assert Home.find().directory == tmp_path / "x"
    monkeypatch.delenv("POTLUCK_HOME")
    assert Home.find().directory == Path(platformdirs.user_data_dir("potluck", appauthor=False))


def test_home_is_private(tmp_path):
    home = Home.find(tmp_path / "home")
    home.create()
    home.create()
    assert stat.S_IMODE(home.directory.stat().st_mode) == 0o700


def test_places_are_inside(tmp_path):
    home = Home.find(tmp_path)
    digest = "0123456789abcdef" * 4
    assert home.state(digest) == tmp_path / "state" / "0123456789abcdef"
    for place in (
        home.engine_file,
        home.claim_file,
        home.settings_file,
        home.identity_file,
        home.logs,
        home.blobs,
        home.board(digest),
    ):
        assert place.is_relative_to(tmp_path)


@pytest.mark.parametrize("collaboration", ["", "abc", "../../../../etc/passwd", "ABCDEF0123456789"])
def test_only_digests_name_folders(tmp_path, collaboration):
    with pytest.raises(ValueError, match="hex digest"):
        Home.find(tmp_path).state(collaboration)
