"""Where updates come from, as The Update Framework secures it: nothing counts that its publisher has not signed.

Downloads are bounded in size and in time, and an archive goes on after a cut.
"""

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Final
from urllib.request import getproxies, proxy_bypass

import msgspec
import urllib3
from tuf.api import exceptions as tuf
from tuf.ngclient.fetcher import FetcherInterface
from tuf.ngclient.updater import Updater
from urllib3.util import Url, make_headers, parse_url

from core.api.program_folder import ROOT_KEYS, ProgramFolder
from core.base.problems import BadInput, NotTrusted, Problem, UserProblem
from core.system.atomic_files import make_directory, problem_of, read_bounded
from core.updates.offers import ARCHIVE, LIST, OfferedArchive, OfferedVersion, VersionList

LIST_BYTES_MAX: Final = 4_000_000
ROOT_BYTES_MAX: Final = 512_000
_AGAIN: Final = "Try again later, or in another network. If it stays so, tell the people who make Potluck."
CHUNK_BYTES: Final = 1 << 18
SILENCE_S: Final = 20.0
"""The longest wait for the next byte."""
GRACE_S: Final = 30.0
"""Time after which a download has to be faster than `LEAST_BYTES_S` on average."""
LEAST_BYTES_S: Final = 2000.0
FAILURES_MAX: Final = 4
"""Number of attempts in a row that brought nothing after which an archive is given up."""
WAIT_S: Final = 0.5
"""Wait after the first of them; it doubles."""
PROXY_ASKS: Final = 407
WHOLE: Final = 200
"""Answer of a server that does not go on in the middle of a file."""


