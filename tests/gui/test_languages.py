"""The window's languages: complete, alike in their fields and mnemonics, and chosen as the person wants it."""

import functools
import os
import re
import string
import subprocess
import sys
from datetime import date, datetime
from pathlib import Path

import msgspec
import pytest
from PySide6.QtCore import QCoreApplication, QLocale, QTranslator
from PySide6.QtWidgets import QDialogButtonBox, QMenu

import resources
from app import translations as catalogues
from app.looks.choices import Choices
from app.looks.language import LANGUAGES, SOURCE, SYSTEM, language_of, own_name
from app.pages.verdict_actions import offers_of
from app.widgets.limit_box import LimitBox
from app.widgets.whole_box import WholeBox
from app.words import link_look, page_text, text
from core.api import verdict as verdicts
from core.api.happenings import HAPPENINGS
from core.api.hints import HINTS, Hint, hint_sentence
from core.api.joined import KeptRefusal
from core.api.look import ComputerFacts, LinkLook
from core.api.sentence import VALUE_LETTERS_MAX, Sentence, Spoken
from core.api.snapshot import Notice, ProblemView
from core.api.verdict import HEADLINES, SENTENCES, Verdict, VerdictCode
from core.cli.engine.doctor_senses import told_of
from core.control.notices import NoticeRing
from core.schedule.sensed import Sensed

ROOT = Path(__file__).parents[2]
OTHERS = LANGUAGES[1:]
ENDS = {"bn": {".": "।"}}
"""Signs at the end of a sentence that are others than in English."""
RUN = "python -m app.translations"
SENSED = (
    Sensed(),
    Sensed(idle_s=41.0, on_battery=True, battery=0.5, full_screen=False, remote=True, celsius=61.0),
    Sensed(idle_s=0.0, on_battery=False, full_screen=True, remote=False),
)


@functools.cache
def found():
    """All sentences of the window, in English."""
    return set(catalogues.sentences(catalogues.trees()))


def translated(code):
    """The finished translations of a language, by sentence."""
    return catalogues.translations(resources.file("translations", f"potluck_{code}.ts"))


def fields(sentence):
    return sorted(name for _, name, _, _ in string.Formatter().parse(sentence) if name)


@pytest.mark.parametrize("code", OTHERS)
def test_fields_and_mnemonics_are_the_same(code):
    ends = ENDS.get(code, {})
    for sentence, said in translated(code).items():
        assert fields(said) == fields(sentence), said
        assert len(re.findall("&[^& ]", said)) == len(re.findall("&[^& ]", sentence)) <= 1, said
        end = ends.get(sentence[-1], sentence[-1])
        assert said[-1] == end or said == sentence or sentence[-1] not in ".…:", said


@pytest.mark.parametrize("code", OTHERS)
def test_compiled_catalogue_is_current(code, qt):
    known = translated(code)
    compiled = QTranslator()
    assert compiled.load(str(resources.file("translations", f"potluck_{code}.qm")))
    wrong = {one for one, said in known.items() if compiled.translate(catalogues.CONTEXT, one) != said}
    assert not wrong, f"run {RUN}"


def test_extraction_finds_each_kind_of_sentence():
    assert {"&Save", "Change the limits…", "Paused", "The training program is starting.", "blanks"} <= found()
    assert {"at {clock}", "This invitation has expired.", "No limit"} <= found()
    assert not {"{stage}", "{why}", "potluck", "day"} & found()


@pytest.mark.parametrize("language", OTHERS, indirect=True)
def test_every_verdict_has_its_own_words(language):
    for code in VerdictCode:
        assert text.tr(HEADLINES[code]) != HEADLINES[code] or code is VerdictCode.PROBLEM
    for (code, reason), sentence in SENTENCES.items():
        values = dict.fromkeys(fields(sentence), "7")
        verdict = Verdict(code=code, reason=reason, args=values)
        said = text.sentence(verdict)
        assert "{" not in said
        assert said != str(verdicts.sentence(verdict)) or catalogues.FIELD.fullmatch(sentence), said
        assert {str(verdicts.headline(verdict))} <= found()
        for further in ({"where": "b.org:1"}, {"organiser": "Bee"}, {"done": 3, "total": 9}):
            assert_translated(msgspec.structs.replace(verdict, args=further))
    for others in range(3):
        for samples in (40, 100):
            verdict = verdicts.contributing("training", others=others, samples=samples, target=100, epoch=7)
            assert_translated(verdict)
        assert_translated(verdicts.contributing("averaging", others=others, overlaps=1, epoch=7))


