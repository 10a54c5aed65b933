"""Finding a model on this computer, its card, and the place of an export; the child process is tested elsewhere."""

import argparse
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from core.__main__ import main
from core.api.reports import ExpertPlaceView, ExpertsView
from core.backbone import charter as charters
from core.backbone.admission_log import AdmissionLog, Newcomer
from core.backbone.kept_states import STATES
from core.backbone.link import Link
from core.base.content import digest
from core.base.data_source import DataSource
from core.base.ids import PeerId
from core.base.manifest import Manifest, sign_manifest
from core.base.problems import BadInput, Damaged
from core.base.signing import KeyPair
from core.cli.model import export
from core.cli.model.export import check_folder, gathered
from core.cli.model.kept_model import kept_model, newest_state
from core.cli.model.model_card import model_card
from core.engine.remembered.collaborations import Collaborations
from core.ledger.ledger import Ledger, LedgerRow
from core.storage.paths import ALONE, Home
from core.system.progress_bar import ProgressBar
from tests.unit.training.small import MANIFEST, learner

AUTHORITY = KeyPair(b"k" * 32)
EXPORTED = {
    "loss": 3.25,
    "loss_name": "masked-word loss",
    "loss_unit": "nats",
    "baselines": {"word frequencies": 5.5},
    "parameters": 1_234_567,
    "auto_class": "AutoModelForPreTraining",
    "pipeline": "fill-mask",
    "blank": "[MASK]",
}


def named(name: str) -> Manifest:
    return msgspec.structs.replace(MANIFEST, name=name, task="albert", authority=AUTHORITY.peer_id.hex())


def trained(states: Path, manifest: Manifest, epochs: int) -> list[Path]:
    """The states that a worker leaves, the newest last."""
    made = learner(states, manifest=manifest)
    assert made.state.saved.path.exists()
    for epoch in range(1, epochs + 1):
        assert made.accumulate()
        made.absorb(made.hand_over(), epoch=epoch, lineage=digest(bytes([epoch])))
        assert made.state.saved.path.exists()
    return sorted(states.glob("state-*"))


def kept(home: Home, manifest: Manifest, epochs: int) -> list[Path]:
    folder = home.state(manifest.id.hex())
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_bytes(sign_manifest(manifest, AUTHORITY))
    return trained(folder / "states", manifest, epochs)


def asked(home: Home, collaboration: str | None = None, charter: Path | None = None) -> argparse.Namespace:
    return argparse.Namespace(home=home.directory, collaboration=collaboration, charter=charter)


def test_newest_state_is_a_copy_that_is_whole(home: Home, tmp_path: Path) -> None:
    older, newest = kept(home, named("one"), 3)
    found = newest_state(kept_model(asked(home)), tmp_path)
    assert (found.header.epoch, found.path.parent) == (3, tmp_path)
    assert found.path.read_bytes() == newest.read_bytes()
    newest.write_bytes(newest.read_bytes()[:-1] + b"x")
    assert newest_state(kept_model(asked(home)), tmp_path).header.epoch == 2
    older.write_bytes(b"torn")
    with pytest.raises(Damaged, match="are damaged"):
        newest_state(kept_model(asked(home)), tmp_path)


def test_state_of_another_collaboration_is_passed_over(home: Home, tmp_path: Path) -> None:
    (strange,) = trained(tmp_path / "other", named("other"), 0)
    kept(home, named("one"), 1)
    states = kept_model(asked(home)).states
    strange.rename(states / strange.name.replace("00000000", "00000009"))
    assert newest_state(kept_model(asked(home)), tmp_path).header.epoch == 1


def test_collaboration_goes_by_name_or_by_its_id(home: Home) -> None:
    for name in ("one", "two"):
        kept(home, named(name), 0)
    assert kept_model(asked(home, "one")).manifest.name == "one"
    assert kept_model(asked(home, named("two").id.hex()[:10])).manifest.name == "two"
    with pytest.raises(BadInput, match="no collaboration called 'three'"):
        kept_model(asked(home, "three"))


def test_collaborations_of_one_name_are_told_apart(home: Home) -> None:
    for samples in (10, 20):
        kept(home, msgspec.structs.replace(named("one"), target_samples=samples), 0)
    with pytest.raises(BadInput, match="Several"):
        kept_model(asked(home, "one"))


def test_current_collaboration_goes_before_later_ones(home: Home) -> None:
    for name in ("one", "two"):
        kept(home, named(name), 0)
        Collaborations(home).keep(Link("localhost", 1, named("one").id, "s" * 24))
        assert kept_model(asked(home)).manifest.name == "one"


