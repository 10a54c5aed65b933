"""Finds the wheels of a lock as pip would, and downloads them so that a cut loses nothing.

pip is used as a library, for its settings, its sign-ins and its choice of a file.  Its command downloads a whole file
to learn its hash, and begins one that was cut off anew.
"""

import hashlib
import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from core.base.problems import BadInput, Problem, UserProblem
from core.parts import choice
from core.system.atomic_files import move_patiently

CHUNK_BYTES: Final = 1 << 18
BYTES_MAX: Final = 8 * 10**9
"""Upper bound on a file whose place does not tell its size."""
FAILURES_MAX: Final = 6
"""Number of attempts in a row that brought nothing after which a download is given up."""
WAIT_S: Final = 0.5
"""Wait after the first of them; it doubles."""
PIP_WORDS: Final = (
    *("--no-input", "--disable-pip-version-check", "--no-cache-dir", "--only-binary", ":all:", "--retries", "2"),
)
_PIN: Final = re.compile(r"(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;\\]+)(?:\s*;\s*(?P<marker>[^\\]+))?")
_HASH: Final = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_HOST: Final = re.compile(r"^https?://(?:[^/@]*@)?([^/]+).*")
_NO_FILE: Final = frozenset({401, 403, 404, 407, 410})


@dataclass(slots=True)
class Pin:
    """A package as the lock names it."""

    name: str
    version: str
    hashes: list[str] = field(default_factory=list)
    """SHA-256 of each file that it may come as."""


@dataclass(slots=True, kw_only=True)
class Wheel:
    """A file that is to be downloaded, or lies here."""

    pin: Pin
    url: str
    path: Path
    """Where it lies, or is going to."""
    size_bytes: int = 0
    """0: its place does not tell."""

    @property
    def partial(self) -> Path:
        """Where it lies until it is whole."""
        return self.path.with_name(f"{self.path.name}.part")

    @property
    def here_bytes(self) -> int:
        """Size of what has been downloaded."""
        return next((path.stat().st_size for path in (self.path, self.partial) if path.is_file()), 0)


def pins_of(text: str, holds: Callable[[str], bool]) -> Iterator[Pin]:
    """The packages of a lock file that this computer needs.

    Args:
        text: The file.
        holds: Whether a marker is true here.
    """
    wanted: Pin | None = None
    for line in [*text.splitlines(), "end==0"]:
        if (found := _PIN.match(line)) is not None:
            if wanted is not None:
                yield wanted
            needed = found["marker"] is None or holds(found["marker"].strip())
            wanted = Pin(found["name"], found["version"]) if needed else None
        elif wanted is not None:
            wanted.hashes += _HASH.findall(line)


