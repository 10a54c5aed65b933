"""What a reader is told of the disk: its part, and the folders of other collaborations that count as well."""

from types import SimpleNamespace

import pytest

from core.base.data_source import DataSource
from core.engine.text.data_access import DataRoom
from core.engine.text.data_desk import DataDesk, OriginOnly
from core.net.limits.pace import Pace
from core.storage.paths import Home
from core.storage.settings import Settings

GIGABYTE = 10**9


def access(home, *, index="", near=False):
    preferences = SimpleNamespace(settings=Settings(disk_gigabytes=6))
    installation = SimpleNamespace(options=SimpleNamespace(text=None, home=home), preferences=preferences)
    manifest = SimpleNamespace(sources=(DataSource(address="https://texts.org/a", index=index),))
    desk = DataDesk(Pace(now=lambda: 0.0), OriginOnly())
    return DataRoom(installation, manifest, desk, home.state("a" * 64) / "blocks", near=near).access()


@pytest.mark.parametrize(("index", "gigabytes"), [("", 6), ("shards", 3)])
def test_all_collaborations_have_one_disk(tmp_path, index, gigabytes):
    home = Home(tmp_path)
    for letter in "abc":
        (home.state(letter * 64) / "blocks").mkdir(parents=True)
    told = access(home, index=index)
    assert told.disk_bytes == gigabytes * GIGABYTE
    others = {str(home.state(letter * 64) / "blocks") for letter in "bc"}
    assert set(told.spare_dirs) == (others if index else others | {str(tmp_path / "shards")})


def test_reader_is_told_whether_text_may_lie_nearby(tmp_path):
    assert access(Home(tmp_path), near=True).near
    assert not access(Home(tmp_path)).near
