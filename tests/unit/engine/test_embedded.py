"""Where embedded collaborations are kept, and what their engines are told."""

import asyncio
from itertools import combinations
from pathlib import Path
from random import Random
from types import SimpleNamespace

import msgspec
import pytest

import resources
from core.backbone import charter as charters
from core.backbone.support import FoundedEarlier
from core.base.manifest import Manifest, sign_manifest
from core.base.state_header import state_file_name
from core.cli.parsing.options import recipe_file
from core.cli.program import parser
from core.cli.volunteer.demo import engine_arguments
from core.engine.embedded import Embedded, EmbeddedOptions, hand_on, newest_epoch, volunteer_homes
from core.engine.founding import Costs, Prepared
from core.storage.paths import Home

RECIPES = [resources.file("recipes", f"{name}.toml") for name in resources.names("recipes")]
FIRST_WORDS, SMALL_GPT = (resources.file("recipes", f"{name}.toml") for name in ("first-words", "small-gpt"))


def test_each_collaboration_has_a_folder_of_its_own(tmp_path: Path) -> None:
    changed = tmp_path / "first-words.toml"
    changed.write_text(FIRST_WORDS.read_text() + "\n[averaging]\nround_timeout_s = 31.0\n")
    chosen = [
        EmbeddedOptions(text=text, delayed=delayed, recipe=recipe)
        for text in (None, Path("/a"), Path("/b"))
        for delayed in (False, True)
        for recipe in (
            FIRST_WORDS,
            SMALL_GPT,
            changed,
        )
    ]
    assert all(one.folder_name != other.folder_name for one, other in combinations(chosen, 2))


def test_a_folder_of_the_recipe_s_own_may_be_read(tmp_path: Path) -> None:
    recipe = tmp_path / "my.toml"
    recipe.write_text(SMALL_GPT.read_text().replace('"python-docs"', '"books"'))
    assert EmbeddedOptions(recipe=recipe).readable == tmp_path / "books"
    assert EmbeddedOptions(recipe=recipe, text=Path("/other")).readable == Path("/other")
    assert EmbeddedOptions().readable is None


def test_recipe_that_comes_along_may_be_named_as_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert recipe_file("small-gpt.toml") == recipe_file("small-gpt")
    (tmp_path / "small-gpt.toml").touch()
    assert recipe_file("small-gpt.toml") == tmp_path / "small-gpt.toml"


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_engine_of_a_demo_gets_every_option(recipe: Path, tmp_path: Path) -> None:
    options = EmbeddedOptions(peers=2, text=tmp_path, epochs=4, delayed=True, recipe=recipe)
    told = parser().parse_args(engine_arguments(Home(tmp_path / "home"), options))
    assert (told.peers, told.text, told.epochs, told.delayed) == (2, tmp_path, 4, True)
    assert recipe_file(told.recipe) == recipe
    assert told.embedded


def test_the_newest_epoch_is_read_from_the_names_of_checkpoints(tmp_path: Path) -> None:
    assert newest_epoch(tmp_path / "absent") == 0
    for name in (
        "state-00000003-0a0a0a0a.safetensors",
        "state-00000012-ffffffff.safetensors",
        "state-x.safetensors",
        "other",
    ):
        (tmp_path / name).touch()
    assert newest_epoch(tmp_path) == 12


def test_companions_go_on_from_their_owners_newest_checkpoint(tmp_path: Path) -> None:
    manifest = Manifest(name="n", organiser="o", task="albert", authority="ab" * 32)
    charter = SimpleNamespace(manifest=manifest)
    homes = [Home(tmp_path / str(place)) for place in range(4)]
    mine, new, behind, ahead = (home.state(manifest.id.hex()) / "states" for home in homes)
    names = {epoch: state_file_name(epoch, b"l" * 32, b"r" * 32) for epoch in (2, 6, 7, 9)}
    for states, epochs in ((mine, (6, 7)), (behind, (2,)), (ahead, (9,))):
        states.mkdir(parents=True)
        for epoch in epochs:
            (states / names[epoch]).write_bytes(b"of %d" % epoch)
    for _ in range(2):
        hand_on(charter, homes)
    assert newest_epoch(mine) == 7
    assert [path.name for path in new.iterdir()] == [names[7]]
    assert (new / names[7]).read_bytes() == b"of 7"
    assert {path.name for path in behind.iterdir()} == {names[2], names[7]}
    assert [path.name for path in ahead.iterdir()] == [names[9]]


def test_the_first_home_is_the_owner_s(tmp_path: Path) -> None:
    homes = volunteer_homes(Home(tmp_path), EmbeddedOptions(peers=3))
    assert homes[0] == Home(tmp_path)
    assert len({home.directory for home in homes}) == 3


def test_collaboration_of_an_earlier_version_is_set_aside(tmp_path: Path) -> None:
    options, told = EmbeddedOptions(), []
    folder = tmp_path / "embedded" / options.folder_name / "charter"
    authority = charters.new_authority()
    manifest = Manifest(name="n", organiser="o", task="albert", authority=authority.peer_id.hex())
    charters.found(folder, manifest, authority)
    earlier = msgspec.structs.replace(manifest, numbers={"source": "python-docs"})
    (folder / charters.MANIFEST).write_bytes(sign_manifest(earlier, authority))
    with pytest.raises(FoundedEarlier, match="potluck found"):
        charters.load_charter(folder)

    async def prepared(_work: object) -> Prepared:
        costs = Costs(parameters=1, activation_bytes=1, optimizer_bytes=8.0)
        return Prepared(numbers={}, blobs={}, notes=(), summary="", costs=costs)

    embedded = Embedded(
        home=Home(tmp_path), options=options, random=Random(1), policy=SimpleNamespace(while_allowed=prepared)
    )
    embedded.begun_again = told.append
    charter = asyncio.run(embedded.found())
    assert charter.manifest.numbers == {}
    (aside,) = told
    assert (aside / charters.AUTHORITY).read_bytes() == authority.seed
    asyncio.run(embedded.found())
    assert len(told) == 1