class WheelSource:
    """The places that pip would look at, while it is open.

    Args:
        cache: The folder to which files are downloaded.
        build: Build of torch, whose folder in PyTorch's index may be asked.
        folder: A folder with wheels: nothing else is asked; None: as pip's settings say.
        sleep: Waits, seconds.

    Raises:
        UserProblem: this Python has no pip.
    """

    def __init__(
        self, cache: Path, build: str, *, folder: Path | None = None, sleep: Callable[[float], object] = time.sleep
    ) -> None:
        try:
            from pip._internal import commands  # noqa: PLC0415 - only for this, and it takes a while
            from pip._internal.models import search_scope  # noqa: PLC0415
            from pip._internal.utils import hashes  # noqa: PLC0415
            from pip._vendor import requests, urllib3  # noqa: PLC0415
            from pip._vendor.packaging import markers, specifiers  # noqa: PLC0415
        except ImportError as error:
            hint = "Install Potluck again, or pip beside it."
            raise UserProblem("This Python has no pip, by which the training part is found.", hint=hint) from error
        self._broken = (requests.exceptions.RequestException, urllib3.exceptions.HTTPError)
        self._scope, self._hashes, self._exactly = search_scope.SearchScope, hashes.Hashes, specifiers.SpecifierSet
        self._marker = markers.Marker
        self._cache, self._build, self._folder, self._sleep = cache, build, folder, sleep
        logging.getLogger("pip").setLevel(logging.CRITICAL)  # what it cannot reach is told in one sentence
        words = [*PIP_WORDS, *(["--no-index", "--find-links", str(folder)] if folder is not None else [])]
        self._command: Any = commands.create_command("download")
        self._options, _ = self._command.parse_args(words)
        self._open = ExitStack()

    def __enter__(self) -> Self:
        self._open.enter_context(self._command.main_context())
        self._session = self._command.get_default_session(self._options)
        self._finder = self._command._build_package_finder(self._options, self._session)  # noqa: SLF001 - pip's only way
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def holds(self, marker: str) -> bool:
        """Whether a marker of the lock is true on this computer."""
        return bool(self._marker(marker).evaluate())

    def find(self, pin: Pin) -> Wheel:
        """Where a package can be got.

        Raises:
            UserProblem: nowhere.
        """
        hashes, exact = self._hashes({"sha256": pin.hashes}), self._exactly(f"==={pin.version}")
        best = self._finder.find_best_candidate(pin.name, exact, hashes).best_candidate
        if best is None and "+" in pin.version and not self._options.no_index:
            own = self._finder.search_scope
            self._finder.search_scope = self._scope.create([], [choice.PYTORCH + self._build], no_index=False)
            best = self._finder.find_best_candidate(pin.name, exact, hashes).best_candidate
            self._finder.search_scope = own
        if best is None:
            raise self._nowhere(pin)
        path = Path(best.link.file_path) if best.link.is_file else self._cache / Path(best.link.filename).name
        wheel = Wheel(pin=pin, url=best.link.url_without_fragment, path=path)
        wheel.size_bytes = path.stat().st_size if path.is_file() else self._size(wheel.url)
        return wheel

    def fetch(self, wheel: Wheel, tell: Callable[[int], object]) -> None:
        """Have a file here, from where the last attempt ended, and with the right hash.

        Args:
            wheel: The file.
            tell: Hears how many bytes of it are here.

        Raises:
            UserProblem: the connection does not come back, or the file is another one.
        """
        failures, most = 0, wheel.here_bytes
        while not wheel.path.is_file():
            if self._attempt(wheel, tell):
                move_patiently(wheel.partial, wheel.path, sleep=self._sleep)
                break
            failures = 0 if wheel.here_bytes > most else failures + 1  # a place may begin anew again and again
            most = max(most, wheel.here_bytes)
            if failures >= FAILURES_MAX:
                raise UserProblem(
                    "The connection to {place} broke, and does not come back.",
                    _HOST.sub(r"\1", wheel.url),
                    hint="Try again later: it goes on where it was. Behind a proxy, set HTTPS_PROXY.",
                )
            self._sleep(WAIT_S * 2**failures if failures else 0.0)
        with wheel.path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest not in wheel.pin.hashes:
            if wheel.path.parent == self._cache:
                wheel.path.unlink()
            raise _another(wheel)

    def _attempt(self, wheel: Wheel, tell: Callable[[int], object]) -> bool:
        """Read on; returns whether all is here."""
        have = wheel.here_bytes
        if wheel.size_bytes and have >= wheel.size_bytes:
            return True
        asked = {"Accept-Encoding": "identity", **({"Range": f"bytes={have}-"} if have else {})}
        try:
            with self._session.get(wheel.url, headers=asked, stream=True) as answer:
                if answer.status_code in _NO_FILE:
                    raise _refused(answer.status_code, wheel.url)
                if not answer.ok:
                    return bool(answer.status_code == 416)  # nothing is left of it: the hash decides
                goes_on = answer.status_code == 206
                expected = _length(answer.headers) + (have if goes_on else 0)
                with wheel.partial.open("ab" if goes_on else "wb") as file:
                    for chunk in answer.raw.stream(CHUNK_BYTES, decode_content=False):
                        if file.tell() + len(chunk) > (wheel.size_bytes or BYTES_MAX):
                            file.truncate(0)
                            raise _another(wheel)
                        file.write(chunk)
                        tell(file.tell())
                return wheel.here_bytes >= (wheel.size_bytes or expected)
        except self._broken:
            return False

    def _size(self, url: str) -> int:
        try:
            answer = self._session.head(url, headers={"Accept-Encoding": "identity"}, allow_redirects=True)
            return _length(answer.headers) if answer.ok else 0
        except self._broken:
            return 0

    def _nowhere(self, pin: Pin) -> Problem:
        if self._folder is not None:
            return BadInput(
                "The folder {folder} does not have {name} {version} for this computer.",
                self._folder,
                pin.name,
                pin.version,
                hint="Fill it on a computer with a connection, or leave --from out.",
            )
        return UserProblem(
            "No place that pip asks has {name} {version} for this computer, or none answers.",
            pin.name,
            pin.version,
            hint="Check the connection, and the proxy if there is one (HTTPS_PROXY), then try again. "
            "Without internet: potluck training-part get --from FOLDER",
        )


def _length(headers: Mapping[str, str]) -> int:
    """What a place says of a file's size, bytes; 0: it does not, or nonsense."""
    told = headers.get("Content-Length", "")
    return int(told) if told.isdecimal() else 0


def _another(wheel: Wheel) -> UserProblem:
    message = "{file} is not the file that this version of Potluck names, so it was not installed."
    hint = "Take another index or network; if it stays so, tell the people who make Potluck."
    return UserProblem(message, wheel.path.name, hint=hint)


def _refused(status: int, url: str) -> Problem:
    if status == 407:
        hint = "Give name and password in HTTPS_PROXY, as in http://NAME:PASSWORD@HOST:PORT"
        return UserProblem("The proxy wants to know who asks.", hint=hint)
    hint = "Take another index, in pip's settings (PIP_INDEX_URL), or a folder: potluck training-part get --from FOLDER"
    return UserProblem("{place} does not give the file (answer {status}).", _HOST.sub(r"\1", url), status, hint=hint)
