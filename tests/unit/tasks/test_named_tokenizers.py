"""What a task is prepared with where its recipe names a tokenizer."""

from contextlib import nullcontext
from pathlib import Path

import msgspec
import pytest
from tokenizers import Tokenizer

from core.base.data_source import DataSource
from core.base.problems import BadInput
from core.tasks.albert.prepare import prepare
from core.tasks.gpt import prepare as prepare_gpt
from core.tasks.task import PreparedTask
from core.tasks.text import text_of
from core.tasks.tokenizers import normalisers
from core.tasks.tokenizers.unigram import read_unigram, train_unigram
from core.text.sources.opening import open_source
from core.text.sources.source import Access
from tests.small_task import SENTENCE, SMALL, text_folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return text_folder(tmp_path_factory.mktemp("text"), characters=100_000)


def prepared(folder: Path, out: Path, tokenizer: str) -> PreparedTask:
    text = text_of([DataSource(address=str(folder))], tokenizer=tokenizer)
    return prepare({**SMALL["albert"], "vocab_size": 100}, text, out, progress=lambda *_: None)


def test_a_name_says_how_the_tokenizer_is_made(folder: Path, tmp_path: Path) -> None:
    done = prepared(folder, tmp_path, "bengali")
    made = read_unigram(done.blobs["tokenizer"].read_bytes())
    assert made.normalizer.normalize_str("ক\u09be\u09c7") == normalisers.bengali().normalize_str("কো")


def test_a_file_is_the_tokenizer_and_decides_the_vocabulary(folder: Path, tmp_path: Path) -> None:
    trained = train_unigram(iter([SENTENCE] * 20), vocab_size=70)
    (tmp_path / "mine.json").write_text(trained.to_str())
    done = prepared(folder, tmp_path / "out", str(tmp_path / "mine.json"))
    assert done.numbers["vocab_size"] == trained.get_vocab_size()
    kept = Tokenizer.from_buffer(done.blobs["tokenizer"].read_bytes())
    assert kept.get_vocab() == trained.get_vocab()
    assert "pieces, and so has the model" in done.notes[0]


def test_a_given_tokenizer_is_looked_at_first(folder: Path, tmp_path: Path) -> None:
    source, stages = DataSource(address=str(folder)), list[str]()
    (tmp_path / "mine.json").write_text(train_unigram(iter([SENTENCE] * 20), vocab_size=70).to_str())
    for name in ("mine.json", "missing.json"):
        text = text_of([source], tokenizer=str(tmp_path / name))
        with pytest.raises(BadInput) if name == "missing.json" else nullcontext():
            prepare(SMALL["albert"], text, tmp_path / "out", progress=lambda stage, _: stages.append(stage))
        if name == "mine.json":
            assert "Reading text" in stages
            assert "Training the tokenizer" not in stages
            stages.clear()
    assert stages == []


@pytest.mark.parametrize("content", [None, "no tokenizer"])
def test_a_file_that_is_none_is_said(folder: Path, tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "mine.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(BadInput, match=r"mine\.json.* cannot be read"):
        prepared(folder, tmp_path / "out", str(path))


def test_letters_take_no_tokenizer(folder: Path, tmp_path: Path) -> None:
    text = text_of([DataSource(address=str(folder))], tokenizer="albert")
    with pytest.raises(BadInput, match="takes no tokenizer"):
        prepare_gpt({}, text, tmp_path, progress=lambda *_: None)


def test_filters_hold_for_preparing_too(folder: Path, tmp_path: Path) -> None:
    source = DataSource(address=str(folder), filters={"language": "bn"})
    with pytest.raises(BadInput, match="too little text"):
        prepare(SMALL["albert"], text_of([source]), tmp_path, progress=lambda *_: None)


def test_an_index_numbers_files(folder: Path) -> None:
    source = DataSource(address=str(folder))
    assert len(open_source(source, Access(folder=folder)).listing().shards) == 1
    indexed = msgspec.structs.replace(source, index="shards-0")
    assert len(open_source(indexed, Access(folder=folder)).listing().shards) == len(list(folder.iterdir()))
