"""The newest copy of the model is put elsewhere, too."""

import asyncio
import contextlib
import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import fsspec
import pytest

from core.__main__ import main
from core.backbone import mirrors
from core.backbone.charter import Charter
from core.backbone.kept_states import KeptStates, kept_copies
from core.backbone.mirror_work import put_copy
from core.backbone.mirrors import CopyPlan, check_address, keep_mirrors, read_notes, read_plan, shown, write_plan
from core.base.problems import BadInput
from core.swarm.words.facts import CopyEvery
from tests.unit.backbone.test_charter import make
from tests.unit.backbone.test_kept_states import NAMES, fetched


@pytest.fixture
def charter(tmp_path: Path) -> Charter:
    made = make(tmp_path)
    KeptStates(made.folder, manifest=made.manifest.id).keep(fetched(tmp_path, NAMES[1], manifest=made.manifest.id))
    return made


def copy_in(charter: Charter) -> Path:
    return kept_copies(charter.folder / "states")[-1].path


class Shelf(BaseHTTPRequestHandler):
    """A server that keeps what is put, as WebDAV servers do; what is put while it is `broken` arrives in half."""

    files: ClassVar[dict[str, bytes]] = {}
    broken: ClassVar[int] = 0

    def do_PUT(self) -> None:
        data = b""
        if self.headers.get("Transfer-Encoding") == "chunked":
            while size := int(self.rfile.readline(), 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            data = self.rfile.read(int(self.headers["Content-Length"]))
        if Shelf.broken:
            Shelf.broken -= 1
            data = data[: len(data) // 2]
        Shelf.files[self.path] = data
        self._say(201)

    def do_HEAD(self) -> None:
        self._say(200 if self.path in Shelf.files else 404, Shelf.files.get(self.path, b""))

    def do_GET(self) -> None:
        self.do_HEAD()
        self.wfile.write(Shelf.files.get(self.path, b""))

    def _say(self, status: int, body: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def shelf() -> Iterator[str]:
    Shelf.files, Shelf.broken = {}, 0
    server = ThreadingHTTPServer(("127.0.0.1", 0), Shelf)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/models"
    server.shutdown()
    server.server_close()
    thread.join()


def test_copy_and_digest_are_put_into_a_folder(tmp_path: Path, charter: Charter) -> None:
    copy, there = copy_in(charter), tmp_path / "a" / "mirror"
    for _ in range(2):
        put_copy(str(there), copy)
        assert (there / copy.name).read_bytes() == copy.read_bytes()
        digest = hashlib.sha256(copy.read_bytes()).hexdigest()
        assert (there / f"{copy.name}.sha256").read_text() == f"{digest}  {copy.name}\n"
    (there / copy.name).write_bytes(b"half")
    put_copy(str(there), copy)
    assert (there / copy.name).read_bytes() == copy.read_bytes(), "it is written anew as a whole"


def test_copy_is_put_into_any_file_system(charter: Charter) -> None:
    copy = copy_in(charter)
    put_copy("memory://models/ours", copy)
    assert fsspec.filesystem("memory").cat_file(f"/models/ours/{copy.name}") == copy.read_bytes()


def test_upload_that_is_lost_is_repeated_whole(charter: Charter, shelf: str) -> None:
    copy = copy_in(charter)
    Shelf.broken = 1
    with pytest.raises(OSError, match="bytes of"):
        put_copy(shelf, copy)
    assert [*Shelf.files] == [f"/models/{copy.name}"], "no digest says that it is whole"
    put_copy(shelf, copy)
    assert Shelf.files[f"/models/{copy.name}"] == copy.read_bytes()
    assert f"/models/{copy.name}.sha256" in Shelf.files


async def kept_until(folder: Path, reached: Callable[[], bool]) -> list[CopyEvery]:
    told: list[CopyEvery] = []
    keeping = asyncio.create_task(keep_mirrors(folder, told.append))
    async with asyncio.timeout(60):
        while not reached():
            assert not keeping.done(), "no mirror ends a backbone"
            await asyncio.sleep(0.05)
    keeping.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await keeping
    return told


def test_failing_mirror_stops_neither_backbone_nor_others(
    tmp_path: Path, charter: Charter, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(mirrors, "LOOK_S", 0.1)
    monkeypatch.setattr(mirrors, "RETRY_S", 0.2)
    (tmp_path / "file").touch()
    good, bad, unknown = str(tmp_path / "good"), str(tmp_path / "file" / "below"), "nowhere://ada:secret@host/x"
    where = ["copies", "--charter", str(charter.folder)]
    assert main([*where, "--every", "5", "--mirror", good, "--mirror", bad, "--mirror", unknown]) == 0

    def reached() -> bool:
        notes = read_notes(charter.folder)
        return notes.keys() == {good, bad, unknown} and notes[bad].failed > 1 and notes[good].copy == 1

    assert asyncio.run(kept_until(charter.folder, reached)) == [CopyEvery(300)]
    assert (tmp_path / "good" / copy_in(charter).name).exists()
    capsys.readouterr()
    assert main(where) == 0
    said = capsys.readouterr().out
    assert "A copy is taken every 5 min" in said
    assert f"Mirror {good}: copy 1 since" in said
    assert "no copy yet; failed" in said
    assert "secret" not in said
    assert main([*where, "--no-mirror", bad, "--every", "0", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (plan["every_s"], len(plan["mirrors"])) == (None, 2)


def test_bad_plans_are_refused(tmp_path: Path, charter: Charter) -> None:
    for address in ("", "x" * 401, "a\nb", str(charter.folder / "states")):
        with pytest.raises(BadInput):
            check_address(address, charter.folder)
    with pytest.raises(BadInput, match="can be 8 mirrors"):
        write_plan(charter.folder, CopyPlan(mirrors=tuple(str(n) for n in range(9))))
    assert main(["copies", "--charter", str(charter.folder), "--no-mirror", "/nowhere"]) == 2
    (charter.folder / "copies.json").write_text('{"every_s": 1}')
    assert read_plan(charter.folder) == CopyPlan()
    assert [*charter.folder.glob("copies.json.damaged-*")]


@pytest.mark.parametrize(
    ("address", "seen"),
    [
        ("https://h/x?sig=SECRET", "https://h"),
        ("https://u:SEC@RET@h:8443/x", "https://h:8443"),
        ("https://h?SECRET", "https://h"),
        ("s3://bucket/SECRET", "s3://bucket"),
        ("https://[::1]:8443/SECRET", "https://[::1]:8443"),
        ("ftp://u:SEC/RET@h/x", "ftp://u"),
        ("file:///media/stick", "file:///media/stick"),
        ("/media/stick", "/media/stick"),
    ],
)
def test_secrets_of_an_address_stand_nowhere(
    address: str, seen: str, charter: Charter, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shown(address) == seen
    rest = address.removeprefix("https://h")

    async def refuse(*_: object, **__: object) -> dict[str, str]:
        return {"fault": f"no answer of {address}: {rest} is not there"}

    monkeypatch.setattr(mirrors, "answer", refuse)
    write_plan(charter.folder, CopyPlan(mirrors=(address,)))
    asyncio.run(kept_until(charter.folder, lambda: address in read_notes(charter.folder)))
    assert main(["copies", "--charter", str(charter.folder)]) == 0
    assert "SEC" not in capsys.readouterr().out
