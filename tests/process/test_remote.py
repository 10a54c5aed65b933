"""Another own computer's engine, through OpenSSH's own server on this one."""

import asyncio
import getpass
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import msgspec
import pytest

from core.api.commands import EngineFile
from core.cli.parsing.options import ATTACHED
from core.control.client import ControlClient
from core.control.tunnel import LOOK_S, Tunnel, Unreachable
from core.storage.paths import Home
from tests.process.swarm import CORE, ENVIRONMENT
from tests.unit.control.conftest import CardboardEngine
from tests.unit.control.test_service import opened

SSHD = shutil.which("sshd", path=os.environ["PATH"] + os.pathsep + "/usr/sbin")
pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(SSHD is None or shutil.which("ssh-keygen") is None, reason="needs OpenSSH's server"),
]
LOGIN = f"{getpass.getuser()}@127.0.0.1"


@contextmanager
def ssh_server(folder: Path) -> Iterator[str]:
    """A server for this user; gives the command with which ssh reaches it."""
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    (folder / "allowed").write_bytes((folder / "user.pub").read_bytes())
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    words = [f"HostKey={folder / 'host'}", f"AuthorizedKeysFile={folder / 'allowed'}", "StrictModes=no", "UsePAM=no"]
    words += [f"PidFile={folder / 'pid'}", "ListenAddress=127.0.0.1", "PasswordAuthentication=no"]
    options = [part for word in words for part in ("-o", word)]
    server = subprocess.Popen(
        [str(SSHD), "-D", "-e", "-f", "/dev/null", "-p", str(port), *options], stderr=subprocess.DEVNULL
    )
    try:
        yield (
            f"ssh -F none -p {port} -i {folder / 'user'} -o BatchMode=yes -o ConnectionAttempts=20 -o LogLevel=ERROR"
            " -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"
        )
    finally:
        server.terminate()
        server.wait()


@asynccontextmanager
async def far_engine(folder: Path) -> AsyncIterator[tuple[Tunnel, Home, str]]:
    """A tunnel that is not open yet, its near home, and the command for ssh."""
    with ssh_server(folder) as ssh:
        near = Home(folder / "near")
        near.create()
        tunnel = Tunnel(LOGIN, near.directory, far_home=str(folder / "far"), ssh=ssh.split())
        try:
            yield tunnel, near, ssh
        finally:
            await asyncio.to_thread(tunnel.close)


def test_engine_behind_ssh_obeys_and_its_end_is_noticed(tmp_path: Path) -> None:
    async def run() -> None:
        engine = CardboardEngine()
        async with far_engine(tmp_path) as (tunnel, near, _):
            async with opened(Home(tmp_path / "far"), engine):
                await asyncio.to_thread(tunnel.connect)
                async with ControlClient.connect(near) as client:
                    await client.call("pause")
                assert engine.asked[-1] == "pause"
                assert near.engine_file.stat().st_mode & 0o077 == 0
                assert tunnel.open
            await asyncio.sleep(2 * LOOK_S)
            assert not tunnel.open
            with pytest.raises(Unreachable, match="No engine runs on"):
                await asyncio.to_thread(tunnel.connect)
            assert not near.engine_file.exists()

    asyncio.run(run())


def test_command_runs_for_the_far_engine(tmp_path: Path) -> None:
    async def run() -> None:
        async with far_engine(tmp_path) as (_, _, ssh), opened(Home(tmp_path / "far"), CardboardEngine()):
            words = ["remote", "--ssh", ssh, "--far-home", str(tmp_path / "far"), LOGIN, "status", "--json"]
            done = await asyncio.to_thread(
                subprocess.run,
                [*CORE, *words],
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
                env=ENVIRONMENT,
            )
            assert json.loads(done.stdout)["event"] == "status", done.stderr

    asyncio.run(run())


def test_nobody_there_is_a_sentence(tmp_path: Path) -> None:
    near = Home(tmp_path / "near")
    near.create()
    ssh = ["ssh", "-F", "none", "-p", "1", "-o", "BatchMode=yes"]
    with pytest.raises(Unreachable, match="does not reach"):
        Tunnel("127.0.0.1", near.directory, ssh=ssh).connect()


SOMEBODY = """
import re, socket, sys, time
words = " ".join(sys.argv)
if forward := re.search(r"-L 127.0.0.1:([0-9]+):", words):
    with socket.create_server(("127.0.0.1", int(forward[1]))):
        time.sleep(3)
    sys.exit(255)
print(ANSWER)
"""


def test_port_of_another_user_is_no_tunnel(tmp_path: Path) -> None:
    """Somebody listens on the port while ssh still asks for a password: the token must not go to them."""
    answer = msgspec.json.encode(EngineFile(1, 4000, "secret", 5, 0.0)).decode()
    near = Home(tmp_path / "near")
    near.create()
    ssh = [sys.executable, "-c", SOMEBODY.replace("ANSWER", repr(answer))]
    with pytest.raises(Unreachable, match="does not open"):
        Tunnel("127.0.0.1", near.directory, ssh=ssh).connect()
    assert not near.engine_file.exists()


def test_pause_that_reaches_nobody_is_a_problem(tmp_path: Path) -> None:
    """The far computer's settings are not here: nothing may be kept for its next start."""
    done = subprocess.run(
        [*CORE, "--home", str(tmp_path / "near"), "pause"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**ENVIRONMENT, ATTACHED: "yes"},
    )
    assert done.returncode == 2
    assert "not running" in done.stderr
    assert not (tmp_path / "near" / "settings.json").exists()
