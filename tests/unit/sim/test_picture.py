import importlib.util
import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from core.base.problems import BadInput
from tests.sim.picture import Chart, changes, check_name, draw, rates, save
from tests.sim.program import main as simulate

SMALL_DHT = ["dht", "--peers", "12", "--stores", "3", "--gets", "3", "--latency", "circle"]
SVG = "{http://www.w3.org/2000/svg}"


def test_a_picture_has_axes_units_and_one_line_a_chart() -> None:
    charts = [Chart("Live peers", "peers", [(0, 0), (50, 20), (100, 15)]), Chart("Nothing", "bytes/s", [])]
    picture = ET.fromstring(draw("A & B <one>", "below", charts))
    texts = [text.text for text in picture.iter(f"{SVG}text")]
    assert {"A & B <one>", "Live peers", "peers", "bytes/s", "simulated time, s", "20", "100"} <= set(texts)
    (line,) = picture.iter(f"{SVG}polyline")
    points = [tuple(map(float, point.split(","))) for point in line.attrib["points"].split()]
    assert [x for x, _ in points] == sorted(x for x, _ in points)
    assert points[0][1] == max(y for _, y in points)
    assert points[1][1] == min(y for _, y in points)


def test_growth_is_totals_per_second() -> None:
    assert rates([(0, 0), (10, 100), (20, 100)], bins=2) == [(0, 10), (10, 10), (10, 0), (20, 0)]
    assert rates([(0, 5)]) == []
    many = rates([(at / 10, 3 * at) for at in range(10_000)])
    assert len(many) <= 2 * 240 + 2
    assert all(abs(rate - 30) < 1e-6 for _, rate in many)


@pytest.mark.parametrize("name", ["picture.gif", "nowhere/picture.svg", "picture"])
def test_invalid_picture_name_is_refused_before_the_run(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput):
        check_name(tmp_path / name)


def test_the_command_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "dht.svg"
    assert simulate([*SMALL_DHT, "--json", "--picture", str(file)]) == 0
    assert json.loads(capsys.readouterr().out)["digest"] in file.read_text()
    assert len(list(ET.parse(file).getroot().iter(f"{SVG}polyline"))) == 3


def test_a_swarm_is_drawn_too_but_only_one(tmp_path: Path) -> None:
    file = tmp_path / "swarm.svg"
    assert simulate(["swarm", "--peers", "2", "--epochs", "1", "--json", "--picture", str(file)]) == 0
    assert "Newest epoch" in file.read_text()
    assert simulate(["swarm", "--seeds", "2", "--picture", str(file)]) == 2


@pytest.mark.skipif(importlib.util.find_spec("PySide6") is None, reason="needs Qt")
def test_png_needs_qt_and_says_so_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    save(tmp_path / "a.png", draw("title", "", [Chart("one", "s", [(0, 1), (1, 2)])]))
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    monkeypatch.setitem(__import__("sys").modules, "PySide6.QtSvg", None)
    with pytest.raises(BadInput, match="PySide6"):
        check_name(tmp_path / "a.png")


def test_a_line_that_stays_level_needs_two_points() -> None:
    assert changes([]) == []
    assert changes([(0, 1)]) == [(0, 1)]
    level = [(at, 3) for at in range(100)]
    assert changes([*level, (100, 4), (101, 4), (102, 4)]) == [(0, 3), (99, 3), (100, 4), (102, 4)]


def test_unwritable_picture_does_not_lose_the_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "folder.svg").mkdir()
    with pytest.raises(BadInput):
        check_name(tmp_path / "folder.svg")
    monkeypatch.setattr(Path, "write_text", _full)
    words = ["swarm", "--peers", "2", "--epochs", "1", "--picture", str(tmp_path / "a.svg")]
    assert simulate(words) == 2
    said = capsys.readouterr()
    assert "Digest" in said.out
    assert "No space left" in said.err


def _full(*_: object, **__: object) -> int:
    raise OSError(28, "No space left on device")
