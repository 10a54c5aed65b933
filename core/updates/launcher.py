"""Starts the newest version of a program that updates itself, and goes back from one that does not come up.

    python -m core.updates.launcher FOLDER NAME [WORDS]

A frozen program calls `launched` before anything else (packaging/frozen.py).  The version that was installed is the
launcher: it starts a newer one in its place, or is the program itself.
"""

import errno
import os
import runpy
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

from core.api.program_folder import ABOUT, LAUNCHER, PROGRAM, VERSIONS, ProgramFolder, begin_again
from core.system.hidden_links import own_words

TRIES: Final = 2
UP_S: Final = 25.0
"""Time within which a version comes up; with `TRIES` and the start of the one before it stays within a minute."""
LOOK_S: Final = 0.1
ENDED_WELL: Final = frozenset({0, 2, 77, 130})
"""Exit codes of a program that has come far enough to say a sentence (core.cli.program, core.system.startup)."""
BACK: Final = "potluck: Version {version} did not start, so the one before it runs. It is not taken again.\n"
_SCARCE: Final = frozenset({errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ETXTBSY})
"""What keeps a program from starting now, and says nothing of its version."""
_SCARCE_WINDOWS: Final = frozenset({32, 1450, 1455})
"""The same where errno says less: another program holds the file; no resources; the paging file is too small."""
_PASSED_ON: Final = tuple(
    number for name in ("SIGTERM", "SIGINT", "SIGHUP") if (number := getattr(signal, name, None)) is not None
)


def launched(folder: Path, name: str, words: list[str]) -> int | None:
    """Run a newer version in the place of this one.

    Args:
        folder: Where the program that runs lies.
        name: The file in it that starts it.
        words: What it is started with.

    Returns:
        The exit code of a newer version; None: this one is to run itself.
    """
    if folder.parent.name == VERSIONS:  # a launcher has started this one, or the person has
        os.environ.setdefault(PROGRAM, str(folder.parents[1]))
        os.environ.setdefault(LAUNCHER, str(folder.parents[1] / name))
        return None
    if not (folder / ABOUT).is_file():
        return None
    program = ProgramFolder(folder)
    os.environ[PROGRAM], os.environ[LAUNCHER] = str(folder), str(folder / name)
    while (version := program.newest) != program.installed:
        command = [str(program.path(version) / name), *words]
        code = _tried(program, version, command, words)
        if code is not None:
            return code
        program.roll_back(version)
        if not program.is_bad(version):
            return None  # nothing can be noted here, and the next look would find it again
        sys.stderr.write(BACK.format(version=version))
        sys.stderr.flush()
    return None


def _tried(program: ProgramFolder, version: str, command: list[str], words: list[str]) -> int | None:
    """Run a version; returns its exit code, None: it did not come up, or its program is gone or torn."""
    try:
        if program.is_proven(version) or not _comes_up(words) or not program.try_out(version):
            return _become(command)
        codes = (_watched(program, version, command) for _ in range(TRIES))
        return next((code for code in codes if code is not None), None)
    except OSError as error:
        if error.errno in _SCARCE or getattr(error, "winerror", None) in _SCARCE_WINDOWS:
            raise
        return None


def _comes_up(words: list[str]) -> bool:
    """Whether these are the words of a window or an engine: of all others nobody knows how long they take."""
    rest = [word for word in words if word != "--hidden" and not word.startswith("--home=")]
    if rest[:1] == ["--home"]:
        del rest[:2]
    return not rest or rest[0] == "engine" or rest[0].startswith(("potluck:", "link-by-pipe"))


def _become(command: list[str]) -> int:
    """Go on as another program; on Windows wait for it."""
    if sys.platform != "win32":
        os.execv(command[0], command)  # noqa: S606 - this program in another version, no shell
    return subprocess.call(command)


def _watched(program: ProgramFolder, version: str, command: list[str]) -> int | None:
    """Run a version that has never come up; returns its exit code, None: it did not come up."""
    told: list[int] = []
    child = subprocess.Popen(command)

    def pass_on(number: int, _: object) -> None:
        told.append(number)
        if child.poll() is None:
            child.send_signal(number)

    before = {number: signal.signal(number, pass_on) for number in _PASSED_ON}
    try:
        code = _code(child, program, version)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    ended_well = code is not None and (code in ENDED_WELL or bool(told) or program.is_proven(version))
    return code if ended_well else None


def _code(child: "subprocess.Popen[bytes]", program: ProgramFolder, version: str) -> int | None:
    """The exit code of a child; None: it does not come up in time, and was ended."""
    for _ in range(round(UP_S / LOOK_S)):  # on Windows clocks go on while the computer sleeps
        try:
            return child.wait(LOOK_S)
        except subprocess.TimeoutExpired:
            if program.is_proven(version):
                return child.wait()
    child.kill()
    child.wait()
    return None


def go_on() -> int:
    """Become the newest version, for an engine that has ended for it; returns an exit code where there is none.

    It is the same process, so that whoever has started it keeps it; on Windows a new one.  A link is left out of its
    words: the collaboration behind it was joined.
    """
    words: list[str] = []
    for word in sys.argv[1:]:
        if words[-1:] == ["--join"]:
            words.pop()
        elif not word.startswith("--join="):
            words.append(word)
    command = begin_again(words)
    if command is None:
        return 0
    os.environ.pop("PYTHONPATH", None)  # the training part's, which the newest version chooses for itself
    if sys.platform != "win32":
        os.execv(command[0], command)  # noqa: S606 - this program in another version, no shell
    subprocess.Popen(command)
    return 0


def main() -> int:
    """Run the newest version of the program in the folder that the words name; returns the exit code."""
    folder, name = Path(sys.argv[1]), sys.argv[2]
    words = list(own_words())[2:]
    code = launched(folder, name, words)
    if code is not None:
        return code
    sys.argv = [name, *words]
    runpy.run_module("core", run_name="__main__", alter_sys=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