def assert_translated(verdict):
    """All that the verdict's sentence is made of stands in the catalogue."""
    asked = []
    verdicts.sentence(verdict).told(lambda one: asked.append(one) or one)
    assert {one for one in asked if not catalogues.FIELD.fullmatch(one)} <= found()


@pytest.mark.parametrize("language", OTHERS, indirect=True)
@pytest.mark.parametrize("code", HAPPENINGS)
def test_every_happening_has_its_own_words(language, code):
    args = {
        "name": "Bee",
        "epoch": 7,
        "missing": 2,
        "reason": "This invitation has expired.",
        "weight": 4100,
        "samples": 8200,
    }
    args |= {"left": "Poems", "served": "Prose", "folder": "charter.earlier", "times": 9}
    args |= {"host": "texts.org", "seconds": 20, "status": "403", "column": "text", "rows": 9000, "why": "no rights"}
    args |= {"where": "texts.org:443", "until": "2026-11-26 06:12", "words": "Back on Monday"}
    args |= {"version": "9.1", "running": "9.0"}
    told = NoticeRing(lambda: 0.0).tell("info", code, **{name: args[name] for name in fields(HAPPENINGS[code])})
    said = page_text.notice(told)
    assert said not in {told.text, ""}
    assert "{" not in said + told.text
    assert "This invitation has expired." not in said
    if fields(HAPPENINGS[code]):
        assert page_text.notice(Notice(1, 0.0, "info", "Of another version.", code)) == "Of another version."


@pytest.mark.parametrize("language", OTHERS, indirect=True)
def test_every_hint_has_its_own_words(language, examples):
    for code in HINTS:
        hint = Hint(code, {"limit": 187_500, "longer": 90, "shorter": 12})
        said = text.hint(msgspec.structs.replace(examples.snapshot(), hint=hint))
        assert text.decimal("1.5 Mbit/s") in said
        assert said != hint_sentence(hint)


@pytest.mark.parametrize("language", OTHERS, indirect=True)
def test_sentences_of_the_engine_are_translated_whole(language):
    said = text.sentence(verdicts.starting("preparing", stage="Joining the collaboration."))
    assert said == text.tr("Joining the collaboration.") != "Joining the collaboration."
    assert text.sentence(verdicts.problem("x", "It broke in a new way.")) == "It broke in a new way."
    for code, reason in SENTENCES:
        for offer in offers_of(verdicts.Verdict(code=code, reason=reason)):
            assert text.tr(offer.words) != offer.words


@pytest.mark.parametrize("language", LANGUAGES, indirect=True)
@pytest.mark.parametrize("contributing", [True, False])
def test_no_mnemonic_is_twice_in_a_menu(parts, examples, language, contributing):
    parts.store.put(examples.STATES["training" if contributing else "paused"]())
    menus = [action.menu() for action in parts.window.menuBar().actions()]
    menus += [menu for one in menus for menu in one.findChildren(QMenu)]
    snooze = parts.window.actions_.snooze
    menus += [snooze.menu, *snooze.alone.values()]
    for titles in [parts.window.menuBar().actions(), *(menu.actions() for menu in menus)]:
        letters = [mark[1].lower() for action in titles if (mark := re.search("&([^&])", action.text()))]
        assert len(letters) == len(set(letters)), [action.text() for action in titles]


NUMBERS = {
    "de": ("3,4 MB", "0,42", "12,3 Mio.", "4,81 nat", "35 von 100", "Di 24. März", "5. Okt"),
    "bn": ("3.4 MB", "0.42", "12.3 M", "4.81 nat", "100-এর মধ্যে 35টি", "মঙ্গল 24 মার্চ", "5 অক্টো"),
}


