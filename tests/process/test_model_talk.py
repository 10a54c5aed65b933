"""`potluck try --stay`: one process answers again and again, follows training, and knows earlier steps."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from core.__main__ import main
from core.base.content import digest
from tests.process.swarm import CORE, ENVIRONMENT
from tests.trained import EPOCHS, Trained, trained

pytestmark = pytest.mark.process
TEXT = "the swarm shares ___ and every peer"
WAIT_S = 30


class Talk:
    """The process, and who asks it."""

    def __init__(self, home: Path) -> None:
        words = [*CORE, "try", "-", "--stay", "--json", "--home", str(home)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(words, env=ENVIRONMENT, **pipes)

    def ask(self, line: object) -> dict:
        self.process.stdin.write(json.dumps(line).encode() + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    @property
    def children(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return trained(tmp_path_factory.mktemp("talk"), "albert")


@pytest.fixture
def talk(made: Trained) -> Iterator[Talk]:
    talk = Talk(made.home.directory)
    yield talk
    talk.process.kill()
    talk.process.wait()
    for pipe in (talk.process.stdin, talk.process.stdout):
        pipe.close()


def test_one_process_follows_training_and_knows_earlier_steps(made: Trained, talk: Talk, capsys) -> None:
    ready = talk.ask({"text": ""})
    assert (ready["event"], ready["epoch"], ready["steps"]) == ("ready", EPOCHS, [EPOCHS - 1, EPOCHS])
    (child,) = talk.children
    now = talk.ask({"text": TEXT})
    assert main(["try", TEXT, "--json", "--home", str(made.home.directory)]) == 0
    assert now == json.loads(capsys.readouterr().out)
    before = talk.ask({"text": TEXT, "step": EPOCHS - 1})
    assert before["epoch"] == EPOCHS - 1
    assert before["blanks"] != now["blanks"]
    assert talk.ask({"text": TEXT}) == now
    made.learner.accumulate()
    made.learner.absorb(made.learner.hand_over(), epoch=EPOCHS + 1, lineage=digest(b"next"))
    assert made.learner.state.saved.path.exists()
    newer = talk.ask({"text": TEXT})
    assert (newer["epoch"], newer["steps"]) == (EPOCHS + 1, [EPOCHS, EPOCHS + 1])
    assert talk.children == [child]
    gone = talk.ask({"text": TEXT, "step": EPOCHS - 1})
    assert gone["message"] == f"The model of step {EPOCHS - 1} is not kept on this computer."


def test_what_cannot_be_answered_ends_nothing(talk: Talk) -> None:
    """The end of input does, and all with it."""
    assert "has no blank" in talk.ask({"text": "nothing is missing"})["message"]
    assert "too long: it has" in talk.ask({"text": "[MASK] " + 100 * "the "})["message"]
    assert "is not a question" in talk.ask({"texts": "a ___ here"})["message"]
    assert "is not a question" in talk.ask(["a ___ here"])["message"]
    (child,) = talk.children
    child.kill()
    assert talk.ask({"text": TEXT})["message"] == "The process with the model has ended."
    assert talk.ask({"text": TEXT})["event"] == "filled"
    children = talk.children
    assert children
    talk.process.stdin.close()
    assert talk.process.wait(WAIT_S) == 0
    _, alive = psutil.wait_procs(children, WAIT_S)
    assert not alive


def test_killed_window_leaves_no_process_behind(talk: Talk) -> None:
    talk.ask({"text": ""})
    children = talk.children
    talk.process.kill()
    _, alive = psutil.wait_procs(children, WAIT_S)
    assert not alive
