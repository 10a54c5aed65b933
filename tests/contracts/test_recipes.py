"""What every recipe that comes along must be, and that each wrong value in one is a sentence that names it."""

import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

import resources
from core.backbone.support import check_averaging
from core.base.problems import BadInput
from core.base.recipe import Recipe, in_epochs, read_recipe
from core.storage.recipes import folder_name, open_recipe
from core.training.programs.checks import checked_recipe

FILES = {name: resources.file("recipes", f"{name}.toml") for name in resources.names("recipes")}
TABLES = ("", "model", "optimizer", "averaging")
NUMBERS = [
    (name, table, key)
    for name, path in FILES.items()
    for table in TABLES
    for raw in [tomllib.loads(path.read_text())]
    for key, value in (raw.get(table, {}) if table else raw).items()
    if isinstance(value, int | float) and not isinstance(value, bool)
]
LOCAL = """
[rule]
name = "local"
steps = 8
[rule.optimizer]
name = "adamw"
warmup_samples = 0
"""


def changed(name: str, table: str, key: str, value: object) -> str:
    """A recipe that comes along with one value changed."""
    title, lines = "", []
    for line in FILES[name].read_text().splitlines():
        title = line.partition("]")[0][1:] if line.startswith("[") else title
        same = title == table and line.partition("=")[0].strip() == key
        lines.append(f"{key} = {value}" if same else line)
    return "\n".join(lines) + "\n"


def refusal(text: str) -> str:
    with pytest.raises(BadInput) as refused:
        checked_recipe(read_recipe(text.encode(), called="my.toml"), called="my.toml")
    return str(refused.value)


@pytest.mark.parametrize("name", FILES)
def test_a_recipe_that_comes_along_can_be_founded(name: str) -> None:
    recipe = open_recipe(FILES[name])
    found = checked_recipe(recipe, called=name)
    assert found.module.costs(found.numbers, recipe.mixture).parameters > 0
    check_averaging(recipe.averaging)
    lines = FILES[name].read_text().splitlines()
    assert len(lines) <= 60
    assert any("#" in line for line in lines)


def test_the_large_recipes_overlap_and_send_parts() -> None:
    sizes = {}
    for name, path in FILES.items():
        recipe = open_recipe(path)
        found = checked_recipe(recipe, called=name)
        sizes[name] = found.module.costs(found.numbers, recipe.mixture).parameters
        large = sizes[name] > 10_000_000
        assert (recipe.averaging.delayed is True, recipe.averaging.partial is True) == (large, large), name
    assert sizes["sahajbert"] == 18_105_474
    assert {"first-words", "small-gpt", "albert-base", "albert-large", "sahajbert"} <= set(FILES)


@pytest.mark.parametrize("name", ["albert-base", "albert-large", "sahajbert"])
def test_large_recipes_have_the_numbers_of_the_runs(name: str) -> None:
    recipe = open_recipe(FILES[name])
    optimizer, averaging = recipe.epochs_optimizer, recipe.averaging
    names = ("learning_rate", "warmup_epochs", "warmup_start", "total_epochs", "debias")
    assert [optimizer[name] for name in names] == [0.00176, 5000, 0.0, 1_000_000, "outside"]
    assert (averaging.codec, averaging.gather_timeout_s, averaging.round_timeout_s) == ("fp16", 5.0, 120.0)
    assert (recipe.target_samples, recipe.model["sequence_length"], recipe.model["init"]) == (4096, 512, "paper")
    assert not any("spread" in key for key in recipe.model)
    assert recipe.tokenizer_named == ("bengali" if name == "sahajbert" else "albert")


def test_sahajbert_has_the_text_of_the_run() -> None:
    recipe = open_recipe(FILES["sahajbert"])
    assert (recipe.target_samples, recipe.model["sequence_length"], recipe.model["vocab_size"]) == (4096, 512, 32_000)
    assert [source.share for source in recipe.sources] == [0.23, 0.77]
    assert all(source.licence and source.credit and source.host for source in recipe.sources)


