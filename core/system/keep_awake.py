"""Keeps this computer from falling asleep by itself, only while that is wanted.

Linux: `systemd-inhibit` holds a lock of logind.  macOS: `caffeinate`.  Windows: the state of a thread.  A lock ends
with this process, however it ends.  (Run on Linux only so far.)
"""

import ctypes
import logging
import shutil
import subprocess
import sys
from typing import Any, Final

LOG = logging.getLogger(__name__)
WINDOWS_AWAKE: Final = 0x80000001
"""ES_CONTINUOUS and ES_SYSTEM_REQUIRED."""
WINDOWS_AS_USUAL: Final = 0x80000000


class KeepAwake:
    """One lock at most.  `hold` is always called by the same thread."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._windows = False
        self._told = False

    @property
    def held(self) -> bool:
        """Whether the computer is kept awake, as far as is known here."""
        return self._windows or (self._child is not None and self._child.poll() is None)

    def hold(self, wanted: bool) -> None:  # noqa: FBT001 - where the lock is to stand
        """Keep the computer awake, or let it sleep as its owner has set it.

        Where it cannot be kept awake, the log says so once.
        """
        if not wanted:
            self._release()
        elif not self._windows and self._child is None:
            self._take()
        elif not self.held:
            self._tell("The system does not let Potluck keep this computer awake.")

    def _take(self) -> None:
        if sys.platform == "win32":
            self._windows = _windows_state(WINDOWS_AWAKE)
        elif command := _command():
            # The command lives until its stdin ends, which it does with this process.
            try:
                self._child = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
                )
            except OSError as error:
                self._tell(f"This computer cannot be kept awake: {error}.")
        else:
            self._tell("This computer cannot be kept awake: neither systemd-inhibit nor caffeinate is installed.")

    def _tell(self, sentence: str) -> None:
        if not self._told:
            self._told = True
            LOG.warning(sentence)

    def _release(self) -> None:
        if self._windows:
            _windows_state(WINDOWS_AS_USUAL)
            self._windows = False
        if self._child is not None:
            assert self._child.stdin is not None
            self._child.stdin.close()
            self._child.kill()  # it may hang, asking somebody who does not answer
            self._child.wait()
            self._child = None


def _command() -> list[str]:
    """The command that holds a lock until its stdin ends; empty: this system has none."""
    if shutil.which("systemd-inhibit") and shutil.which("cat"):
        about = ["--what=sleep:idle", "--who=Potluck", "--why=It trains, as you have set it.", "--mode=block"]
        return ["systemd-inhibit", *about, "cat"]
    if shutil.which("caffeinate"):
        return ["caffeinate", "-i", "cat"]
    return []


def _windows_state(state: int) -> bool:
    """Set what this thread asks of Windows; False: it refuses."""
    windows: Any = getattr(ctypes, "windll", None)
    return windows is not None and windows.kernel32.SetThreadExecutionState(state) != 0
