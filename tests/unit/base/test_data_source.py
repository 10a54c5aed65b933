import math
import re

import msgspec
import pytest

from core.base.data_source import MEMBERS, DataSource
from core.base.manifest import Manifest, read_manifest, sign_manifest
from core.base.problems import BadInput
from core.base.recipe import read_recipe
from core.base.signing import Ed25519Verifier, KeyPair

KEY = KeyPair(b"k" * 32)
HEAD = 'name = "n"\ntask = "albert"\ntarget_samples = 64\n[optimizer]\nname = "adamw"\n'


@pytest.mark.parametrize(
    ("address", "path", "host"),
    [
        ("python-docs", "", ""),
        ("/texts/bn", "/texts/bn", ""),
        ("C:\\texts", "C:\\texts", ""),
        ("https://example.org:8443/a/*.jsonl.gz", "", "example.org"),
        ("http://[::1]:8000/text.txt", "", "::1"),
        ("s3://corpus/bn/", "", "corpus"),
        ("hf://datasets/wikimedia/wikipedia", "", "huggingface.co"),
    ],
)
def test_address_names_a_folder_or_a_host(address: str, path: str, host: str) -> None:
    found = DataSource(address=address)
    assert (found.path, found.host) == (path, host)


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("file:///etc/passwd", "may begin with"),
        ("memory://x", "may begin with"),
        ("simplecache::https://example.org/a", "may begin with|cannot be read"),
        ("https://example.org/a.zip::file:///etc", "cannot be read"),
        ("https://ada:secret@example.org/a", "must not hold a name or a password"),
        ("https://", "cannot be read"),
        ("https://example.org:99999/a", "cannot be read"),
        ("https://exa mple.org/a", "cannot be read"),
        ("https://example.org/a\nb", "cannot be read"),
        ("hf://models/ada/poems", "hub is written"),
        ("hf://datasets/ada/poems/tree/main", "hub is written"),
    ],
)
def test_address_that_no_reader_may_use_is_refused(address: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        DataSource(address=address)
    with pytest.raises(msgspec.ValidationError, match=words):
        msgspec.json.decode(msgspec.json.encode({"address": address}), type=DataSource)


@pytest.mark.parametrize("change", [{"share": math.inf}, {"share": math.nan}, {"filters": {"least": math.nan}}])
def test_numbers_that_are_not_finite_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="finite"):
        DataSource(**change)


def test_manifest_with_sources_is_read_as_it_was_signed() -> None:
    sources = (
        DataSource(address="https://example.org/a.txt", share=0.23, filters={"least": 3, "language": "bn"}),
        DataSource(licence="PSF", credit="Python"),
    )
    made = Manifest(name="n", organiser="o", task="albert", data=sources, authority=KEY.peer_id.hex())
    read = read_manifest(sign_manifest(made, KEY), Ed25519Verifier())
    assert read == made
    assert read.sources == sources
    assert read.id == made.id


def test_manifest_without_sources_learns_from_the_documentation() -> None:
    made = Manifest(name="n", organiser="o", task="albert", authority=KEY.peer_id.hex())
    assert made.sources == (DataSource(),)
    assert b'"data"' not in made.canonical()


def test_manifest_with_a_forbidden_address_is_no_manifest() -> None:
    made = Manifest(name="n", organiser="o", task="t", data=(DataSource(licence="L"),), authority=KEY.peer_id.hex())
    forged = sign_manifest(made, KEY).replace(b'"licence": "L"', b'"address": "file:///etc/passwd"')
    with pytest.raises(BadInput, match="may begin with"):
        read_manifest(forged, Ed25519Verifier())


def recipe(tables: str, head: str = "") -> tuple[DataSource, ...]:
    return read_recipe((head + HEAD + tables).encode(), called="my.toml").sources


def test_recipe_names_one_source_or_several() -> None:
    assert recipe("") == (DataSource(),)
    assert recipe("", head='text = "books"\n') == (DataSource(address="books"),)
    found = recipe('[[data]]\naddress = "a"\nshare = 1\n[[data]]\naddress = "b"\n[data.filters]\nleast = 5\n')
    assert found == (DataSource(address="a"), DataSource(address="b", filters={"least": 5}))


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ("[data]\naddress = 'a'\n", r"data must be tables.*\[\[data\]\]"),
        ("[[data]]\nadress = 'a'\n", r"\[\[data\]\] 1: adress is unknown.*address"),
        ("[[data]]\nshare = 1\n", r"\[\[data\]\] 1: address is missing"),
        ("[[data]]\naddress = 'a'\n[[data]]\naddress = 'b'\nshare = -1\n", r"\[\[data\]\] 2: share must be a number"),
        ("[[data]]\naddress = 'a'\nshare = inf\n", "finite|share must be"),
        ("[[data]]\naddress = 'a'\nfom = 'csv'\n", r"\[\[data\]\] 1: fom is unknown"),
        ("[[data]]\naddress = 'a'\nform = 'pdf'\n", "form must be one of auto, csv"),
        ("[[data]]\naddress = 'file:///etc/passwd'\n", r"\[\[data\]\] 1: An address may begin with"),
        ("[[data]]\naddress = 'a'\nfilters = 3\n", "filters must be a table"),
        ("".join("[[data]]\naddress = 'a'\n" for _ in range(17)), "17 tables"),
    ],
)
def test_wrong_source_in_a_recipe_is_a_sentence(tables: str, words: str) -> None:
    with pytest.raises(BadInput) as caught:
        recipe(tables)
    assert str(caught.value).startswith("my.toml: ")
    assert re.search(words, str(caught.value)), str(caught.value)


def test_text_beside_sources_is_refused() -> None:
    with pytest.raises(BadInput, match="twice"):
        recipe("[[data]]\naddress = 'a'\n", head='text = "books"\n')


@pytest.mark.parametrize(
    "address", ["https://...", "https://texts.invalid/x", "http://a..b/", "https://files.example/"]
)
def test_recipe_refuses_an_address_that_no_server_has(address: str) -> None:
    """What `data cut` used to print as a placeholder, and names that are reserved for examples."""
    recipe = f'name = "a"\ntask = "gpt"\ntarget_samples = 1\n[[data]]\naddress = "{address}"\n[optimizer]\n'
    with pytest.raises(BadInput, match=r"my\.toml: \[\[data\]\] 1: No server can be called"):
        read_recipe(recipe.encode(), called="my.toml")


def test_manifests_with_such_an_address_still_open() -> None:
    assert DataSource(address="https://texts.invalid/x", index="shards-0").host == "texts.invalid"


def test_index_alone_names_shards_that_members_give() -> None:
    recipe = b'name = "a"\ntask = "gpt"\ntarget_samples = 1\n[[data]]\nindex = "shards/i"\n[optimizer]\n'
    (source,) = read_recipe(recipe, called="my.toml").sources
    assert (source.address, source.path, source.host) == (MEMBERS, "", "")
    with pytest.raises(ValueError, match="Without an index"):
        DataSource(address=MEMBERS)