class UpdateFetcher(FetcherInterface):
    """Gets files through the proxy that the system or HTTPS_PROXY names.

    Args:
        folder: Where archives lie while they are downloaded.
        tell: Hears how many bytes of an archive are here, and of how many at most.
        sleep: Waits, seconds.
        grace_s: Time after which a slow server is given up, seconds.
    """

    def __init__(
        self,
        folder: Path,
        tell: Callable[[int, int], object],
        *,
        sleep: Callable[[float], object] = time.sleep,
        grace_s: float = GRACE_S,
    ) -> None:
        self._folder, self._tell, self._sleep, self._grace_s = folder, tell, sleep, grace_s

    @contextmanager
    def download_file(self, url: str, max_length: int) -> Iterator[IO[bytes]]:
        """Give a file to who checks it; an archive that was cut off goes on where it was.

        Args:
            url: Its address.
            max_length: Upper bound on its size, bytes; of an archive its very size.

        Raises:
            tuf.DownloadError: it cannot be had, is too large, or comes too slowly.
        """
        if not url.endswith(ARCHIVE):
            with TemporaryFile() as file:
                self._append(url, file, max_length)
                file.seek(0)
                yield file
            return
        part = self._folder / f"{url.rpartition('/')[2]}.part"
        try:
            with part.open("a+b") as file:
                self._complete(url, file, max_length)
                file.seek(0)
                yield file
        except tuf.RepositoryError:
            part.unlink(missing_ok=True)  # it is another file
            raise
        part.unlink(missing_ok=True)

    def _complete(self, url: str, file: IO[bytes], size: int) -> None:
        """Have all of an archive here.

        An attempt that comes no further than one before it has failed: a server that begins anew each time sends
        without an end otherwise.  One that gives a byte and hangs up is as slow as one that waits with the next.
        """
        failures, most, began = 0, file.seek(0, 2), time.monotonic()
        first = most
        while (before := file.seek(0, 2)) < size:
            trouble: Exception = tuf.DownloadError("it ends early")
            try:
                self._append(url, file, size)
            except (tuf.DownloadHTTPError, tuf.DownloadLengthMismatchError) as error:
                file.truncate(0)
                if not isinstance(error, tuf.DownloadHTTPError) or error.status_code != WHOLE or not before:
                    raise
                trouble = error
            except (tuf.DownloadError, OSError) as error:
                if isinstance(error, OSError) and not isinstance(error, ConnectionError | TimeoutError):
                    raise  # of the disk
                trouble = error
            here = file.seek(0, 2)
            if here >= size:
                return
            failures = 0 if here > most else failures + 1
            most = max(most, here)
            if failures >= FAILURES_MAX:
                raise trouble
            self._check_speed(most - first, began)
            self._sleep(WAIT_S * 2**failures if failures else 0.0)

    def _check_speed(self, got: int, began: float) -> None:
        """See that bytes come fast enough.

        Raises:
            tuf.SlowRetrievalError: they do not.
        """
        passed_s = time.monotonic() - began
        if passed_s > self._grace_s and got < passed_s * LEAST_BYTES_S:
            raise tuf.SlowRetrievalError(f"{got} bytes in {passed_s:.0f} s")

    def _append(self, url: str, file: IO[bytes], size: int) -> None:
        """Add what one more connection brings to what is here."""
        with closing(self._fetch(url, file.tell())) as chunks:
            for chunk in chunks:
                if file.tell() + len(chunk) > size:
                    raise tuf.DownloadLengthMismatchError(f"more than {size} bytes")
                file.write(chunk)
                self._tell(file.tell(), size)

    def _fetch(self, url: str, begin: int = 0) -> Generator[bytes]:
        """Bytes of a file, from `begin` on."""
        headers = {"Accept-Encoding": "identity", **({"Range": f"bytes={begin}-"} if begin else {})}
        timeout = urllib3.Timeout(SILENCE_S)
        try:
            pool = _pool(url)
            answer = pool.request("GET", url, headers=headers, preload_content=False, timeout=timeout, retries=2)
        except urllib3.exceptions.HTTPError as error:  # also: a proxy of another kind, an address that is none
            if isinstance(error, urllib3.exceptions.MaxRetryError) and str(PROXY_ASKS) in str(error.reason):
                raise tuf.DownloadHTTPError("the proxy wants to know who asks", PROXY_ASKS) from error
            raise tuf.DownloadError(str(error)) from error
        with pool, closing(answer):
            if answer.status >= 400 or (begin and answer.status == WHOLE):
                raise tuf.DownloadHTTPError(f"answer {answer.status}", answer.status)
            yield from self._chunks(answer)

    def _chunks(self, answer: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
        """What comes, as it comes: a reader that waits for a whole chunk does not notice how slowly it does."""
        began, got = time.monotonic(), 0
        told = answer.headers.get("Content-Length", "")
        announced = int(told) if told.isdecimal() else 0
        try:
            while chunk := answer.read1(CHUNK_BYTES):
                got += len(chunk)
                self._check_speed(got, began)
                yield chunk
        except urllib3.exceptions.TimeoutError as error:
            raise tuf.SlowRetrievalError(str(error)) from error
        except urllib3.exceptions.HTTPError as error:
            raise tuf.DownloadError(str(error)) from error
        if got < announced:
            raise tuf.DownloadError(f"cut off after {got} of {announced} bytes")


def _pool(url: str) -> urllib3.PoolManager:
    """What connects to an address, through a proxy where one is named for it.

    From https a redirection leads to https only: somebody who has got hold of the web server could have all
    computers call their routers, and what trusts their own computer.
    """
    parts = parse_url(url)
    pool = _manager(parts)
    if parts.scheme == "https":
        pool.key_fn_by_scheme = {parts.scheme: pool.key_fn_by_scheme[parts.scheme]}
    return pool


def _manager(parts: Url) -> urllib3.PoolManager:
    proxies = getproxies()
    proxy = proxies.get(parts.scheme or "") or proxies.get("all")
    if not proxy or proxy_bypass(parts.host or ""):
        return urllib3.PoolManager()
    asked = parse_url(proxy if "://" in proxy else f"http://{proxy}")
    headers = make_headers(proxy_basic_auth=asked.auth) if asked.auth else None
    return urllib3.ProxyManager(str(asked.url), proxy_headers=headers)


class UpdateSource:
    """One look at the publisher's signed list, and what it names.

    Args:
        program: The program that is to be updated.
        tell: Hears how many bytes of an archive are here, and of how many.
        now: Unix seconds.
        grace_s: Time after which a slow server is given up, seconds.

    Raises:
        BadInput: the clock is wrong, or this program has no publisher.
        UserProblem: the folder cannot be written.
    """

    def __init__(
        self,
        program: ProgramFolder,
        tell: Callable[[int, int], object] = lambda *_: None,
        *,
        now: Callable[[], float],
        grace_s: float = GRACE_S,
    ) -> None:
        about, self._downloads = program.about, program.room / "downloads"
        root = read_bounded(program.folder / ROOT_KEYS, ROOT_BYTES_MAX)
        if not about.url or root is None:
            raise BadInput("Nobody publishes updates of this Potluck.", hint="Get it from where newer versions are.")
        if now() < about.made - 86_400:
            raise BadInput(
                "This computer's clock says {day}, but this Potluck was made later: what is new cannot be told so.",
                time.strftime("%Y-%m-%d", time.gmtime(now())),
                hint="Set the clock, then: potluck update",
            )
        for folder in (program.room / "metadata", self._downloads):
            make_directory(folder)
        fetcher = UpdateFetcher(self._downloads, tell, grace_s=grace_s)
        with _worded(program.room):
            self._updater = Updater(
                metadata_dir=str(program.room / "metadata"),
                metadata_base_url=f"{about.url.rstrip('/')}/metadata/",
                target_dir=str(self._downloads),
                target_base_url=f"{about.url.rstrip('/')}/targets/",
                fetcher=fetcher,
                bootstrap=root,
            )

    def offered(self) -> list[OfferedVersion]:
        """All versions that the publisher names now.

        Raises:
            NotTrusted: what was answered is not what the publisher has signed, or an old list.
            UserProblem: there is no connection, or the disk is full.
        """
        data = self._fetch(LIST, LIST_BYTES_MAX).read_bytes()
        try:
            return msgspec.json.decode(data, type=VersionList).releases
        except msgspec.DecodeError as error:
            raise UserProblem(
                "The list of versions is in a form that this Potluck does not know.", hint=_AGAIN
            ) from error

    def fetch(self, archive: OfferedArchive, bytes_max: int) -> Path:
        """Have an archive here, from where the last attempt ended; what is left of others goes.

        Raises:
            NotTrusted: it is not what the publisher has signed.
            UserProblem: there is no connection, or the disk is full.
        """
        for other in self._downloads.iterdir():
            if archive.name not in other.name and other.name != LIST:
                other.unlink(missing_ok=True)  # of another version, which nobody asks for any more
        return self._fetch(archive.name, bytes_max)

    def size_of(self, archive: OfferedArchive) -> int:
        """Bytes of an archive, as its publisher has signed them.

        Raises:
            NotTrusted: the publisher has not.
        """
        return int(self._target(archive.name).length)

    def _fetch(self, name: str, bytes_max: int) -> Path:
        target = self._target(name)
        if target.length > bytes_max:
            raise NotTrusted("{name} is larger than it may be.", name, hint=_AGAIN)
        with _worded(self._downloads):
            here = self._updater.find_cached_target(target) or self._updater.download_target(target)
        return Path(here)

    def _target(self, name: str):  # type: ignore[no-untyped-def]  # noqa: ANN202 - of a library
        with _worded(self._downloads):
            target = self._updater.get_targetinfo(name)
        if target is None:
            raise NotTrusted("{name} is not among what the people who make Potluck have signed.", name, hint=_AGAIN)
        return target


@contextmanager
def _worded(folder: Path) -> Iterator[None]:
    """The failures of the library as sentences."""
    try:
        yield
    except (tuf.DownloadError, tuf.RepositoryError) as error:
        raise _problem(error) from error
    except OSError as error:
        raise problem_of(error, folder / "metadata") from error


def _problem(error: tuf.DownloadError | tuf.RepositoryError) -> Problem:
    match error:
        case tuf.DownloadHTTPError(status_code=code) if code == PROXY_ASKS:
            hint = "Give name and password in HTTPS_PROXY, as in http://NAME:PASSWORD@HOST:PORT"
            return UserProblem("The proxy wants to know who asks.", hint=hint)
        case tuf.SlowRetrievalError():
            return UserProblem("Where updates lie answers too slowly, so nothing was changed.", hint=_AGAIN)
        case tuf.ExpiredMetadataError():
            return NotTrusted(
                "The signed list of versions is out of date: nobody renewed it, or somebody keeps a newer one away.",
                hint="See that this computer's clock is right, and try again later or in another network.",
            )
        case tuf.RepositoryError() | tuf.DownloadLengthMismatchError():
            message = "What was answered is not what the people who make Potluck have signed, so nothing was changed."
            return NotTrusted(message, hint=_AGAIN)
    hint = "Check the connection, and the proxy if there is one (HTTPS_PROXY): it goes on where it was."
    return UserProblem("Where updates lie does not answer.", hint=hint)
