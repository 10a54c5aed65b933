"""What `potluck data` and `potluck tokenizer` understand, say and refuse; one run of each through the real child."""

import gzip
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.base.problems import BadInput
from core.cli.organiser import data_commands
from core.cli.program import parser, run
from core.text.sources.requests import CutRequest
from tests.small_task import text_folder
from tests.web_server import Site, web_server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "text").mkdir()
    return text_folder(tmp_path / "text", characters=60_000)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["inspect", "/no/such/folder"], "no folder or file /no/such/folder"),
        (["inspect", "gopher://a/b"], "may begin with"),
        (["inspect", "https://me:secret@example.org/a"], "must not hold a name or a password"),
        (["cut", "python-docs", "--out", "x", "--mirror", "ftp://example.org"], "--mirror: An address may begin with"),
        (["inspect", "hf://models/a"], "hf://datasets/OWNER/NAME"),
        (["inspect", "python-docs", "--filter", "characters_least"], "has no value"),
        (["inspect", "python-docs", "--filter", "characters_lest=3"], "characters_lest is unknown"),
        (["inspect", "python-docs", "--filter", "language=klingon"], "language must be"),
        (["inspect", "python-docs", "--line", "fast"], "is not a valid amount"),
        (["inspect", "python-docs", "--column", "x" * 300], "column must be a text of at most 200 letters"),
        (["verify", "/no/such/folder"], "There is no folder /no/such/folder"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["data", *words]) == 2
    assert says in capsys.readouterr().err


def test_filters_are_read_as_numbers_words_and_truths() -> None:
    args = parser().parse_args(
        ["data", "inspect", "python-docs", *(f"--filter={one}" for one in ("words_least=3", "language=bn", "is:n=1.5"))]
    )
    assert data_commands.source_of(args).filters == {"words_least": 3, "language": "bn", "is:n": 1.5}
    assert data_commands.read_filter("no_duplicates=true") == ("no_duplicates", True)
    assert data_commands.read_filter("is:kind=[1]") == ("is:kind", "[1]")
    with pytest.raises(BadInput, match="no value"):
        data_commands.read_filter("x")


def test_text_is_cut_verified_and_inspected(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "shards"
    assert run(["data", "cut", str(folder), "--out", str(out), "--gzip", "--json"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert done["event"] == "cut"
    words = ["--gzip", "--licence", "CC0", "--credit", 'the "Author"']
    assert run(["data", "cut", str(folder), "--out", str(tmp_path / "named"), *words]) == 0
    said = capsys.readouterr().out
    assert "is cut into 1 shard." in said
    (table,) = tomllib.loads(said[said.index("[[data]]") :])["data"]
    assert (table["licence"], table["credit"]) == ("CC0", 'the "Author"')
    assert "address" not in table  # no placeholder that could be left in
    assert Path(table["index"]).is_file()
    assert run(["data", "verify", str(out)]) == 0
    assert "it is as the index says" in capsys.readouterr().out
    (out / "00000.jsonl.gz").write_bytes(b"wrong")
    assert run(["data", "verify", str(out)]) == 2
    said = capsys.readouterr().out
    assert "00000.jsonl.gz has other bytes" in said
    assert "--again" in said
    assert run(["data", "verify", str(out), "--again"]) == 0
    assert "1 of them mended" in capsys.readouterr().out
    assert run(["data", "inspect", str(out), "--licence", "CC0"]) == 0
    assert "CC0" in capsys.readouterr().out


@pytest.fixture
def shards(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Site]:
    """A server of shards, which wants a token."""
    out = tmp_path / "shards"
    assert run(["data", "cut", str(folder), "--out", str(out)]) == 0
    capsys.readouterr()
    files = {f"/bn/{path.name}": path.read_bytes() for path in out.iterdir()}
    with web_server(files, wants="Bearer token") as site:
        yield site


def test_shards_behind_a_token_take_the_one_that_is_kept(
    shards: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["data", "verify", f"{shards.url}/bn"]) == 2
    assert "127.0.0.1 may not be read" in capsys.readouterr().err
    monkeypatch.setattr(data_commands, "kept_secrets", lambda names: dict.fromkeys(names, "token"))
    assert run(["data", "verify", f"{shards.url}/bn"]) == 0
    assert "it is as the index says" in capsys.readouterr().out


def test_inspect_reads_the_index_beside_shards(
    shards: Site, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shards.wants = ""
    assert run(["data", "inspect", str(folder), "--json"]) == 0
    text = json.loads(capsys.readouterr().out)
    for address in (f"{shards.url}/bn", str(tmp_path / "shards")):
        assert run(["data", "inspect", address, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert (found["indexed"], found["shards"]) == (True, 1)
        assert found["bytes"] == (tmp_path / "shards" / "00000.jsonl.zst").stat().st_size
        assert found["characters"] == pytest.approx(text["characters"], rel=0.05)
    assert run(["data", "inspect", f"{shards.url}/bn"]) == 0
    assert "as their index says." in capsys.readouterr().out


def test_inspect_finds_the_index_in_a_signed_folder(shards: Site, capsys: pytest.CaptureFixture[str]) -> None:
    shards.wants = ""
    shards.answer = lambda path: None if path.endswith("?sig=x") else (403, b"")
    assert run(["data", "inspect", f"{shards.url}/bn/?sig=x", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["indexed"], found["shards"]) == (True, 1)


@pytest.mark.parametrize(
    ("out", "name"),
    [
        ("s3://ada/texts/", "texts.potluck"),
        ("s3://ada", "ada.potluck"),
        ("az://ada/bn/texts?sig=SECRET/x", "texts.potluck"),
        ("https://ada.org:8080/?sig=SECRET", "ada.org.potluck"),
    ],
)
def test_index_is_kept_here_by_the_name_of_its_folder(
    out: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def asking(request: CutRequest, *_: object, **__: object) -> None:
        asked.append(request.index_copy)
        raise BadInput("No more.")

    monkeypatch.setattr(data_commands, "_asked", asking)
    monkeypatch.chdir(tmp_path)
    assert run(["data", "cut", "python-docs", "--out", out]) == 2
    assert asked == [str(tmp_path / name)]


def test_a_tokenizer_is_trained(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "tokenizer.json"
    (folder / "scan.pdf").write_bytes(b"%PDF-1.7")
    (folder / "torn.jsonl.gz").write_bytes(gzip.compress(b'{"text": "One that is whole."}\n{]\n' + b"\n" * 9)[:-4])
    train = ["tokenizer", "train", str(folder), "--out", str(out), "--vocab", "100"]
    assert run(train) == 0
    said = capsys.readouterr().out
    assert "tokens a word" in said
    assert "not read   scan.pdf (no text)\n             the rest of torn.jsonl.gz (damaged)\n" in said
    assert run([*train, "--json"]) == 0
    losses = json.loads(capsys.readouterr().out)["losses"]
    assert [(one["name"], one["code"], one["first"]) for one in losses] == [
        ("scan.pdf", "no-text", ""),
        ("torn.jsonl.gz", "damaged", "the rest"),
    ]
    assert json.loads(out.read_text())["model"]["type"] == "Unigram"
    assert run(["data", "inspect", str(folder), "--tokenizer", str(out), "--tokens-per-s", "1000"]) == 0
    assert "one pass" in capsys.readouterr().out
    assert run(["tokenizer", "train", str(folder), "--out", str(tmp_path / "no" / "t.json")]) == 2
    assert "There is no folder" in capsys.readouterr().err
