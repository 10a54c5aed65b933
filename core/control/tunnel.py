"""Another own computer's engine, reached through SSH as if it ran here.

The engine listens on the loopback address of its own computer only, and it stays so: OpenSSH brings a port of this
computer there, and a folder of this computer gets the far `engine.json` with that port and with ssh's process in place
of the engine's.  Whatever attaches to a home can attach to that folder.
"""

import contextlib
import re
import shlex
import socket
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
import psutil

from core.api.commands import ENGINE_FILE_BYTES_MAX, EngineFile
from core.api.places import engine_file
from core.base.problems import BadInput, UserProblem
from core.system.atomic_files import write_atomic

ANSWER_S: Final = 60.0
"""Upper bound on asking for the far file, a password typed in the terminal included."""
OPEN_S: Final = 30.0
LOOK_S: Final = 5
"""Period at which the far side looks whether its engine is still the same one."""
USUAL_HOMES: Final = (
    '"${POTLUCK_HOME:-/nowhere}"',
    '"${XDG_DATA_HOME:-$HOME/.local/share}/potluck"',
    '"$HOME/Library/Application Support/potluck"',
)


class Unreachable(UserProblem):
    """SSH does not get there, or no engine runs there."""

    code = "unreachable"


class Tunnel:
    """A forwarded port, and the folder that leads to it.

    Args:
        computer: As ssh takes it: a host, or user@host.
        home: Home of this computer: the folder to write `engine.json` to.
        far_home: Home of the far engine; empty: where POTLUCK_HOME of the far login or its system says.
        ssh: The command, with options.

    Raises:
        BadInput: ssh must not get this name.
    """

    def __init__(self, computer: str, home: Path, *, far_home: str = "", ssh: Sequence[str] = ("ssh",)) -> None:
        if not re.fullmatch(r"[A-Za-z0-9_\[][A-Za-z0-9_.@:%\[\]-]*", computer):
            raise BadInput("{computer} is not the name of a computer.", computer, hint="Give it as to ssh: user@host")
        self._computer = computer
        self._file = engine_file(home)
        homes = [shlex.quote(far_home)] if far_home else USUAL_HOMES
        self._find = f'for d in {" ".join(homes)}; do [ -f "$d/engine.json" ] && f="$d/engine.json" && break; done; '
        self._ssh = list(ssh)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def open(self) -> bool:
        """Whether the far engine can be reached, as far as is known here."""
        return self._process is not None and self._process.poll() is None

    def connect(self) -> None:
        """Ask for the far engine, and forward a port to it until it ends.

        Raises:
            Unreachable: there is no way there, or no engine there.
        """
        self.close()
        far, port = self._ask(), _free_port()
        # The far side ends the connection when its engine has gone or is another one; writing tells it of our end.
        same = (
            f'{self._find}[ -n "$f" ] || exit 66; c=$(cksum <"$f"); '
            f'while [ "$(cksum 2>/dev/null <"$f")" = "$c" ]; do echo; sleep {LOOK_S}; done'
        )
        forward = ["-o", "ExitOnForwardFailure=yes", "-L", f"127.0.0.1:{port}:127.0.0.1:{far.port}"]
        self._process = subprocess.Popen(
            [*self._ssh, *forward, "--", self._computer, same],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )
        # ssh runs the far command only once the port is its own.  Whether somebody listens there tells nothing: another
        # user of this computer may, and would be given the token.
        if not _writes(self._process, OPEN_S):
            self.close()
            raise Unreachable("The way to {computer} does not open.", self._computer, hint="Look at what ssh says.")
        started = psutil.Process(self._process.pid).create_time()
        near = EngineFile(self._process.pid, port, far.token, far.protocol, started, far=True)
        write_atomic(self._file, msgspec.json.encode(near))

    def close(self) -> None:
        """End ssh, and forget the way."""
        self._file.unlink(missing_ok=True)
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None

    def _ask(self) -> EngineFile:
        command = [*self._ssh, "--", self._computer, f'{self._find}[ -n "$f" ] || exit 66; exec cat "$f"']
        try:
            asked = subprocess.run(command, stdout=subprocess.PIPE, timeout=ANSWER_S, check=False)
        except FileNotFoundError as error:
            raise Unreachable("The program ssh is not installed.", hint="Install OpenSSH's client.") from error
        except subprocess.TimeoutExpired as error:
            raise Unreachable("{computer} does not answer.", self._computer, hint="Try again later.") from error
        if asked.returncode == 66:
            hint = "Start one there with: potluck engine - or name its home with --far-home"
            raise Unreachable("No engine runs on {computer}.", self._computer, hint=hint)
        if asked.returncode != 0:
            raise Unreachable("SSH does not reach {computer}.", self._computer, hint="Try: ssh {computer}")
        with contextlib.suppress(msgspec.DecodeError):
            if len(asked.stdout) <= ENGINE_FILE_BYTES_MAX:
                far = msgspec.json.decode(asked.stdout, type=EngineFile)
                if 0 < far.port < 65536:
                    return far
        raise Unreachable(
            "{computer} gives no valid engine.json.", self._computer, hint="Is another version running there?"
        )


def _free_port() -> int:
    """A port of this computer that nobody listens on at the moment."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _writes(process: subprocess.Popen[bytes], within_s: float) -> bool:
    """Whether a process writes something in time; what it writes later is read, too, and dropped."""
    began, ended = threading.Event(), threading.Event()

    def drain() -> None:
        assert process.stdout is not None
        with process.stdout:
            while process.stdout.readline():
                began.set()
        ended.set()
        began.set()

    threading.Thread(target=drain, name="tunnel", daemon=True).start()
    return began.wait(within_s) and not ended.is_set()
