"""The table `[experts]`: its bounds in sentences, and its place in recipe and manifest."""

from typing import Any

import msgspec
import pytest

from core.base.allowed import read_fields
from core.base.manifest import Manifest, read_manifest, sign_manifest
from core.base.mixture import ExpertNumbers
from core.base.problems import BadInput
from core.base.recipe import read_recipe
from core.base.signing import Ed25519Verifier, KeyPair
from core.tasks.experts.blocks import new_expert

KEY = KeyPair(b"k" * 32)
WRONG: tuple[tuple[dict[str, Any], str], ...] = (
    ({"live": 17}, "live must be at most 16, the places of grid, not 17."),
    ({"live": 4, "spare": 1}, "top and spare must together be at most 4, the number live, not 5."),
    ({"width": 8192}, "width and factor must make experts of at most 512 MiB, not 6,145."),
    (
        {"live": 65_536, "grid": [256, 256, 2]},
        "all layers must have at most 16,384 rows of the last size, not 131,072.",
    ),
    ({"live": 1}, "[experts] live must be a whole number from 2 to 65,536, not 1."),
    (
        {"grid": [1, 16]},
        "[experts] grid must be a list of 1 to 3 items, each a whole number from 2 to 256, not [1, 16].",
    ),
    ({"grid": []}, "[experts] grid must be a list of 1 to 3 items"),
    ({"grid": [4, 4, 4, 4]}, "[experts] grid must be a list of 1 to 3 items"),
    ({"grid": 16}, "[experts] grid must be a list of 1 to 3 items"),
    ({"block": "convolution"}, "[experts] block must be one of ffn, not 'convolution'."),
    ({"codec": "q4"}, "[experts] codec must be one of fp16, raw, u8, not 'q4'."),
    ({"top": 9}, "[experts] top must be a whole number from 1 to 8, not 9."),
    ({"top": True}, "[experts] top must be a whole number from 1 to 8, not True."),
    ({"patience_s": float("nan")}, "[experts] patience_s must be a number from 0.1 to 120, not nan."),
    ({"balance": -0.1}, "[experts] balance must be a number from 0 to 1, not -0.1."),
    ({"owner_share": 0}, "[experts] owner_share must be a number above 0 and at most 1, not 0."),
    ({"flights": 513}, "[experts] flights must be a whole number from 1 to 512, not 513."),
    ({"hosts": 3}, "[experts] hosts is unknown."),
    ({"optimizer": {"name": "lamb"}}, "[experts] [optimizer] name must be one of adamw, sgd, not 'lamb'."),
    (
        {"optimizer": {"learning_rate": 0}},
        "[optimizer] learning_rate must be a number above 0 and at most 10",
    ),
    ({"optimizer": "sgd"}, "[experts] optimizer must be a table, not 'sgd'."),
)


def manifest(**changes: Any) -> Manifest:
    return Manifest(name="n", organiser="o", task="albert", authority=KEY.peer_id.hex(), **changes)


@pytest.mark.parametrize(("changes", "sentence"), WRONG)
def test_a_wrong_number_is_named_with_its_bound(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises((BadInput, ValueError)) as refused:
        read_fields({"live": 16, **changes}, ExpertNumbers, where="[experts] ")
    assert sentence in str(refused.value)


@pytest.mark.parametrize(("changes", "sentence"), WRONG)
def test_a_stranger_s_manifest_is_refused_alike(changes: dict[str, Any], sentence: str) -> None:
    text = msgspec.json.decode(sign_manifest(manifest(experts=ExpertNumbers(live=16)), KEY))
    text["manifest"]["experts"] |= changes
    with pytest.raises(BadInput, match="This is not a manifest"):
        read_manifest(msgspec.json.encode(text), Ed25519Verifier())


def test_a_manifest_says_nothing_of_experts_it_lacks() -> None:
    assert b"experts" not in manifest().canonical()
    assert manifest().mixture is None


def test_a_manifest_keeps_its_experts() -> None:
    made = manifest(experts=ExpertNumbers(live=12, grid=(4, 2, 2)))
    read = read_manifest(sign_manifest(made, KEY), Ed25519Verifier())
    assert read == made
    assert read.mixture == ExpertNumbers(live=12, grid=(4, 2, 2))


def test_sizes_follow_from_width_and_factor() -> None:
    numbers = ExpertNumbers(live=64, grid=(8, 8), width=128, owner_share=0.25)
    expert = new_expert("ffn", width=128, factor=4, seed=0)
    assert numbers.expert_numel == sum(parameter.numel() for parameter in expert.parameters())
    assert (numbers.expert_bytes, numbers.owner_most) == (4 * numbers.expert_numel, 16)
    assert ExpertNumbers(live=5, owner_share=0.01).owner_most == 1


def test_experts_are_refused_where_a_task_has_none() -> None:
    text = b'name = "n"\ntask = "gpt"\ntarget_samples = 8\n[optimizer]\nname = "sgd"\n[experts]\nlive = 16\n'
    with pytest.raises(BadInput, match=r"my\.toml: the task gpt has no layers of experts"):
        read_recipe(text, called="my.toml")
    with pytest.raises(BadInput, match=r"my\.toml: \[experts\] live must be at most 16"):
        read_recipe(text.replace(b"16", b"17"), called="my.toml")
    with pytest.raises(BadInput, match=r"my\.toml: experts must be a table"):
        read_recipe(
            text.replace(b"[experts]\nlive = 16\n", b"").replace(b"task", b"experts = 3\ntask"), called="my.toml"
        )