@pytest.mark.parametrize("language", OTHERS, indirect=True)
def test_numbers_and_dates_are_the_languages(language):
    shown = [text.size(3_400_000), text.per_second(0.42), text.count(12_345_678), text.loss(4.81, "nats")]
    shown += [text.per_hundred(0.35), page_text.day(date(2026, 3, 24)).replace("Di.", "Di")]
    shown += [page_text.moment(datetime(2020, 10, 5, 14, 5).astimezone().timestamp())]
    assert (*shown[:-1], shown[-1][: len(NUMBERS[language][-1])]) == NUMBERS[language]
    assert text.count(12_288) == "12 288"


@pytest.mark.parametrize("language", LANGUAGES, indirect=True)
def test_each_number_has_the_same_digits(language):
    for box, shown in ((WholeBox(unit="s", most=60), "30 s"), (LimitBox(unit="GB", scale=1, first=1, most=60), "30")):
        box.setValue(30)
        assert box.text().startswith(shown)


@pytest.mark.parametrize("language", OTHERS, indirect=True)
def test_qt_speaks_the_language_too(language):
    box = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
    said = box.button(QDialogButtonBox.StandardButton.Cancel).text()
    assert text.unmarked(said) == text.tr("Cancel") != "Cancel"


@pytest.mark.parametrize(
    ("choice", "system", "code"),
    [
        ("system", ["de-AT", "de-Latn-AT", "de"], "de"),
        ("system", ["fr-FR", "fr", "de", "en"], "de"),
        ("system", ["fr-FR", "fr"], "en"),
        ("system", ["C"], "en"),
        ("system", [], "en"),
        ("de", ["en-GB", "en"], "de"),
        ("en", ["de-DE"], "en"),
    ],
)
def test_the_language_is_the_persons_or_the_systems(choice, system, code):
    assert language_of(choice, system) == code