def test_a_model_of_a_run_alone_is_found(home: Home, tmp_path: Path) -> None:
    manifest, run = named("mine"), home.directory / ALONE / "my-0123456789ab"
    charters.found(run / "charter", manifest, AUTHORITY)
    trained(run / "states", manifest, 2)
    for wanted in (None, "mine", manifest.id.hex()[:8]):
        model = kept_model(asked(home, wanted))
        assert newest_state(model, tmp_path).header.epoch == 2
        assert model.blobs == run / "charter" / "blobs"
    kept(home, named("joined"), 0)
    Collaborations(home).keep(Link("localhost", 1, named("joined").id, "s" * 24))
    assert kept_model(asked(home)).manifest.name == "joined"
    assert kept_model(asked(home, "mine")).manifest_path == run / "charter" / "manifest.json"


def test_no_collaboration_and_no_state_are_sentences(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["try", "a [MASK]"]) == 2
    assert "taken part in no collaboration" in capsys.readouterr().err
    for path in kept(home, named("one"), 0):
        path.unlink()
    assert main(["export", str(home.directory / "out")]) == 2
    assert "no model of one on this computer yet" in capsys.readouterr().err
    assert not (home.directory / "out").exists()
    assert main(["try", "a" * 20_001]) == 2
    assert "too long" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["export", "out\udcff"], ["try", "a \udcff ___"]])
