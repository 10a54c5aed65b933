"""docs/servers.md and the notebook, as somebody without a screen follows them, in a collaboration on this computer."""

import asyncio
import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.storage.paths import Home
from tests.process.swarm import CORE, ENVIRONMENT, LOOPBACK, Collaboration, collaboration, end, found, start
from tests.process.test_invitations import invite

pytestmark = pytest.mark.process
ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "servers.md"
NOTEBOOK = ROOT / "packaging" / "notebook" / "potluck.ipynb"
PATIENCE_S = 240.0
"""Bounds a failure: other tests compute on the same cores."""


def block(title: str) -> list[list[str]]:
    """The words of each command in the first block below a title of the guide."""
    text = GUIDE.read_text("utf-8").partition(f"\n## {title}\n")[2].split("```")[1]
    return [shlex.split(line, comments=True) for line in text.splitlines()[1:]]


def until(so: Callable[[], Any]) -> Any:
    """What it says as soon as that is something."""
    ends = time.monotonic() + PATIENCE_S
    while not (said := so()):
        assert time.monotonic() < ends
        time.sleep(0.3)
    return said


def test_commands_of_the_guide_are_followed(tmp_path: Path) -> None:
    env = {**ENVIRONMENT, "POTLUCK_HOME": str(tmp_path / "home")}

    def typed(words: list[str]) -> tuple[int, str]:
        done = subprocess.run(
            [*CORE, *words], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120
        )
        return done.returncode, done.stdout + done.stderr

    async def run() -> None:
        async with collaboration(found(tmp_path, target_samples=64), tmp_path) as swarm:
            await asyncio.to_thread(follow, swarm)

    def follow(swarm: Collaboration) -> None:
        with contextlib.ExitStack() as ends:
            for program, *typed_there in block("Take part"):
                assert program == "potluck"
                words = [swarm.link if word == "LINK" else word for word in typed_there]
                if words == ["engine"]:
                    words += ["--with-parent", *LOOPBACK, *swarm.allowed]
                    engine = start(words, tmp_path / "engine.log", more=env)
                    ends.callback(end, engine)
                    until(lambda: typed(["status"])[0] == 0)
                    continue
                code, said = typed(words)
                assert code == 0, (words, said)
            assert engine.wait(30) == 0

    asyncio.run(run())


def script(**parameters: object) -> str:
    """The notebook's cells as one program, with other parameters, and with this Potluck instead of installing one."""
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    parts = []
    for cell in cells:
        tags, text = cell["metadata"].get("tags", []), "".join(cell["source"])
        if cell["cell_type"] == "code":
            compile(text, str(NOTEBOOK), "exec")
            given = "".join(f"\n{name} = {value!r}" for name, value in parameters.items())
            parts.append(f"POTLUCK = {list(CORE)!r}" if "install" in tags else text)
            parts.append(given if "parameters" in tags else "")
    return "\n".join(parts)


def test_notebook_survives_a_session_that_is_cut_off(tmp_path: Path) -> None:
    charter = found(tmp_path, target_samples=64)
    keep, person = tmp_path / "drive" / "potluck", tmp_path / "person"
    home = Home(person / "potluck-home")
    states = home.state(charter.manifest.id.hex()) / "states"
    sessions: list[subprocess.Popen[bytes]] = []

    def session(swarm: Collaboration, link: str) -> "subprocess.Popen[bytes]":
        words = [*LOOPBACK, "--port", "0", *swarm.allowed]
        program = script(LINK=link, NAME="Ada", KEEP=str(keep), WORDS=words).replace("sleep(20)", "sleep(1)")
        person.mkdir(exist_ok=True)
        with (tmp_path / "notebook.log").open("ab") as log:
            env = {**ENVIRONMENT, "HOME": str(person)}
            run = [sys.executable, "-c", program]
            sessions.append(subprocess.Popen(run, env=env, stdout=log, stderr=log, start_new_session=True))
        return sessions[-1]

    def kill(process: "subprocess.Popen[bytes]") -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def me(folder: Path) -> str:
        return str(json.loads((folder / "identity.json").read_bytes())["peer"])

    async def run() -> None:
        async with collaboration(charter, tmp_path) as swarm:
            (one,) = await asyncio.to_thread(invite, charter, "--uses", "1")
            try:
                await asyncio.to_thread(cut, swarm, str(one["link"]))
            finally:
                for process in sessions:
                    kill(process)
            _, listed = await asyncio.to_thread(invite, charter, "--list")
            assert listed["used"] == 1

    def cut(swarm: Collaboration, link: str) -> None:
        first = session(swarm, link)
        until(lambda: list(states.glob("state-*")) and list(keep.glob("state/*/pass.json")))
        key = me(keep)
        kill(first)
        shutil.rmtree(person)  # as a provider does
        assert not {file.name for file in keep.rglob("*")} & {"engine.json", "states"}
        second = session(swarm, link)
        until(lambda: list(states.glob("state-*")))
        assert me(home.directory) == key
        second.send_signal(signal.SIGINT)  # the cell is stopped
        assert second.wait(60) == 0

    asyncio.run(run())
