"""Four pages found a collaboration, whose backbone runs under the engine; another computer joins by the link."""

import asyncio
import subprocess
from random import Random

import psutil
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

import resources
from app.engine.engine_process import engine_command
from core.storage.paths import Home
from tests.process.swarm import CORE, LOOPBACK, Volunteer, end, start

WAIT_MS = 120_000
"""Only bounds a failure: other tests compute on the same cores at the same time."""
WORDS = ("sea", "calm", "sailor", "looked", "white", "whale", "under", "low", "grey", "sky", "dawn")

pytestmark = [pytest.mark.process, pytest.mark.long]


@pytest.fixture
def person(tmp_path, monkeypatch):
    for name, value in (("POTLUCK_KEYRING", "off"), ("POTLUCK_SENSES", "off"), ("OMP_NUM_THREADS", "1")):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    books, random = tmp_path / "books", Random(5)
    books.mkdir()
    for name in "abcdef":
        text = "\n\n".join(" ".join(random.choices(WORDS, k=60)) for _ in range(120))
        (books / f"{name}.txt").write_text(text, encoding="utf-8")
    recipe = resources.file("recipes", "small-gpt.toml").read_text().replace("_samples = 512", "_samples = 64")
    (tmp_path / "letters.toml").write_text(recipe)
    return tmp_path


def fill_in(founding, person, until) -> None:
    """The four pages, with a folder that is not there and an address that nobody can have at first."""
    QTest.keyClicks(founding.what.recipe, str(person / "letters.toml"))
    founding.what.own.setChecked(True)
    QTest.keyClicks(founding.what.folder, str(person / "nothing"))
    QTest.keyClick(founding.yes, Qt.Key.Key_Space)
    QTest.keyClicks(founding.who.name, "Kitchen words")
    QTest.keyClick(founding.who.name, Qt.Key.Key_Return)
    QTest.keyClicks(founding.where.also, "my_host")
    QTest.keyClick(founding.where.also, Qt.Key.Key_Return)
    asked = ["found", str(person / "letters.toml"), "--text", str(person / "nothing"), "--host", "my_host"]
    said = subprocess.run([*CORE, *asked], capture_output=True, text=True, check=False).stderr
    until(lambda: not founding.ready.said.text().startswith("The text"), WAIT_MS)
    assert founding.ready.said.text() == said.removeprefix("potluck: ").strip(), "the sentence of the command line"
    for page in (founding.where.also, founding.what.folder):
        page.clear()
    founding.what.folder.setText(str(person / "books"))
    founding.where.also.setText("127.0.0.1")
    QTest.keyClick(founding.back, Qt.Key.Key_Space)
    QTest.keyClick(founding.yes, Qt.Key.Key_Space)
    until(lambda: founding.ready.link.isVisible() or founding.back.isVisible(), WAIT_MS)
    assert founding.ready.link.isVisible(), founding.ready.said.text()


def test_pages_found_what_another_computer_joins(person, application_of, until):
    home = person / ".potluck"
    application = application_of(home, [*engine_command(home), *LOOPBACK, "--port", "0"])
    window, founding = application.window, application.window.founding
    application.welcome()
    QTest.mouseClick(window.join.links.found, Qt.MouseButton.LeftButton)
    fill_in(founding, person, until)
    link = founding.ready.link.field.text()
    assert link.startswith("potluck://127.0.0.1:")
    assert not psutil.Process().children(), "nothing runs before the person has said how"
    QTest.keyClick(founding.yes, Qt.Key.Key_Space)
    QTest.keyClick(window.join.habits.name, Qt.Key.Key_Return)
    until(lambda: (seen := application.store.snapshot) is not None and seen.me.samples > 0, WAIT_MS)
    assert application.store.snapshot.collaboration.name == "Kitchen words"
    ben = Home(person / "ben")
    ben.create()
    words = ["engine", "--home", str(ben.directory), "--join", link, "--name", "ben", *LOOPBACK, "--port", "0"]
    volunteer = Volunteer(ben, start([*words, "--with-parent"], person / "ben.log"))
    try:
        asyncio.run(volunteer.until(lambda news: news.me.samples > 0))
        window.actions_.pages["collaborations"].trigger()
        until(lambda: len(window.collaborations.cards) == 1, WAIT_MS)
        (card,) = window.collaborations.cards.values()
        until(lambda: "lets others in, runs" in card.words[-1], WAIT_MS)
        assert card.words[0] == "Kitchen words"
        QTest.keyClick(card.invite, Qt.Key.Key_Space)
        inviting = window.collaborations.keeping.inviting
        QTest.keyClick(inviting.make, Qt.Key.Key_Space)
        until(inviting.link.isVisible, WAIT_MS)
        assert inviting.link.field.text() != link
        inviting.reject()
    finally:
        end(volunteer.process)
    engine = psutil.Process(application.process.child.pid)
    running = [engine, *engine.children(recursive=True)]
    assert any("backbone" in one.cmdline() for one in running)
    window.actions_.quit.trigger()
    until(lambda: application.gone, WAIT_MS)
    until(lambda: not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in running), WAIT_MS)
