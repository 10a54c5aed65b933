"""Sending a model to a hub: the real library against a small server on this computer."""

import base64
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from core.base.problems import BadInput
from core.cli.model.export import hub_token

pytestmark = pytest.mark.process
PUSH = """
import sys
from pathlib import Path
from core.base.problems import UserProblem
from core.cli.model.export import push
try:
    print(push(Path(sys.argv[1]), "ada/rhymes", "secret-token"))
except UserProblem as problem:
    print(problem)
"""


class Hub(ThreadingHTTPServer):
    """Takes models as the hub's interface has it, every file within the commit."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Desk)
        self.private: list[bool] = []
        self.files: dict[str, bytes] = {}
        self.refuses = False


class Desk(BaseHTTPRequestHandler):
    server: Hub

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.server.refuses or self.headers["Authorization"] != "Bearer secret-token":
            return self.say(401, {"error": "the token secret-token is not valid"})
        match self.path.split("/")[2:]:
            case ["repos", "create"]:
                asked = json.loads(body)
                self.server.private.append(asked.get("private") or asked.get("visibility") == "private")
                return self.say(200, {"url": f"{self.address}/{asked.get('organization', 'ada')}/{asked['name']}"})
            case ["validate-yaml"]:
                return self.say(200, {"errors": [], "warnings": []})
            case ["models", "ada", "rhymes", "preupload", "main"]:
                paths = [one["path"] for one in json.loads(body)["files"]]
                files = [{"path": path, "uploadMode": "regular", "shouldIgnore": False} for path in paths]
                return self.say(200, {"files": files})
            case ["models", "ada", "rhymes", "commit", "main"]:
                for line in map(json.loads, body.splitlines()):
                    if line["key"] == "file":
                        self.server.files[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
                return self.say(200, {"commitUrl": f"{self.address}/ada/rhymes/commit/1", "commitOid": "1"})
        return self.say(404, {"error": self.path})

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def say(self, status: int, words: object) -> None:
        data = json.dumps(words).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def hub() -> Iterator[Hub]:
    server = Hub()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def sent(folder: Path, port: int) -> str:
    """What is said of sending a folder to a hub at a port."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "TRANSFORMERS_"))}
    env |= {"HF_ENDPOINT": f"http://127.0.0.1:{port}", "HF_HOME": str(folder / ".." / "cache")}
    words = [sys.executable, "-c", PUSH, str(folder)]
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "model"
    made.mkdir()
    (made / "README.md").write_text("---\nlibrary_name: transformers\n---\n# Rhymes\n")
    (made / "model.safetensors").write_bytes(bytes(range(256)) * 100)
    return made


def test_hub_gets_every_file_of_a_private_model(folder: Path) -> None:
    with hub() as server:
        assert "/ada/rhymes" in sent(folder, server.server_port)
    assert server.private == [True]
    assert server.files == {path.name: path.read_bytes() for path in folder.iterdir()}


def test_refusing_hub_is_a_sentence_without_the_token(folder: Path) -> None:
    with hub() as server:
        server.refuses = True
        said = sent(folder, server.server_port)
    assert "The model was not sent to http://127.0.0.1" in said
    assert "401" in said
    assert "secret-token" not in said


def test_absent_hub_is_a_sentence(folder: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        said = sent(folder, closed.getsockname()[1])
    assert "The model was not sent" in said
    assert "is whole" in said


def test_token_comes_from_the_environment() -> None:
    off = {"POTLUCK_KEYRING": "off"}
    assert hub_token("ada/rhymes", off | {"HF_TOKEN": " t "}) == "t"
    with pytest.raises(BadInput, match="there is none"):
        hub_token("ada/rhymes", off)
    for token in ("a b", "a\nb", "töken", "t" * 201):
        with pytest.raises(BadInput, match="a token cannot have") as refusal:
            hub_token("ada/rhymes", off | {"HF_TOKEN": token})
        assert token not in str(refusal.value)
    for name in ("rhymes", "ada/rhymes/x", "ada/../x", "", "a b/c"):
        with pytest.raises(BadInput, match="not the name"):
            hub_token(name, off | {"HF_TOKEN": "t"})
