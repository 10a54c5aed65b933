"""Text from the command line to a charter: cut, served by a web server, verified, and founded on."""

import functools
import http.server
import json
import os
import re
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from core.backbone.charter import load_charter
from core.base.data_source import DataSource
from core.cli.program import run
from core.system.atomic_files import UMASK
from core.text.order.shard_index import INDEX_FILE, read_index
from core.text.sources.cut_journal import JOURNAL_FILE
from core.text.sources.requests import CutRequest
from tests.small_task import text_folder

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]
BENGALI = {ord(letter): 0x0995 + place for place, letter in enumerate("abcdefghijklmnopqrs")} | {
    ord(letter): 0x09BE + place for place, letter in enumerate("tuvwxyz")
}
"""Letters of the script in the place of Latin ones."""
RECIPE = """
name = "Served"
task = "albert"
tokenizer = "bengali"
target_samples = 64
[[data]]
address = "{address}"
index = "{index}"
licence = "CC0"
[model]
vocab_size = 100
sequence_length = 32
hidden_size = 32
embedding_size = 32
intermediate_size = 64
heads = 2
held_out = 16
[optimizer]
name = "lamb"
"""


class Silent(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[int]:
    """The port of a web server that gives a folder's files."""
    handler = functools.partial(Silent, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def test_cut_text_is_served_verified_and_founded_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, out, charter = text_folder(tmp_path / "text", characters=120_000), tmp_path / "shards", tmp_path / "charter"
    assert run(["data", "cut", str(text), "--out", str(out), "--gzip", "--json"]) == 0
    cut = json.loads(capsys.readouterr().out)
    with served(out) as port:
        address = f"http://127.0.0.1:{port}"
        assert run(["data", "verify", address]) == 0
        (tmp_path / "alone").write_bytes((out / INDEX_FILE).read_bytes())
        (tmp_path / "my.toml").write_text(RECIPE.format(address=address, index="alone"))
        assert run(["found", str(tmp_path / "my.toml"), "--charter", str(charter), "--host", "127.0.0.1"]) == 0
        manifest = load_charter(charter).manifest
        index = read_index((charter / "blobs" / manifest.blobs[manifest.sources[0].index]).read_bytes())
        assert len(index) == cut["shards"]
        assert manifest.sources[0].licence == "CC0"
        capsys.readouterr()
        assert run(["data", "inspect", "--charter", str(charter), "--sample", "0/0/3", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["shard"] == "00000.jsonl.gz"
        (out / "00000.jsonl.gz").write_bytes(b"other bytes")
        capsys.readouterr()
        assert run(["data", "verify", address, "--charter", str(charter)]) == 2
        assert "00000.jsonl.gz has other bytes" in capsys.readouterr().out
    assert run(["data", "verify", address]) == 2
    assert f"127.0.0.1:{port} does not answer" in capsys.readouterr().err


def test_what_a_web_server_has_not_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "en").mkdir()
    with served(tmp_path) as port:
        address = f"http://127.0.0.1:{port}"
        assert run(["data", "inspect", f"{address}/nope.jsonl"]) == 2
        said = capsys.readouterr().err
        assert f"The server has no file {address}/nope.jsonl" in said
        assert run(["data", "inspect", f"{address}/en"]) == 2
        said = capsys.readouterr().err
        assert f"{address}/en is not what the server gives: that is a page for people" in said
        assert "{00000..00127}" in said


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
@pytest.mark.parametrize(("umask", "folder", "file"), [(0o022, 0o755, 0o644), (0o077, 0o700, 0o600)])
def test_a_cut_can_be_served_by_another_user(umask: int, folder: int, file: int, tmp_path: Path) -> None:
    text, out = text_folder(tmp_path / "text", characters=60_000), tmp_path / "served" / "en"
    command = [sys.executable, "-m", "core", "data", "cut", str(text), "--out", str(out), "--gzip"]
    environment = {name: value for name, value in os.environ.items() if name != UMASK}
    subprocess.run(command, check=True, capture_output=True, umask=umask, env=environment)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in [out.parent, out, *out.iterdir()]}
    shard = "00000.jsonl.gz"
    assert modes == {"served": folder, "en": folder, shard: file, INDEX_FILE: file, JOURNAL_FILE: 0o600}


def test_shards_beside_their_index_found_without_their_address(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, recipe = tmp_path / "shards", tmp_path / "my.toml"
    text = text_folder(tmp_path / "text", characters=120_000)
    assert run(["data", "cut", str(text), "--out", str(out), "--gzip"]) == 0
    recipe.write_text(RECIPE.format(address="https://texts.example.org/en", index="shards/index.potluck"))
    assert run(["found", str(recipe), "--charter", str(tmp_path / "charter"), "--host", "127.0.0.1"]) == 0
    assert load_charter(tmp_path / "charter").manifest.sources[0].address == "https://texts.example.org/en"
    (out / "00000.jsonl.gz").write_bytes((out / "00000.jsonl.gz").read_bytes()[:-1])
    capsys.readouterr()
    assert run(["found", str(recipe), "--charter", str(tmp_path / "other"), "--host", "127.0.0.1"]) == 2
    assert "00000.jsonl.gz does not match the index beside it" in capsys.readouterr().err


def test_recipe_of_the_documentation_founds_as_it_stands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Pasted beside shards that were cut there, of a text in Bengali."""
    (recipe,) = re.findall("```toml\n(.*?)```", (ROOT / "docs/data.md").read_text("utf-8"), re.DOTALL)
    text = text_folder(tmp_path / "text", characters=120_000)
    for path in text.iterdir():
        path.write_text(path.read_text().lower().translate(BENGALI), "utf-8")
    assert run(["data", "cut", str(text), "--out", str(tmp_path / "shards")]) == 0
    (tmp_path / "my.toml").write_text(recipe, "utf-8")
    words = ["found", str(tmp_path / "my.toml"), "--charter", str(tmp_path / "charter"), "--host", "127.0.0.1"]
    assert run(words) == 0, capsys.readouterr().err
    manifest = load_charter(tmp_path / "charter").manifest
    assert (manifest.name, manifest.task, manifest.averaging.partial) == ("Bengali for all", "albert", True)
    assert (manifest.sources[0].licence, manifest.sources[0].filters["language"]) == ("CC BY-SA 4.0", "bn")
    assert manifest.numbers["layers"] == 4


@pytest.mark.long
def test_a_killed_cut_ends_with_the_same_shards(tmp_path: Path) -> None:
    def command(out: Path) -> list[str]:
        source = DataSource(filters={"no_duplicates": True})
        asked = CutRequest(source=source, out=str(out), ending="jsonl.gz", shard_bytes=20_000)
        return [sys.executable, "-m", "core.training.programs.data", "--asked", msgspec.json.encode(asked).decode()]

    whole, killed = tmp_path / "whole", tmp_path / "killed"
    subprocess.run(command(whole), check=True, capture_output=True)
    shards = len(list(whole.glob("*.jsonl.gz")))
    for line in (1, shards // 2):
        with subprocess.Popen(command(killed), stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            for _ in range(line):
                assert b"progress" in process.stdout.readline()
            process.kill()
        assert not (killed / INDEX_FILE).exists()
    done = subprocess.run(command(killed), check=True, capture_output=True)
    assert json.loads(done.stdout.splitlines()[-1])["resumed"] >= shards // 2
    names = {path.name for path in whole.iterdir()}
    assert {path.name for path in killed.iterdir()} == names
    assert all((killed / name).read_bytes() == (whole / name).read_bytes() for name in names)
