"""Settings of a person, kept in a file."""

import json
from random import Random

import pytest

from core.api.modes import OFF
from core.base.problems import UserProblem
from core.storage.settings import PORT_FIRST, PORT_LAST, Settings, load_settings, save_settings


def test_defaults_without_a_file(tmp_path):
    read = load_settings(tmp_path / "settings.json")
    assert read.settings == Settings()
    assert read.notice is None


def test_round_trip(tmp_path):
    path = tmp_path / "settings.json"
    settings = Settings(name="Ada's laptop", computing=OFF, threads=2, relay=False, upload_bytes_s=1e5).with_port(
        Random(1)
    )
    save_settings(path, settings)
    assert load_settings(path).settings == settings


def test_fields_of_another_version_do_no_harm(tmp_path):
    path = tmp_path / "settings.json"
    path.write_text(json.dumps({"name": "x", "from_the_future": [1]}))
    assert load_settings(path).settings == Settings(name="x")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b'{"port": 70000}',
        b'{"threads": -1}',
        b'{"month_bytes": 0}',
        b'{"name": 5}',
        b'{"hours": "noon"}',
        b" " * 100_000,
    ],
)
def test_a_damaged_file_is_kept_aside(tmp_path, content):
    path = tmp_path / "settings.json"
    path.write_bytes(content)
    read = load_settings(path)
    assert read.settings == Settings(computing=OFF)
    assert "pauses" in str(read.notice)
    (aside,) = tmp_path.glob("settings.json.damaged-*")
    assert aside.name in str(read.notice)
    assert aside.read_bytes() == content
    assert load_settings(path).settings == Settings(computing=OFF), "also when nobody has saved meanwhile"


def test_the_copy_counts_when_the_file_is_damaged(tmp_path):
    path = tmp_path / "settings.json"
    settings = Settings(computing=OFF, upload_bytes_s=250_000.0, port=25_968)
    save_settings(path, settings)
    path.write_bytes(path.read_bytes()[:-20])
    read = load_settings(path)
    assert read.settings == settings
    assert "copy" in str(read.notice)
    assert load_settings(path).settings == settings, "also when nobody has saved meanwhile"
    path.write_bytes(b"{")
    path.with_suffix(".copy.json").write_bytes(b"{")
    assert load_settings(path).settings == Settings(computing=OFF)


def test_what_a_newer_version_wrote_survives(tmp_path):
    path = tmp_path / "settings.json"
    path.write_text(json.dumps({"name": "x", "from_the_future": [1]}))
    save_settings(path, Settings(name="y"))
    assert json.loads(path.read_text())["from_the_future"] == [1]
    assert load_settings(path).settings == Settings(name="y")


def test_an_unreadable_place_gets_a_sentence(tmp_path):
    with pytest.raises(UserProblem):
        load_settings(tmp_path)


def test_the_port_is_drawn_once():
    settings = Settings().with_port(Random(3))
    assert PORT_FIRST <= settings.port <= PORT_LAST
    assert settings.with_port(Random(4)) is settings
