"""A damaged charter of the embedded collaboration gets one clear sentence, and is kept aside."""

import asyncio
from pathlib import Path
from random import Random

import pytest

from core.backbone.charter import Charter
from core.base.problems import Problem
from core.engine.embedded import Embedded, EmbeddedOptions
from core.engine.limits.usage_policy import UsagePolicy
from core.storage.paths import Home
from core.storage.settings import Settings
from tests.process.swarm import found
from tests.process.test_bad_input import refused

pytestmark = pytest.mark.process


def charter_to_damage(home: Home, text: Path) -> Charter:
    """The charter of the embedded collaboration of a home."""
    text.mkdir()
    return found(home.directory / "embedded" / EmbeddedOptions(text=text).folder_name, target_samples=64)


def assert_set_aside(charter: Charter) -> None:
    (aside,) = charter.folder.parent.glob("charter.damaged-*")
    assert (aside / "blobs").is_dir()
    assert not charter.folder.exists(), "the next start founds anew"


def test_changed_charter_is_set_aside_and_founded_anew_next_start(tmp_path: Path) -> None:
    home, text = Home(tmp_path / "home"), tmp_path / "text"
    charter = charter_to_damage(home, text)
    content = charter.manifest_path.read_text()
    charter.manifest_path.write_text(content.replace('"target_samples": 64', '"target_samples": 65'))
    words = ["demo", "--headless", "--text", text, "--peers", 1, "--home", home.directory]
    said = refused(*words)
    assert "Start Potluck again to begin a new collaboration" in said
    assert "signature is wrong" in said
    assert_set_aside(charter)
    assert f"{text} holds no text files" in refused(*words)


@pytest.mark.parametrize("kind", ["garbage", "no manifest", "no key", "blob"])
def test_damaged_charter_is_set_aside(tmp_path: Path, kind: str) -> None:
    home, text = Home(tmp_path / "home"), tmp_path / "text"
    charter = charter_to_damage(home, text)
    match kind:
        case "garbage":
            charter.manifest_path.write_bytes(b"\xff{]")
        case "no manifest":
            charter.manifest_path.unlink()
        case "no key":
            (charter.folder / "authority.key").unlink()
        case "blob":
            next(charter.blobs.iterdir()).write_bytes(b"garbage")
    policy = UsagePolicy(Settings(), path=tmp_path / "usage.json", now=lambda: 0.0, alone=True)
    embedded = Embedded(home=home, options=EmbeddedOptions(text=text), random=Random(1), policy=policy)
    with pytest.raises(Problem) as told:
        asyncio.run(embedded.found())
    assert "Start Potluck again to begin a new collaboration" in told.value.hint
    assert_set_aside(charter)
