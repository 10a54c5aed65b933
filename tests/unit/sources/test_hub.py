import json
import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
import yaml

from core.api.data_state import DataCode
from core.text.sources import hub
from core.text.sources.hub_split import NAME_S, SPLIT_S, SplitAnswer, SplitQuestion, answered
from core.text.sources.source import Access, NoSplit
from core.text.sources.texts import problem_of_trouble
from tests.unit.sources.opened_sources import opened, texts, trouble
from tests.web_server import Site, web_server

CARD = """---
license: cc0-1.0
configs:
- config_name: en
  data_files:
  - split: train
    path: "data/en/*.jsonl"
  - split: test
    path: data/en-test.jsonl
- config_name: bn
  default: true
  data_files: "data/bn/**"
---
# A data set
"""
FILES = {
    "data/en/0.jsonl": '{"text": "one"}\n',
    "data/en/1.jsonl": '{"text": "two"}\n',
    "data/en-test.jsonl": '{"text": "three"}\n',
    "data/bn/0.txt": "চার",
    "data/bn/deep/1.txt": "পাঁচ",
    "data/bn/picture.png": "no text",
    "README.md": CARD,
    "load.py": "raise SystemExit('code was run')",
}


def hub_of(files: dict[str, str]) -> dict[str, bytes]:
    names = [{"rfilename": name, "size": len(text.encode())} for name, text in files.items()]
    listed = {"id": "someone/words", "sha": "abc", "siblings": names}
    found = {f"/datasets/someone/words/resolve/abc/{name}": text.encode() for name, text in files.items()}
    return found | {"/api/datasets/someone/words": json.dumps(listed).encode()}


@pytest.fixture
def a_hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    with web_server(hub_of(FILES)) as site:
        monkeypatch.setenv("HF_ENDPOINT", site.url)
        yield site


def split_of(names: list[str], card: str = "", **fields: str) -> SplitAnswer:
    question = {"more_card": "", "config": "", "split": "train"} | fields
    return answered(SplitQuestion(names=names, card=card, **question))


def card_of(*patterns: str, **fields: str) -> str:
    return f"---\nconfigs:\n- {json.dumps({'config_name': 'default', 'data_files': patterns} | fields)}\n---\n"


def test_a_split_of_a_data_set_is_read(a_hub: Site) -> None:
    assert texts(opened(config="en")) == ["one", "two"]
    assert texts(opened(config="en", split="test")) == ["three"]
    source = opened(access=Access(secrets={"hf://datasets": "hf_token"}, near=False))
    assert texts(source) == ["চার", "পাঁচ"]
    assert [left.name for left in source.listing().left_out] == ["data/bn/picture.png"]
    assert a_hub.asked[-1][2] == "Bearer hf_token"
    assert not any("load.py" in path for path, _, _ in a_hub.asked)


def test_what_the_hub_has_not_is_a_state(a_hub: Site) -> None:
    assert trouble(opened("hf://datasets/someone/else")).code == DataCode.MISSING
    a_hub.status = 401
    assert trouble(opened()).code == DataCode.REFUSED
    a_hub.status, a_hub.files = 0, {"/api/datasets/someone/words": b"<html>"}
    assert trouble(opened()).code == DataCode.DAMAGED


@pytest.mark.parametrize(
    ("fields", "hint"),
    [
        ({"config": "fr"}, "It has 'en', 'bn': name the right one with --config"),
        ({"config": "en", "split": "dev"}, "It has 'train', 'test': name the right one with --split"),
    ],
)
def test_absent_split_is_a_sentence_that_names_others(a_hub: Site, fields: dict[str, str], hint: str) -> None:
    found = trouble(opened(**fields))
    assert isinstance(found, NoSplit)
    assert found.code == DataCode.MISSING
    assert hint in problem_of_trouble(found).hint


LAYOUTS = [
    FILES,
    {"train.csv": "text\n1", "test.csv": "text\n1"},
    {"data/train-00000-of-00002.csv": "text\n1", "data/train-00001-of-00002.csv": "text\n1", "x/dev.csv": "text\n1"},
    {"one.txt": "x", "sub/two.txt": "y", "README.md": "# no yaml"},
    {"train/a.jsonl": '{"text": "x"}\n', "validation/b.jsonl": '{"text": "x"}\n'},
    {"a.txt": "x", "README.md": "---\nconfigs:\n- config_name: default\n  data_files: a*\n---\n"},
    {"a.txt": "x", "b.txt": "x", "c.csv": "text\n1", "x.py": "1", ".hidden.txt": "x", "__cache/d.txt": "x"},
    {
        "bn/train.txt": "x",
        "bn/test.txt": "x",
        "de/train.txt": "x",
        "README.md": "---\nconfigs:\n- config_name: bn\n  data_dir: bn\n---\n",
    },
    {
        "a.txt": "x",
        "b.txt": "y",
        ".huggingface.yaml": "configs:\n- {config_name: default, data_files: b.txt}\n",
        "README.md": card_of("a.txt"),
    },
]


