"""The client, against a small service."""

import random
import threading

import msgspec
import pytest

from app.engine.client import Client
from app.words import text
from core.api.commands import EngineFile, ModelEvaluation
from core.api.places import engine_file
from core.api.score import Score
from core.api.snapshot import PROTOCOL_VERSION, LossView, Notice, ProblemView


@pytest.fixture
def heard(qt, tmp_path):
    """A client, and what it told."""

    class Heard:
        def __init__(self) -> None:
            self.links, self.snapshots, self.notices, self.shows, self.answers, self.failures = [], [], [], [], [], []
            self.client = Client(tmp_path, random.Random(1))
            self.client.link_changed.connect(self.links.append)
            self.client.snapshot_came.connect(self.snapshots.append)
            self.client.notice_came.connect(self.notices.append)
            self.client.show_asked.connect(lambda: self.shows.append(1))
            self.client.answered.connect(lambda method, result: self.answers.append((method, result)))
            self.client.failed.connect(lambda method, problem: self.failures.append((method, problem)))

        @property
        def state(self):
            return self.links[-1] if self.links else "connecting"

    made = Heard()
    yield made
    made.client.stop()


def test_snapshots_notices_and_show(heard, fake_engine, tmp_path, until):
    with fake_engine.FakeService(tmp_path) as service:
        heard.client.start()
        until(lambda: heard.snapshots)
        assert heard.snapshots[0] == service.snapshot
        assert heard.state == ""
        assert service.headers[0]["Authorization"] == f"Bearer {fake_engine.TOKEN}"
        assert "Origin" not in service.headers[0]
        until(lambda: service.clients)
        service.tell("notice", Notice(1, 2.0, "info", "Hello."))
        service.tell("show", {})
        service.tell("something_new", {"x": 1})
        until(lambda: heard.notices and heard.shows)
        assert heard.notices[0].text == "Hello."


def test_calls_are_answered(heard, fake_engine, tmp_path, until):
    with fake_engine.FakeService(tmp_path) as service:
        heard.client.start()
        until(lambda: heard.snapshots and service.clients)
        heard.client.call("pause")
        heard.client.call("evaluate")
        until(lambda: len(heard.answers) == 2)
        assert service.calls == ["pause", "evaluate"]
        assert heard.answers == [
            ("pause", None),
            (
                "evaluate",
                ModelEvaluation(
                    epoch=40,
                    score=Score(4.81),
                    meaning=LossView("masked-word loss", "nats", baselines={"word frequencies": Score(6.31)}),
                ),
            ),
        ]
        until(lambda: heard.snapshots[-1].contributing is False)
        service.refuse = ProblemView("no_space", "The disk is full.", "Free some.")
        heard.client.call("resume")
        until(lambda: heard.failures)
        assert heard.failures == [("resume", service.refuse)]


def test_settings_go_down_and_come_up(heard, fake_engine, tmp_path, until):
    with fake_engine.FakeService(tmp_path) as service:
        heard.client.start()
        until(lambda: heard.snapshots and service.clients)
        heard.client.call("settings")
        heard.client.call("configure", {"relay": False, "month_bytes": None})
        heard.client.call("test_port")
        until(lambda: len(heard.answers) == 3)
        before, after, tested = (result for _, result in heard.answers)
        assert (before.relay, after.relay, after.month_bytes) == (True, False, None)
        assert tested.port == 24_000


def test_without_an_engine_calls_fail(heard, until):
    heard.client.start()
    until(lambda: heard.state == "stopped")
    heard.client.call("pause")
    assert heard.failures == [("pause", text.engine_away())]


def test_it_comes_back(heard, fake_engine, tmp_path, until):
    with fake_engine.FakeService(tmp_path) as service:
        heard.client.start()
        until(lambda: heard.snapshots and service.clients)
        service.drop_clients()
        until(lambda: len(heard.snapshots) == 2)
    until(lambda: heard.state == "stopped")
    with fake_engine.FakeService(tmp_path):
        until(lambda: len(heard.snapshots) == 3)
        assert heard.state == ""


def test_only_the_newest_snapshot_comes_to_a_busy_window(heard, fake_engine, examples, tmp_path, until):
    with fake_engine.FakeService(tmp_path) as service:
        heard.client.start()
        until(lambda: heard.snapshots and service.clients)
        before = len(heard.snapshots)
        for epoch in range(100, 200):
            service.put(examples.snapshot(epoch=epoch))
        threading.Event().wait(0.5)  # the window is busy
        until(lambda: heard.snapshots[-1].epoch == 199)
        assert len(heard.snapshots) - before < 10


def test_engines_that_cannot_be_used(heard, fake_engine, tmp_path, until):
    with fake_engine.FakeService(tmp_path, protocol=99):
        heard.client.start()
        until(lambda: heard.links)
        assert heard.links == ["version"]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"x" * 10_000, None])
def test_bad_engine_files(heard, tmp_path, until, content):
    reason = "killed" if content is None else "stopped"
    if content is None:  # well-formed, but nobody is there and the token is no header
        file = EngineFile(pid=1, port=1, token="a\r\nb", protocol=PROTOCOL_VERSION, started=0.0)
        content = msgspec.json.encode(file)
    engine_file(tmp_path).write_bytes(content)
    heard.client.start()
    until(lambda: heard.state == reason)


def test_garbage_from_the_door_is_skipped(heard, fake_engine, tmp_path, until):
    with fake_engine.FakeService(tmp_path) as service:
        heard.client.start()
        until(lambda: heard.snapshots and service.clients)
        for client in service.clients:
            client.send("not json")
            client.send('{"method": "snapshot", "params": {"x": 1}}')
            client.send('{"id": 77, "result": 1}')
        service.put(service.snapshot)
        until(lambda: len(heard.snapshots) == 2)
