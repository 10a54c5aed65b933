"""One sample shown by its number, held against rows that are cut here, without reader and blocks."""

import hashlib
import json
from pathlib import Path
from random import Random

import msgspec
import numpy as np
import pytest

from core.backbone.charter import Charter
from core.cli.program import run
from core.engine.founding import Costs, Prepared, found
from core.reading.rows import open_cutter
from core.storage.recipes import DEFAULT_RECIPE, open_recipe
from core.tasks import module_of
from core.tasks.cutter import Row
from core.tasks.task import Blobs
from core.tasks.text import text_of
from core.text.order.documents import is_held_out
from core.text.sources.texts import documents_in
from tests.small_task import SMALL, text_folder


@pytest.fixture(scope="module", params=["albert", "gpt"])
def charter(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Charter:
    folder = tmp_path_factory.mktemp("organiser")
    text = text_folder(folder / "text", characters=60_000)
    recipe = msgspec.structs.replace(open_recipe(DEFAULT_RECIPE, text=text), task=request.param)
    made = module_of(request.param).prepare(
        {**SMALL[request.param]}, text_of(recipe.sources), folder / "made", progress=lambda *_: None
    )
    prepared = Prepared(
        numbers=made.numbers,
        blobs={name: str(path) for name, path in made.blobs.items()},
        notes=(),
        summary="",
        costs=Costs(parameters=1, activation_bytes=1, optimizer_bytes=1),
    )
    return found(recipe, prepared, folder / "charter")


def rows(charter: Charter) -> list[Row]:
    """All rows of source 0, shard 0: one block, whose four files' documents follow each other."""
    manifest = charter.manifest
    files = sorted(Path(manifest.sources[0].address).iterdir())
    documents = [one for path in files for one in documents_in(path.read_text())]
    place = b"".join(number.to_bytes(8, "big") for number in (0, 0, 0))
    seed = hashlib.blake2b(manifest.id + place, digest_size=32).digest()[:8]
    cutter = open_cutter(manifest, Blobs(charter.blobs, manifest.blobs))
    chance = Random(int.from_bytes(seed, "big"))
    return list(cutter.cut((one for one in documents if not is_held_out(one)), chance))


def test_a_sample_follows_from_its_number(charter: Charter, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = rows(charter)
    text = charter.manifest.sources[0].address
    files = [one for path in sorted(Path(text).iterdir()) for one in documents_in(path.read_text())]
    whole = "".join("".join(" ".join(one).split()).lower() for one in files if not is_held_out(one))
    for number in (0, len(wanted) // 2, len(wanted) - 1):
        words = ["--charter", str(charter.folder), "--sample", f"0/0/{number}", "--json"]
        assert run(["data", "inspect", text, *words]) == 0
        shown = json.loads(capsys.readouterr().out)
        assert shown["row"] == wanted[number].tolist()
        numbers = np.asarray(wanted[number], "<u4").tobytes()
        assert shown["digest"] == hashlib.blake2b(numbers, digest_size=32).hexdigest()
        assert len(shown["text"]) > 20
        assert "".join(shown["text"].replace("\ufffd", "").split()).lower() in whole


@pytest.mark.parametrize(
    ("sample", "says"),
    [
        ("0/0/9999999", "so none has the number 9,999,999"),
        ("0/9/0", "no shard 9"),
        ("5/0/0", "no source 5"),
        ("0/0", "is not the number of a sample"),
        ("0/0/-1", "is not the number of a sample"),
    ],
)
def test_numbers_that_name_no_sample_are_said(
    charter: Charter, sample: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = charter.manifest.sources[0].address
    assert run(["data", "inspect", text, "--charter", str(charter.folder), "--sample", sample]) == 2
    assert says in capsys.readouterr().err


def test_a_folder_that_was_not_named_is_not_read(charter: Charter, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["data", "inspect", "--charter", str(charter.folder), "--sample", "0/0/0"]) == 2
    assert "not a folder that you have named" in capsys.readouterr().err