@pytest.mark.parametrize("files", LAYOUTS)
def test_splits_have_the_files_that_datasets_gives_them(files: dict[str, str], tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    config = "en" if files is FILES else None
    from datasets import load_dataset_builder

    builder = load_dataset_builder(str(tmp_path), config, cache_dir=str(tmp_path / ".cache"))
    assert builder.config.data_files
    for split, found in builder.config.data_files.items():
        theirs = sorted(Path(path).relative_to(tmp_path).as_posix() for path in found)
        card, more_card = (files.get(name, "") for name in hub.CARDS)
        ours = split_of(list(files), card, more_card=more_card, config=config or "", split=str(split))
        assert ours.files == theirs


def test_folders_are_configurations_where_no_card_names_any() -> None:
    names = ["OSCAR-2301.py", "bn_meta/bn_meta_part_1.jsonl.zst", "bn_meta/checksum.sha256", "de_meta/1.jsonl.zst"]
    assert split_of(names, config="bn_meta").files == ["bn_meta/bn_meta_part_1.jsonl.zst"]
    assert split_of(names, config="fr_meta") == SplitAnswer()
    mixed = split_of(["a.jsonl", "b.jsonl", "c.txt"])
    assert (mixed.files, mixed.left_out) == (["a.jsonl", "b.jsonl"], ["c.txt"])
    assert split_of(["a.zip"]).files == ["a.zip"]


def test_card_leads_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("x")
    with web_server({"/secret.txt": b"x"}) as site:
        hops = [f"zip://*.txt::{site.url}/secret.txt", f"a/b::{site.url}/secret.txt", f"*.txt::{site.url}/secret.txt"]
        outside = [f"{site.url}/secret.txt", f"{tmp_path}/*", f"file://{tmp_path}/*", "../*", "hf://datasets/x/y/*"]
        assert split_of(["a.txt"], card_of("a.txt", *hops, *outside)).files == ["a.txt"]
        for folder in (str(tmp_path), site.url, f"x::{site.url}", ".."):
            assert not split_of(["a.txt"], card_of("**", data_dir=folder)).files
        assert not site.asked


HOSTILE = {"a" * 200 + ".txt": "one", "a/" * 100 + "a.txt": "two"}


@pytest.fixture
def short_child(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that decides may compute for a few seconds only."""
    short = "import sys; from core.text.sources import hub_split; hub_split.SPLIT_S = 3.0; sys.exit(hub_split.main())"
    monkeypatch.setattr(hub, "own_command", lambda *_: [sys.executable, "-c", short])


@pytest.mark.usefixtures("short_child")
@pytest.mark.parametrize(
    ("pattern", "code"),
    [
        ("*a" * 60 + "*b.txt", DataCode.UNDECIDED),
        pytest.param("**/" * 60 + "b", DataCode.UNDECIDED, marks=pytest.mark.long),
        ("[" * 900, DataCode.DAMAGED),
        ("*" * 1000, DataCode.DAMAGED),
        ("x" * 5000, DataCode.MISSING),
    ],
)
def test_hostile_pattern_ends_with_its_process(pattern: str, code: DataCode, monkeypatch: pytest.MonkeyPatch) -> None:
    with web_server(hub_of({**HOSTILE, "README.md": card_of(pattern)})) as site:
        monkeypatch.setenv("HF_ENDPOINT", site.url)
        found = trouble(opened())
    assert found.code == code
    assert ("too long" in str(problem_of_trouble(found))) == (code == DataCode.UNDECIDED)


@pytest.mark.usefixtures("short_child")
def test_short_time_suffices_for_a_card_that_is_no_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    with web_server(hub_of({**HOSTILE, "README.md": card_of("**/*.txt")})) as site:
        monkeypatch.setenv("HF_ENDPOINT", site.url)
        assert sorted(texts(opened())) == ["one", "two"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit.")
def test_time_to_decide_is_of_computing_and_grows_with_names() -> None:
    script = (
        "import resource, sys; from core.text.sources import hub_split; hub_split.answered = lambda _: sys.exit("
        "str(resource.getrlimit(resource.RLIMIT_CPU)[0])); hub_split.main()"
    )
    for count in (1, 300_000):
        asked = SplitQuestion(names=["a.txt"] * count, card="", more_card="", config="", split="train")
        done = subprocess.run(
            [sys.executable, "-c", script], input=msgspec.json.encode(asked), capture_output=True, check=False
        )
        assert int(done.stderr) == math.ceil(SPLIT_S + NAME_S * count)


def laughs(kind: str) -> str:
    """A card of a few lines that stands for 9 ** 9 values, all in values of this kind."""
    steps = [f"a{n}: &a{n + 1} {kind} [{', '.join([f'{{x: *a{n}}}'] * 9)}]" for n in range(9)]
    return "\n".join([f"a: &a0 {kind} [{{x: {'x' * 100}}}]", *steps, "configs: [{config_name: x, data_files: *a9}]"])


@pytest.mark.parametrize(
    ("card", "error"),
    [
        ("x: !!int ''", IndexError),
        ("x: !!timestamp x", AttributeError),
        ("[", yaml.YAMLError),
        ("{a: b}: c", yaml.YAMLError),
        ("- a", AttributeError),
        ("configs: [x]", ValueError),
        ("configs: [{data_files: x}]", ValueError),
        ("configs: [{config_name: x, data_files: 1}]", ValueError),
    ],
)
def test_card_that_means_nothing_is_refused(card: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        split_of(["a.txt"], f"---\n{card}\n---\n")


@pytest.mark.parametrize("card", ["a: &a [x]\nconfigs: &b [*a, *b]", laughs(""), laughs("!!pairs"), laughs("!!omap")])
def test_alias_in_a_card_is_refused(card: str) -> None:
    with pytest.raises(ValueError, match="has an alias"):
        split_of(["a.txt"], f"---\n{card}\n---\n")
    with pytest.raises(ValueError, match="has an alias"):
        split_of(["a.txt"], more_card=card)


PAIRS = "configs: [{config_name: x, data_files: !!pairs [" + "{x: !!pairs [{x: x}]}, " * 1000 + "]}]"


@pytest.mark.parametrize("card", [laughs("!!pairs"), PAIRS, 'configs: [{config_name: "\\e[31mx\\a", data_files: 1}]'])
def test_nothing_of_a_card_is_written_to_the_terminal(
    card: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with web_server(hub_of({"README.md": f"---\n{card}\n---\n", "a.txt": "one"})) as site:
        monkeypatch.setenv("HF_ENDPOINT", site.url)
        assert trouble(opened()).code == DataCode.DAMAGED
    assert capfd.readouterr() == ("", "")


@pytest.mark.usefixtures("a_hub")
def test_nothing_that_the_library_writes_reaches_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    child = "import sys; sys.stderr.write('\\x1b[31m' * 1000); sys.exit(3)"
    monkeypatch.setattr(hub, "own_command", lambda *_: [sys.executable, "-c", child])
    assert trouble(opened()).code == DataCode.DAMAGED
    assert capfd.readouterr() == ("", "")


def test_names_of_a_card_are_told_short_and_printable(monkeypatch: pytest.MonkeyPatch) -> None:
    card = json.dumps([{"config_name": f"\x1b[31m\u202e{'x' * 1000}", "data_files": "a.txt"}])
    with web_server(hub_of({"README.md": f"---\nconfigs: {card}\n---\n", "a.txt": "one"})) as site:
        monkeypatch.setenv("HF_ENDPOINT", site.url)
        hint = problem_of_trouble(trouble(opened(config="en"))).hint
    assert hint.startswith("It has '\\x1b[31m\\u202exxx")
    assert hint.isprintable()
    assert len(hint) < 200


def test_card_that_means_nothing_is_a_state(monkeypatch: pytest.MonkeyPatch) -> None:
    with web_server(hub_of({"README.md": "---\n[\n---\n", "a.txt": "one"})) as site:
        monkeypatch.setenv("HF_ENDPOINT", site.url)
        found = trouble(opened())
    assert (found.code, found.arguments["name"]) == (DataCode.DAMAGED, "hf://datasets/someone/words/README.md")