def test_bytes_that_are_no_text_are_a_sentence(
    home: Home, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert main(words) == 2
    assert "is not UTF-8" in capsys.readouterr().err


def test_organiser_uses_the_newest_copy_of_the_charter(home: Home, tmp_path: Path) -> None:
    manifest, folder = named("one"), tmp_path / "charter"
    charters.found(folder, manifest, AUTHORITY)
    AdmissionLog(folder).enter(Newcomer(PeerId(b"\1" * 32), "Ada"), invitation="", now=0.0)
    (folder / STATES).mkdir()
    for path, number in zip(trained(tmp_path / "worker", manifest, 2), (12, 11), strict=True):
        path.rename(folder / STATES / f"{number:06d}-{path.name}")
    found = kept_model(asked(home, charter=folder))
    assert newest_state(found, tmp_path).header.epoch == 1  # what came last, whatever its epoch
    found.board.hold(Ledger({PeerId(b"\1" * 32): LedgerRow(5)}).to_bytes(), 1)
    assert [row.name for row in found.board.standings(PeerId(b"\2" * 32), relayed={})] == ["Ada"]


def test_copies_that_are_all_here_are_waited_for_no_more(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody hosts any expert now, so nobody will save another one."""

    def seen(*here: bool) -> ExpertsView:
        places = (ExpertPlaceView(layer=1, place=(n,), hosts=(), copies=1, here=one) for n, one in enumerate(here))
        return ExpertsView(layers=1, places=2, known=tuple(places))

    views, shares = iter([seen(False, True), seen(True, True)]), list[float]()

    async def experts_of(*_: object) -> ExpertsView:
        return next(views)

    monkeypatch.setattr(export, "experts_of", experts_of)
    bar = ProgressBar(say=lambda share, _: shares.append(share), clock=count().__next__)
    kept = SimpleNamespace(home=home, manifest=SimpleNamespace(mixture=True))
    assert gathered(kept, bar) == 0
    assert shares == [0.5, 1.0]


def card(manifest: Manifest, **changes: object) -> str:
    return model_card(
        manifest,
        **{"epoch": 7, "ledger": Ledger(), "thanked": [], "exported": EXPORTED, "address": "ada/rhymes", **changes},
    )


def test_card_has_what_the_hub_and_people_read() -> None:
    text = card(named("Rhymes"))
    assert text.startswith("---\nlibrary_name: transformers\npipeline_tag: fill-mask\ntags:\n")
    assert "| Parameters | 1 234 567 |" in text
    assert "| Masked\\-word loss on held-out text | 3.2500 nats |" in text
    assert "| The same of word frequencies alone | 5.5000 nats |" in text
    assert 'pipeline("fill-mask", model="ada/rhymes")' in text
    assert "names nobody yet" in text


@pytest.mark.parametrize(("task", "takes"), [("digits", "pixels"), ("gpt-experts", "`letters` of `config.json`")])
def test_card_of_a_mixture_says_what_it_takes(task: str, takes: str) -> None:
    whole = {**EXPORTED, "places": 8, "experts": 8, "missing": [], "saved": [], "live": None, "now": 0.0}
    assert takes in card(msgspec.structs.replace(named("Rhymes"), task=task), exported=whole)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("python-docs", "the documentation that comes with Python"),
        ("/home/ada/secret/my books", "folder my books"),
        ("C:\\Users\\ada\\poems", "folder poems"),
    ],
)
def test_card_names_the_text_and_no_path(source: str, words: str) -> None:
    text = card(msgspec.structs.replace(named("Rhymes"), data=(DataSource(address=source),)))
    assert words in text
    assert not any(secret in text for secret in ("/home", "secret", "Users"))


def test_card_names_address_and_licence_as_they_are() -> None:
    sources = (DataSource(address="https://texts.org/a_b?c=`|", licence="CC BY-SA 4.0"), DataSource())
    text = card(msgspec.structs.replace(named("Rhymes"), data=sources))
    assert "`https://texts.org/a_b?c=%60%7C` (CC BY\\-SA 4\\.0) and" in text
    assert "names no licence" not in text
    assert "none is named for the model" in text
    assert "names no licence" in card(named("Rhymes"))


def test_words_of_strangers_are_no_markdown() -> None:
    text = card(msgspec.structs.replace(named("a | b"), organiser="<img src=x> [here](http://evil) `x`"))
    assert "# a \\| b" in text
    assert "\\<img src\\=x\\> \\[here\\]\\(http\\://evil\\) \\`x\\`" in text


@pytest.mark.parametrize(
    ("words", "written"),
    [
        ("www.evil.example", "www\\.evil\\.example"),
        ("https://evil.example", "https\\://evil\\.example"),
        ("me@evil.example", "me<span>&#64;</span>evil\\.example"),
        ("$$x$$", "<span>&#36;</span><span>&#36;</span>x<span>&#36;</span><span>&#36;</span>"),
        ("- item", "\\- item"),
        ("1. item", "1\\. item"),
        ("1) item", "1\\) item"),
        ("    code", "code"),
        ("---", "\\-\\-\\-"),
        ("===", "\\=\\=\\="),
        ("[^1]: note", "\\[\\^1\\]\\: note"),
    ],
)
def test_summary_and_names_are_no_extensions(words: str, written: str) -> None:
    text = card(msgspec.structs.replace(named(words), summary=words, organiser=words))
    assert f"# {written}\n\n{written}\n\nPeople" in text
    assert f"| Organised by | {written} |" in text


def test_code_in_the_card_is_python() -> None:
    for blank in ("[MASK]", ""):
        code = card(named("Rhymes"), exported={**EXPORTED, "blank": blank}).split("```")[1].removeprefix("python")
        compile(code, "card", "exec")


def test_export_replaces_nothing_but_an_export(tmp_path: Path) -> None:
    check_folder(tmp_path / "new", force=False)
    check_folder(tmp_path, force=False)
    (tmp_path / "config.json").write_text("{}")
    check_folder(tmp_path, force=True)
    with pytest.raises(BadInput, match="an export already"):
        check_folder(tmp_path, force=False)
    (tmp_path / ".git").mkdir()
    with pytest.raises(BadInput, match=r"'\.git'"):
        check_folder(tmp_path, force=True)


def test_text_without_a_blank_reads_no_state(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    for path in kept(home, msgspec.structs.replace(named("one"), task="albert"), 0):
        path.unlink()
    assert main(["try", "nothing is missing_here"]) == 2
    assert "has no blank to fill" in capsys.readouterr().err
    assert main(["try", "a ___ here"]) == 2
    assert "no model of one" in capsys.readouterr().err


def test_steps_of_a_charter_of_this_home_are_kept_too(home: Home, tmp_path: Path) -> None:
    manifest, folder = named("one"), home.directory / "embedded" / "one" / "charter"
    kept(home, manifest, 3)
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_bytes((home.state(manifest.id.hex()) / "manifest.json").read_bytes())
    (folder / STATES).mkdir()
    first, *_ = trained(tmp_path / "worker", manifest, 1)
    first.rename(folder / STATES / f"000001-{first.name}")
    other = home.directory / "embedded" / "two" / "charter"
    other.mkdir(parents=True)
    (other / "manifest.json").write_bytes(sign_manifest(named("two"), AUTHORITY))
    model = kept_model(asked(home))
    assert model.epochs == (0, 2, 3)
    assert [newest_state(model, tmp_path, epoch=epoch).header.epoch for epoch in (0, 2)] == [0, 2]
    with pytest.raises(BadInput, match="step 1 is not kept") as refused:
        newest_state(model, tmp_path, epoch=1)
    assert refused.value.hint == "Those of these steps are: 0, 2, 3."
