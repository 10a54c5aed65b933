"""What the child of `potluck data` and `potluck tokenizer` does, called in this process."""

import json
import lzma
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

import msgspec
import pytest

from core.base.data_source import DataSource
from core.base.tasks import TOKENIZERS
from core.tasks.tokenizers.unigram import RECIPES, read_unigram
from core.text.order.shard_index import INDEX_FILE, read_index
from core.text.sources.cut_journal import JOURNAL_FILE
from core.text.sources.requests import CutRequest, DataRequest, InspectRequest, TokenizerRequest, VerifyRequest
from core.training.programs.data import main
from tests.small_task import text_folder

Asking = Callable[[DataRequest], dict[str, Any]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return text_folder(tmp_path_factory.mktemp("text"), characters=400_000)


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Asking:
    """The last line that the child says to a request."""

    def asking(asked: DataRequest) -> dict[str, Any]:
        main(["--asked", msgspec.json.encode(asked).decode()])
        lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert all(0 <= line["fraction"] <= 1 for line in lines if line["event"] == "progress")
        found: dict[str, Any] = lines[-1]
        return found

    return asking


def cutting(folder: Path, out: str, **fields: Any) -> CutRequest:
    usual: dict[str, Any] = {"ending": "jsonl", "shard_bytes": 60_000}
    return CutRequest(source=DataSource(address=str(folder)), out=out, **{**usual, **fields})


@pytest.fixture(params=["folder", "memory"])
def out(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "shards") if request.param == "folder" else f"memory://{uuid4().hex}"


def test_a_source_is_cut_and_verified_anywhere(folder: Path, out: str, ask: Asking) -> None:
    done = ask(cutting(folder, out))
    assert done["event"] == "cut"
    assert done["shards"] > 2
    assert ask(VerifyRequest(address=out)) == {
        "event": "verified",
        "address": out,
        "shards": done["shards"],
        "bytes": done["bytes"],
        "wrong": [],
    }
    again = ask(cutting(folder, out))
    assert again == {**done, "resumed": done["shards"]}


def test_shards_are_counted_as_their_index_lists_them(folder: Path, tmp_path: Path, ask: Asking) -> None:
    """The reader takes small files together, and cuts large ones: these are not the shards that somebody has cut."""
    out = tmp_path / "shards"
    done = ask(cutting(folder, str(out)))
    found = ask(InspectRequest(source=DataSource(address=str(out)), sample_bytes=1_000_000))
    files = len(list(out.glob("*.jsonl")))
    assert (found["shards"], found["bytes"], found["indexed"]) == (files, done["bytes"], True)


def test_wrong_shards_are_named_and_made_again(folder: Path, tmp_path: Path, ask: Asking) -> None:
    out = tmp_path / "shards"
    shards = ask(cutting(folder, str(out)))["shards"]
    data = {path.name: path.read_bytes() for path in out.iterdir()}
    (out / "00000.jsonl").unlink()
    flipped = bytearray(data["00001.jsonl"])
    flipped[len(flipped) // 2] ^= 1
    (out / "00001.jsonl").write_bytes(flipped)
    (out / "00002.jsonl").write_bytes(data["00002.jsonl"] + b"more")
    found = ask(VerifyRequest(address=str(out)))
    assert [(one["number"], one["missing"]) for one in found["wrong"]] == [(0, True), (1, False), (2, False)]
    assert found["shards"] == shards
    mended = ask(VerifyRequest(address=str(out), again=True))
    assert all(one["mended"] for one in mended["wrong"])
    assert {path.name: path.read_bytes() for path in out.iterdir()} == data


def test_index_of_shards_elsewhere_is_kept_here(folder: Path, out: str, tmp_path: Path, ask: Asking) -> None:
    copy = tmp_path / "shards.potluck"
    done = ask(cutting(folder, out, index_copy=str(copy)))
    assert done["index"] == str(copy)
    assert len(read_index(copy.read_bytes())) == done["shards"]
    assert ask(cutting(folder, out, index_copy=str(copy)))["resumed"] == done["shards"]
    copy.write_text("notes")
    assert "cannot be used" in ask(cutting(folder, out, index_copy=str(copy)))["message"]
    assert copy.read_text() == "notes"


def test_index_of_other_shards_is_not_replaced(folder: Path, out: str, tmp_path: Path, ask: Asking) -> None:
    copy, elsewhere = tmp_path / "shards.potluck", f"memory://{uuid4().hex}"
    ask(cutting(folder, out, index_copy=str(copy)))
    index = copy.read_bytes()
    assert "of other shards than those in" in ask(cutting(folder, elsewhere, index_copy=str(copy)))["message"]
    ask(cutting(folder, elsewhere, shard_bytes=100_000))
    refused = ask(cutting(folder, elsewhere, shard_bytes=100_000, index_copy=str(copy)))
    assert "of other shards than those in" in refused["message"]
    assert copy.read_bytes() == index
    mirrors = ("https://ada.org/texts",)
    assert ask(cutting(folder, out, index_copy=str(copy), mirrors=mirrors))["event"] == "cut"
    assert read_index(copy.read_bytes()) == msgspec.structs.replace(read_index(index), mirrors=mirrors)


def test_a_changed_source_mends_nothing(folder: Path, tmp_path: Path, ask: Asking) -> None:
    text, out = tmp_path / "text", tmp_path / "shards"
    text.mkdir()
    for path in folder.iterdir():
        (text / path.name).write_bytes(path.read_bytes())
    ask(cutting(text, str(out)))
    (out / "00001.jsonl").unlink()
    (text / "more.txt").write_text("another one")
    assert "not what it was" in ask(VerifyRequest(address=str(out), again=True))["message"]
    assert "of this one as it was" in ask(cutting(text, str(out)))["message"]
    (out / JOURNAL_FILE).unlink()
    assert "How these shards were cut is not known" in ask(VerifyRequest(address=str(out), again=True))["message"]


def test_what_cannot_be_cut_or_verified_is_said(folder: Path, tmp_path: Path, ask: Asking) -> None:
    assert "There is no index" in ask(VerifyRequest(address=str(folder)))["message"]
    assert "cannot be read" in ask(VerifyRequest(address=str(folder), index=str(tmp_path / "no")))["message"]
    (tmp_path / INDEX_FILE).write_bytes(b"no index")
    assert "index of shards cannot be used" in ask(VerifyRequest(address=str(tmp_path)))["message"]
    missing = ask(InspectRequest(source=DataSource(address=str(tmp_path / "no")), sample_bytes=1000))
    assert missing["event"] == "problem"


def test_columns_choose_what_is_cut(tmp_path: Path, ask: Asking) -> None:
    """S002's filters: pictures that are not unsafe, with captions of 3 characters at least, not too narrow."""
    rows = [("cat", "UNLIKELY", 2, 1), ("dog", "LIKELY", 1, 1), ("ox", "UNLIKELY", 1, 1), ("goat", "UNLIKELY", 3, 1)]
    (tmp_path / "text").mkdir()
    lines = [json.dumps({"text": text, "NSFW": nsfw, "W": w, "H": h}) for text, nsfw, w, h in rows]
    (tmp_path / "text" / "rows.jsonl").write_text("\n".join(lines))
    wanted = {"characters_least": 3, "is:NSFW": "UNLIKELY", "aspect_most": 2, "aspect_columns": "W,H"}
    source = DataSource(address=str(tmp_path / "text"), filters=wanted)
    done = ask(CutRequest(source=source, out=str(tmp_path / "cut"), ending="jsonl", shard_bytes=1000))
    assert (done["documents"], done["left_out"]) == (1, 3)
    assert (tmp_path / "cut" / "00000.jsonl").read_text() == '{"text":"cat"}\n'
    assert ask(InspectRequest(source=source, sample_bytes=1000))["kept_share"] == 0.25


def test_a_source_is_reckoned_from_a_sample(tmp_path: Path, ask: Asking) -> None:
    """Against what is there: half of the text is sampled, and the figures are those of all of it."""
    text = tmp_path / "text"
    text.mkdir()
    chance = Random(1)
    words = [bytes(chance.choices(range(97, 123), k=chance.randrange(2, 9))).decode() for _ in range(2000)]
    whole = ""
    for number in range(4):
        part = "\n\n".join(" ".join(chance.choices(words, k=200)) + "." for _ in range(1000))
        (text / f"{number}.txt").write_text(part)
        whole += part
    found = ask(InspectRequest(source=DataSource(address=str(text)), sample_bytes=2_000_000))
    assert found["bytes"] == len(whole)
    assert found["characters"] == pytest.approx(len(whole), rel=0.1)
    assert found["words"] == pytest.approx(len(whole.split()), rel=0.1)
    assert 0.9 < found["tokens"] / (found["words"] * found["tokenizer"]["tokens_per_word"]) < 1.1
    assert len(found["examples"]) == 3
    assert found["network"] is False
    assert found["kept_share"] == 1
    filtered = DataSource(address=str(text), filters={"language": "bn"}, licence="CC0")
    nothing = ask(InspectRequest(source=filtered, sample_bytes=100_000))
    assert (nothing["kept_share"], nothing["examples"], nothing["licence"]) == (0, [], "CC0")


def test_plain_files_have_no_more_text_than_bytes(tmp_path: Path, ask: Asking) -> None:
    random = Random(1)
    for name in ("a.txt", "b.txt"):
        paragraphs = ("a word " * random.randint(3, 12_000) for _ in range(40))
        (tmp_path / name).write_text("\n\n".join(paragraphs))
    found = ask(InspectRequest(source=DataSource(address=str(tmp_path)), sample_bytes=300_000))
    assert 0.8 * found["bytes"] < found["characters"] <= found["bytes"]


def test_a_tokenizer_is_trained_on_a_stream(folder: Path, tmp_path: Path, ask: Asking) -> None:
    out = tmp_path / "tokenizer.json"
    asked = TokenizerRequest(
        source=DataSource(address=str(folder)), out=str(out), recipe="albert", vocab_size=150, sample_bytes=200_000
    )
    done = ask(asked)
    assert done["event"] == "trained"
    assert done["report"]["vocab_size"] <= 150
    assert done["report"]["unknown_share"] < 0.01
    assert 100_000 < done["sample_characters"] < 260_000
    assert read_unigram(out.read_bytes()).get_vocab_size() == done["report"]["vocab_size"]
    assert "does not know the tokenizer" in ask(msgspec.structs.replace(asked, recipe="klingon"))["message"]


def test_names_of_tokenizers_are_those_of_recipes() -> None:
    assert tuple(RECIPES) == TOKENIZERS


def test_bengali_is_cut_into_readable_shards(tmp_path: Path, ask: Asking) -> None:
    path = Path(__file__).parents[4] / "shared" / "data" / "bengali_news" / "test_news.txt.xz"
    if not path.exists():
        pytest.skip("the Bengali news are not here")
    text, out = tmp_path / "text", tmp_path / "shards"
    text.mkdir()
    (text / "news.txt").write_bytes(lzma.decompress(path.read_bytes()))
    done = ask(cutting(text, str(out), ending="jsonl.zst", shard_bytes=100_000))
    index = read_index((out / INDEX_FILE).read_bytes())
    assert done["characters"] == sum(index.characters)
    mean = sum(index.characters[:-1]) / (len(index) - 1)
    assert all(abs(one / mean - 1) < 0.06 for one in index.characters[:-1])
    back = ask(InspectRequest(source=DataSource(address=str(out)), sample_bytes=1_000_000))
    assert back["characters"] == pytest.approx(done["characters"], rel=0.15)
