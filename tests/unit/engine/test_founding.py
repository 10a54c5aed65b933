"""What founding makes of a recipe's sources: indexes become blobs; what cannot be used is said before text is read."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from core.base.data_source import DataSource
from core.base.problems import BadInput
from core.engine.founding import Costs, Prepared, found, prepare
from core.storage.recipes import DEFAULT_RECIPE, open_recipe
from core.text.order.shard_index import ShardIndex

INDEX = ShardIndex(sizes=(10, 20), documents=(1, 2), characters=(5, 9), roots=b"r" * 64)
PREPARED = Prepared(
    numbers={}, blobs={}, notes=(), summary="", costs=Costs(parameters=1, activation_bytes=1, optimizer_bytes=1)
)


def recipe_file(folder: Path, *, index: str = "shards/index.potluck", more: str = "") -> Path:
    (folder / "shards").mkdir(exist_ok=True)
    (folder / "shards" / "index.potluck").write_bytes(INDEX.encode())
    text = DEFAULT_RECIPE.read_text().replace('text = "python-docs"', "")
    head, _, tables = text.partition("\n[")
    sources = f'[[data]]\naddress = "shards"\nindex = "{index}"\n{more}\n[[data]]\naddress = "python-docs"\n'
    path = folder / "my.toml"
    path.write_text(f"{head}\n{sources}\n[{tables}")
    return path


def preparing(path: Path, folder: Path) -> None:
    recipe = open_recipe(path)
    asyncio.run(prepare(recipe, folder / "out", called=path.name, stage=lambda *_: None))


def test_an_index_becomes_a_blob_of_the_manifest(tmp_path: Path) -> None:
    recipe = open_recipe(recipe_file(tmp_path))
    assert recipe.sources[0].index == str(tmp_path / "shards" / "index.potluck")
    assert recipe.sources[0].address == str(tmp_path / "shards")
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "blob").write_bytes(b"made")
    prepared = msgspec.structs.replace(PREPARED, blobs={"tokenizer": str(tmp_path / "made" / "blob")})
    charter = found(recipe, prepared, tmp_path / "charter")
    assert [source.index for source in charter.manifest.sources] == ["shards-0", ""]
    assert set(charter.manifest.blobs) == {"tokenizer", "shards-0"}
    kept = charter.blobs / charter.manifest.blobs["shards-0"]
    assert kept.read_bytes() == INDEX.encode()
    assert (tmp_path / "shards" / "index.potluck").exists()
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"index": "nowhere"}, "There is no index .*nowhere"),
        ({"index": "my.toml"}, "my.toml cannot be used"),
        (
            {"more": "filters = {characters_lest = 3}"},
            r"my.toml: \[data.filters\] of source 1: characters_lest",
        ),
        ({"more": 'filters = {language = "xx"}'}, "language must be one of"),
    ],
)
def test_what_cannot_be_used_is_said_first(tmp_path: Path, options: dict[str, str], says: str) -> None:
    with pytest.raises(BadInput, match=says):
        preparing(recipe_file(tmp_path, **options), tmp_path)
    assert not (tmp_path / "out" / "tokenizer.json").exists()


def test_a_tokenizers_file_is_seen_from_the_recipes_own(tmp_path: Path) -> None:
    path = recipe_file(tmp_path)
    text = path.read_text()
    assert open_recipe(path).tokenizer_named == "plain"
    path.write_text(f'tokenizer = "bengali"\n{text}')
    assert open_recipe(path).tokenizer_file == ""
    path.write_text(f'tokenizer = "mine.json"\n{text}')
    assert open_recipe(path).tokenizer_named == str(tmp_path / "mine.json")
    assert DataSource().index == ""