@pytest.mark.skipif(sys.platform in {"win32", "darwin"}, reason="there the system's language is no variable")
def test_the_systems_language_is_spoken_from_the_start():
    program = (
        "from app.shell.launch import make_application\nfrom app.looks.language import speak\n"
        "from app.words import text\n"
        "qt = make_application()\nspeak(qt, 'system')\n"
        "print(text.tr('Paused'), text.size(3_400_000))"
    )
    environment = {**os.environ, "LC_ALL": "de_AT.UTF-8", "LANGUAGE": "", "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True, timeout=60)
    assert done.stdout.decode().split() == [*translated("de")["Paused"].split(), "3,4", "MB"]


@pytest.mark.parametrize("code", [SYSTEM, *LANGUAGES])
def test_the_choice_is_kept_and_its_effect_is_told(parts, code):
    actions = parts.window.menus.language_actions
    actions[LANGUAGES[-1] if code == SYSTEM else SYSTEM].trigger()
    actions[code].trigger()
    parts.choices.save()
    assert parts.choices.language == code
    assert "next start" in parts.window.status.news
    parts.window.menus.refresh()
    assert actions[code].isChecked()


def test_languages_have_their_own_names():
    assert [own_name(code) for code in ("en", "de", "bn")] == ["English", "Deutsch", "বাংলা"]


def test_an_unknown_language_in_the_file_is_the_systems(tmp_path):
    (tmp_path / "window.ini").write_text("[General]\nlanguage=tlh\n")
    assert Choices(tmp_path / "window.ini").language == SYSTEM


def test_speaking_english_again_leaves_nothing_behind(language):
    assert language == SOURCE
    assert QCoreApplication.translate("potluck", "Paused") == "Paused"
    assert QLocale().decimalPoint() == "."


@pytest.mark.parametrize("language", OTHERS, indirect=True)
@pytest.mark.parametrize("sensed", SENSED)
def test_findings_of_senses_are_told_in_the_language(language, sensed):
    told, lacking = told_of(sensed)
    for made in filter(None, (told, lacking)):
        said = text.told(str(made), (made,))
        assert said != str(made)
        assert not {"It", "Nobody", "Somebody", "The", "Rules"} & set(re.findall(r"\w+", said)), said


def problem(template, *values, hint=""):
    made = Spoken(template, *values, hint=hint)
    return ProblemView("user", made.message, made.hint, made.said)


NETWORK = Sentence("Connected {medium}, {router}.", Sentence("by cable"), Sentence("through a router"))
PORT = "Port {port} is used by another program."
WRITTEN = "{path} could not be written: {error}."


@pytest.mark.parametrize("language", OTHERS, indirect=True)
@pytest.mark.parametrize(
    ("view", "has", "lacks"),
    [
        (problem(PORT, 4000), "4000", "another"),
        (problem(PORT, 4000, "/x", hint="Potluck may not write to {folder}."), "/x", "may"),
        (
            problem("{network} It is not metered.", NETWORK),
            "{by cable}",
            "router.",
        ),
        (problem(WRITTEN, "/home/ada/a b.json", "Busy"), "/home/ada/a b.json", "written"),
        (problem("Potluck is already running. {problem}", Sentence(PORT, 4000)), "4000", "another"),
    ],
)
def test_problem_with_values_is_told_in_the_language(language, view, has, lacks):
    kept = msgspec.json.decode(msgspec.json.encode(view), type=ProblemView)
    shown = text.problem(kept)
    assert has.format_map({"by cable": text.tr("by cable")}) in shown
    assert lacks not in shown
    again = Spoken(kept.message, hint=kept.hint, said=kept.said)
    verdict = verdicts.problem(kept.code, again.sentence, again.advice)
    assert page_text.reason(msgspec.json.decode(msgspec.json.encode(verdict), type=Verdict)) == shown


@pytest.mark.parametrize("language", OTHERS, indirect=True)
def test_text_of_an_earlier_version_is_shown_as_it_is(language):
    """Notices and refusals that were kept without the values of their sentences."""
    old = b'{"number":1,"time":0.0,"level":"info","text":"Port 4000 is used by another program.","args":{}}'
    assert page_text.notice(msgspec.json.decode(old, type=Notice)) == "Port 4000 is used by another program."
    refusal = msgspec.json.decode(b'{"message":"The name \'x\' cannot be used.","hint":""}', type=KeptRefusal)
    assert refusal.problem.whole.told(text.tr) == "The name 'x' cannot be used."
    known = msgspec.json.decode(b'{"code":"x","message":"The disk is full."}', type=ProblemView)
    assert text.problem(known) != "The disk is full."


@pytest.mark.parametrize("language", OTHERS, indirect=True)
def test_values_of_a_stranger_stay_as_they_are(language):
    """A name that looks like a field, or like a sentence, changes nothing but itself."""
    for name in ("{0}", "{name}", "{1.__class__}", "{x:>9999999}", "x" * 900, "The name {name} cannot be used."):
        shown = text.problem(problem("The name {name} cannot be used.", name))
        assert name in shown
        assert "cannot be used" not in shown.replace(name, "")


def test_long_values_of_a_stranger_are_cut():
    assert len(str(Sentence("{a}{b}", "x" * 10**6, Sentence("{c}" * 9, "y" * 10**6)))) == 2 * VALUE_LETTERS_MAX


def test_english_sentences_are_left_alone(language):
    assert text.problem(problem(PORT, 4000)) == "Port 4000 is used by another program."


@pytest.mark.parametrize("language", OTHERS, indirect=True)
def test_organiser_without_a_name_is_told_in_each_language(language):
    here, who = ComputerFacts(cores=2, threads=1, memory_bytes=1, disk_free_bytes=1), "its founder"
    look = LinkLook(
        id="ab",
        name="n",
        organiser="its founder",
        fingerprint="f",
        summary="",
        task="gpt",
        download_bytes=1,
        computer=here,
    )
    rows = {name: words for name, _, words in link_look.facts(look)}
    assert rows["organiser"] not in {"", who}