@pytest.mark.parametrize(("name", "table", "key"), NUMBERS)
@pytest.mark.parametrize("value", [-1, 10**17, '"many"'])
def test_a_number_out_of_bounds_is_a_sentence(name: str, table: str, key: str, value: object) -> None:
    said = refusal(changed(name, table, key, value))
    where = f"my.toml: [{table}] {key}" if table else f"my.toml: {key}"
    assert said.startswith(where)
    assert " must be " in said
    assert re.search(r"from|above|at most|below|to", said)
    assert said.count("\n") == 0


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            'task = "gpt"',
            'task = "chess"',
            "my.toml: task must be one of albert, gpt, gpt-experts, digits, not 'chess'.",
        ),
        ('task = "gpt"', "", "my.toml: task is missing."),
        ("[model]", "[models]", "my.toml: models is unknown. Allowed are: name, "),
        ("layers = 2", "layer = 2", "my.toml: [model] layer is unknown. Allowed are: "),
        ("layers = 2", 'source = "/etc"', "my.toml: [model] source is unknown."),
        ('name = "adamw"', 'name = "adam"', "my.toml: [optimizer] name must be one of lamb"),
        ('name = "adamw"', "", "my.toml: [optimizer] name must be one of lamb"),
        (
            "warmup_samples = 2_560",
            "warmup_epochs = 5",
            "my.toml: [optimizer] warmup_epochs is unknown. Schedules count",
        ),
        ("warmup_samples = 2_560", "warm_samples = 5", "my.toml: [optimizer] warm_samples is unknown. Allowed are: "),
        ("total_samples = 64_000_000", "total_samples = 0", "my.toml: [optimizer] total_samples / target_samples must"),
        ("beta2 = 0.98", "beta2 = nan", "my.toml: [optimizer] beta2 must be a finite number, not nan."),
        ("evaluate_every = 5", "evaluate_every = true", "my.toml: evaluate_every must be a whole number from 1"),
        ("[optimizer]", "[averaging]\ncodec = 3\n[optimizer]", "my.toml: [averaging] codec must be a text"),
        ("[optimizer]", "[averaging]\npace = 1\n[optimizer]", "my.toml: [averaging] pace is unknown."),
        ("[optimizer]", "[optimizer", "my.toml is not a TOML file: "),
        ("[model]", "[model]]", "my.toml is not a TOML file: "),
        ("[model]", '[rule]\nname = "votes"\n[model]', "my.toml: [rule] name must be one of gradients, local"),
        ("[model]", LOCAL.replace("= 8", "= 0") + "[model]", "my.toml: [rule] steps must be a whole number from 1"),
        ("[model]", LOCAL.replace('"adamw"', '"x"') + "[model]", "my.toml: [rule.optimizer] name must be one of"),
        ("[model]", LOCAL.replace("= 0", "= -1") + "[model]", "my.toml: [rule.optimizer] warmup_samples must be"),
        ("[model]", LOCAL + "[averaging]\ndelayed = true\n[model]", "my.toml: [rule] Local steps cannot go on"),
    ],
)
def test_what_is_wrong_is_named_with_what_would_be_right(old: str, new: str, said: str) -> None:
    assert refusal(FILES["small-gpt"].read_text().replace(old, new)).startswith(said)


def test_sizes_that_make_no_model_are_refused() -> None:
    said = refusal(changed("first-words", "model", "heads", 3))
    assert said.startswith("my.toml: [model] The sizes make no model: hidden_size must be a multiple of heads")
    assert "hidden_size is 128, heads 3, embedding_size 128" in said


@pytest.mark.parametrize(
    ("lines", "aggregator", "share"),
    [
        ("", {"name": "centered_clip"}, 0.02),
        ('trust = "strangers"\n[averaging]\nweight_share = 0.1', {"name": "centered_clip"}, 0.1),
        ('[averaging]\naggregator = {name = "trimmed_mean", trim = 0.1}', {"name": "trimmed_mean", "trim": 0.1}, 0.25),
        ('trust = "friends"', {"name": "mean"}, 0.25),
        ('[averaging]\ncodec = "topk"', {"name": "mean"}, 0.25),
    ],
)
def test_aggregator_follows_from_trust(lines: str, aggregator: dict[str, Any], share: float) -> None:
    text = FILES["small-gpt"].read_text().partition("[model]")[0] + lines + "\n[optimizer]\nname = 'sgd'\n"
    averaging = read_recipe(text.encode(), called="my.toml").trusted_averaging
    assert {"name": averaging.aggregator_name, **averaging.aggregator_numbers} == aggregator
    assert averaging.weight_share_max == share
    check_averaging(averaging)


def test_a_schedule_in_samples_becomes_epochs_by_the_target() -> None:
    given = {"name": "x", "warmup_samples": 1000, "total_samples": 10_000, "beta1": 0.9}
    assert in_epochs(given, 100) == {"name": "x", "warmup_epochs": 10, "total_epochs": 100, "beta1": 0.9}
    assert [in_epochs({"a_samples": samples}, 100)["a_epochs"] for samples in (0, 1, 149, 150)] == [0, 1, 1, 2]
    text = FILES["small-gpt"].read_text().replace("[model]", LOCAL + "[model]")
    rule: Any = read_recipe(text.replace("= 0", "= 5120").encode(), called="my.toml").epochs_rule
    assert rule["optimizer"] == {"name": "adamw", "warmup_epochs": 10}


def test_a_text_is_seen_from_the_recipe(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text(FILES["small-gpt"].read_text().replace('"python-docs"', '"books"'))
    assert open_recipe(path).sources[0].path == str(tmp_path / "books")
    assert open_recipe(path, text=Path("/other")).sources[0].path == "/other"
    with pytest.raises(BadInput, match="There is no file"):
        open_recipe(tmp_path / "absent.toml")
    path.write_bytes(b"#" * 70_000)
    with pytest.raises(BadInput, match="too large for a recipe"):
        open_recipe(path)
    path.write_bytes(b"\xff")
    with pytest.raises(BadInput, match=r"my\.toml is not a TOML file"):
        open_recipe(path)


def test_a_folder_is_another_one_with_any_other_number() -> None:
    recipe = open_recipe(FILES["small-gpt"])
    other: Recipe = msgspec.structs.replace(recipe, target_samples=513)
    assert folder_name(FILES["small-gpt"], recipe) != folder_name(FILES["small-gpt"], other)
    assert folder_name(Path("é.toml"), recipe).startswith("--")
