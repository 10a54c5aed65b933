import gzip
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from core.api.data_state import DataCode, why_stalled
from core.base.data_source import DataSource
from core.text.sources import web, web_line
from core.text.sources.opening import open_source
from core.text.sources.patient import PatientShards, untold
from core.text.sources.source import READ_BYTES, Access, ShardUnreadable, SourceStalled, SourceTrouble, TextShards
from core.text.sources.texts import problem_of_trouble
from core.text.sources.versions import SeenVersions
from core.text.sources.web import may_ask
from tests.web_server import Repeated, Site, web_server

LINE = b"A line of words that says nothing new.\n"
TEXT = LINE * 300_000


def opened(address: str, access: Access | None = None, **fields: str) -> TextShards:
    return open_source(DataSource(address=address, **fields), access or Access())  # type: ignore[arg-type]


def text_of(source: TextShards, shard: int = 0) -> str:
    return "".join(text for piece in source.read(shard) for text in piece.texts)


@pytest.fixture
def site() -> Iterator[Site]:
    with web_server({"/a.txt": TEXT, "/b.txt.gz": gzip.compress(TEXT, 1), "/c.jsonl": b'{"text": "x"}\n' * 9}) as site:
        yield site


def trouble(source: TextShards) -> SourceTrouble:
    with pytest.raises((SourceStalled, ShardUnreadable)) as caught:
        [text_of(source, shard) for shard in range(len(source.listing().shards))]
    return caught.value


def test_ranges_of_a_file_are_its_shards(site: Site) -> None:
    allowed: list[int] = []
    source = opened(f"{site.url}/a.txt", Access(allow=allowed.append))
    shards = source.listing().shards
    assert source.network
    assert [shard.size for shard in shards] == [4 << 20, 4 << 20, len(TEXT) - (8 << 20)]
    assert "".join(text_of(source, shard) for shard in range(3)) == TEXT.decode()
    assert max(allowed) <= READ_BYTES
    assert sum(allowed) <= len(TEXT) + 3 * 16 * 1024
    assert [asked for _, asked, _ in site.asked[1:3]] == ["bytes=0-4210687", "bytes=4194304-8404991"]


def test_a_server_without_ranges_is_read_in_order(site: Site) -> None:
    site.ranges = False
    source = opened(f"{site.url}/a.txt")
    assert [shard.size for shard in source.listing().shards] == [len(TEXT)]
    pieces = list(source.read(0))
    assert "".join(text for piece in pieces for text in piece.texts) == TEXT.decode()
    assert {piece.block for piece in pieces} == {0, 1, 2}
    assert list(source.read(0, 1)) == [piece for piece in pieces if piece.block >= 1]


def test_packed_files_and_numbered_ones_are_read(site: Site) -> None:
    assert text_of(opened(f"{site.url}/b.txt.gz")) == TEXT.decode()
    assert text_of(opened(f"{site.url}/c.jsonl")) == "x" * 9
    site.files = {f"/part-{n:03}.jsonl": b'{"text": "%d"}\n' % n for n in range(40)}
    source = opened(site.url + "/part-{000..039}.jsonl")
    assert len(source.listing().shards) == 40
    assert [text_of(source, n) for n in range(40)] == [str(n) for n in range(40)]


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ({"status": 401}, DataCode.REFUSED),
        ({"status": 403}, DataCode.REFUSED),
        ({"status": 404}, DataCode.MISSING),
        ({"status": 500}, DataCode.NO_ANSWER),
        ({"status": 429}, DataCode.NO_ANSWER),
        ({"kind": "text/html; charset=utf-8"}, DataCode.WRONG_ANSWER),
    ],
)
def test_what_cannot_be_listed_is_a_state(site: Site, how: dict[str, Any], code: DataCode) -> None:
    vars(site).update(how)
    found = trouble(opened(f"{site.url}/a.txt?key=secret"))
    assert isinstance(found, SourceStalled)
    assert found.code == code
    assert "secret" not in repr(found)


@pytest.mark.parametrize(
    ("how", "kind", "code"),
    [
        ({"status": 404}, ShardUnreadable, DataCode.MISSING),
        ({"status": 403}, SourceStalled, DataCode.REFUSED),
        ({"status": 503}, SourceStalled, DataCode.NO_ANSWER),
        ({"total": 99}, ShardUnreadable, DataCode.FILE_CHANGED),
        ({"files": {"/a.txt": TEXT[: 5 << 20]}}, ShardUnreadable, DataCode.FILE_CHANGED),
    ],
)
def test_a_server_that_changes_its_mind_is_a_state(
    site: Site, how: dict[str, Any], kind: type[SourceTrouble], code: DataCode
) -> None:
    source = opened(f"{site.url}/a.txt")
    source.listing()
    vars(site).update(how)
    found = trouble(source)
    assert (type(found), found.code) == (kind, code)


def test_what_breaks_off_is_gone_on_with(site: Site) -> None:
    site.cut = 700_000
    source = opened(f"{site.url}/a.txt")
    assert text_of(source, 0) == text_of(source, 0)
    assert "".join(text_of(source, shard) for shard in range(3)) == TEXT.decode()
    site.ranges = False
    assert trouble(opened(f"{site.url}/a.txt")).code == DataCode.NO_ANSWER


def test_a_dead_server_does_not_answer() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        found = trouble(opened(f"http://{where}/a.txt"))
    assert (found.code, found.arguments) == (DataCode.NO_ANSWER, {"host": where})


def test_a_silent_and_a_slow_server_do_not_answer(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    source = opened(f"{site.url}/a.txt")
    source.listing()
    monkeypatch.setattr(web_line, "SLOW_S", 0.2)
    site.pause_s, site.chunk = 0.05, 10
    assert trouble(source).code == DataCode.NO_ANSWER
    monkeypatch.setattr(web, "SILENCE_S", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        found = trouble(opened(f"http://127.0.0.1:{silent.getsockname()[1]}/a.txt"))
    assert found.code == DataCode.NO_ANSWER


@pytest.mark.parametrize(
    ("address", "named", "may"),
    [
        ("93.184.216.34", False, True),
        ("127.0.0.1", False, False),
        ("127.0.0.1", True, True),
        ("10.1.2.3", False, False),
        ("192.168.1.1", False, False),
        ("192.168.1.1", True, True),
        ("169.254.169.254", False, False),
        ("169.254.169.254", True, False),
        ("100.64.0.1", False, False),
        ("0.0.0.0", True, False),
        ("::1", False, False),
        ("fe80::1%eth0", True, False),
        ("fd00::1", False, False),
        ("::ffff:127.0.0.1", False, False),
        ("64:ff9b::a9fe:a9fe", False, False),
        ("2002:7f00:0001::", False, False),
        ("2606:2800:220:1:248:1893:25c8:1946", False, True),
        ("64:ff9b::5db8:d822", False, True),
        *(
            (address, False, True)
            for address in ("192.0.0.9", "192.31.196.1", "2001:3::1", "2001:4:112::1", "2001:20::1")
        ),
        *((address, False, False) for address in ("192.0.0.8", "2001:2::1", "2001:db8::1", "2001:1::4")),
        ("100.64.0.1", True, True),
        ("64:ff9b::a00:1", True, True),
        *((address, False, False) for address in ("::127.0.0.1", "64:ff9b:1::1", "fec0::1", "64:ff9b::7f00:1", "::")),
        *((address, False, False) for address in ("2002:a00:1::", "2001:0:102:304::f5ff:fffe", "3fff::1", "5f00::1")),
        *((address, False, False) for address in ("100::1", "100:0:0:1::1", "198.18.0.1", "240.0.0.1", "192.88.99.1")),
        *((address, False, False) for address in ("ff0e::1", "224.0.0.1", "255.255.255.255", "::ffff:10.0.0.1")),
        *((address, True, False) for address in ("168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254")),
        *((address, True, False) for address in ("::ffff:169.254.169.254", "64:ff9b::a83f:8110", "fd20:ce::254")),
        *((address, True, False) for address in ("2002:a9fe:a9fe::", "fe80::a9fe:a9fe", "fec0::1", "0.0.0.0")),
    ],
)
def test_only_what_all_can_reach_is_asked(address: str, *, named: bool, may: bool) -> None:
    assert may_ask(address, named=named) is may


@pytest.mark.parametrize("host", ["fd00:ec2::254", "100.100.100.200", "192.0.0.192", "168.63.129.16"])
def test_cloud_secrets_are_never_asked(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[object]()
    monkeypatch.setattr(socket.socket, "connect", lambda _, address: asked.append(address))
    place = f"http://[{host}]" if ":" in host else f"http://{host}"
    with pytest.raises(SourceStalled):
        opened(f"{place}/a.txt").listing()
    assert not asked
    monkeypatch.setattr(web, "may_ask", lambda *_, **__: True)
    with pytest.raises(SourceStalled):
        opened(f"{place}/a.txt").listing()
    assert asked, "without the look at the address it is asked"


def test_a_name_that_leads_home_is_refused(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    port = int(site.url.rpartition(":")[2])
    real = socket.getaddrinfo

    def lead_home(host: str, *args: Any, **kwargs: Any) -> Any:
        return real("127.0.0.1" if host == "texts.example" else host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", lead_home)
    found = trouble(opened(f"http://texts.example:{port}/a.txt"))
    assert (found.code, found.arguments["host"]) == (DataCode.PRIVATE, "texts.example")
    assert site.asked == []
    monkeypatch.setattr(web, "may_ask", lambda *_, **__: True)
    assert text_of(opened(f"http://texts.example:{port}/a.txt")), "without the look at the address it is read"


def test_a_redirection_home_is_refused(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    with web_server({"/a.txt": TEXT}) as other:
        site.moved = {"/moved.txt": f"{other.url}/a.txt".replace("127.0.0.1", "127.0.0.2")}
        found = trouble(opened(f"{site.url}/moved.txt"))
        assert (found.code, found.arguments["host"]) == (DataCode.PRIVATE, "127.0.0.2")
        assert other.asked == []
    site.moved = {"/moved.txt": "file:///etc/passwd"}
    assert trouble(opened(f"{site.url}/moved.txt")).code == DataCode.REFUSED
    for nonsense in ("http://[::1", "//[", "http://a:b@127.0.0.1:1x/"):
        site.moved = {"/moved.txt": nonsense}
        assert trouble(opened(f"{site.url}/moved.txt")).code == DataCode.NO_ANSWER
    site.moved = {"/moved.txt": "/moved.txt"}
    assert trouble(opened(f"{site.url}/moved.txt")).code == DataCode.REFUSED


def test_credentials_go_to_their_own_server_alone(site: Site) -> None:
    with web_server({"/a.txt": b"text"}) as other:
        site.moved = {"/moved.txt": f"{other.url}/a.txt"}
        access = Access(secrets={site.url: "token", "http://elsewhere": "other"})
        assert text_of(opened(f"{site.url}/moved.txt", access)) == "text"
        assert {secret for _, _, secret in site.asked} == {"Bearer token"}
        assert {secret for _, _, secret in other.asked} == {""}
        assert "token" not in repr(access)


@pytest.mark.parametrize("slips", [["page"], ["", "page"], ["range"], ["", "range", "page", "", "range"]])
def test_wrong_answer_is_asked_again(site: Site, slips: list[str]) -> None:
    said: list[str] = []
    site.slips = list(slips)
    source = PatientShards(opened(f"{site.url}/a.txt"), said.append, wait=lambda _: None)
    assert "".join(text_of(source, number) for number in range(len(source.listing().shards))) == TEXT.decode()
    assert all("answers with something else than was asked for" in each for each in said)
    assert len(said) == sum(map(bool, slips))


def test_server_that_is_always_wrong_is_named(site: Site) -> None:
    site.slips = ["page"] * 9
    with pytest.raises(SourceStalled) as caught:
        PatientShards(opened(f"{site.url}/a.txt"), untold, wait=lambda _: None).listing()
    assert "that is a page for people" in problem_of_trouble(caught.value).message
    assert len(site.asked) == 3


def test_file_that_changes_is_never_half_of_both(site: Site) -> None:
    site.tag = '"old"'
    source = opened(f"{site.url}/a.txt")
    assert len(source.listing().shards) == 3
    text_of(source, 0)
    site.files, site.tag = {"/a.txt": TEXT[::-1]}, '"new"'
    with pytest.raises(SourceStalled) as caught:
        text_of(source, 1)
    assert caught.value.code == DataCode.FILE_CHANGED
    assert "changed while it was read" in problem_of_trouble(caught.value).message
    assert text_of(source, 1) == text_of(opened(f"{site.url}/a.txt"), 1)  # a member reads on in the new one alone


def test_mark_that_servers_do_not_share_changes_nothing() -> None:
    seen = SeenVersions()
    for version in (("a", "Monday"), ("b", "Monday"), ("a", ""), ("", "Monday"), ("", "")):
        seen.check("f", version, name="f")
    with pytest.raises(SourceStalled):
        seen.check("f", ("b", "Tuesday"), name="f")


@pytest.mark.long
def test_huge_files_take_little_memory() -> None:
    size = 10 * 1024**3
    with web_server({"/a.txt": Repeated(LINE, size), "/line.txt": Repeated(b"x", size)}) as site:
        for name in ("a", "line"):
            source = opened(f"{site.url}/{name}.txt")
            assert len(source.listing().shards) == 2560
            assert len(text_of(source, 2000)) == pytest.approx(4 << 20, abs=200)
        assert site.sent < 12 << 20
        source = opened(f"{site.url}/line.txt", form="jsonl")
        assert "".join(text_of(source, 5)) == ""
        assert trouble(source).code == DataCode.DAMAGED


def test_a_bomb_is_unpacked_in_small_pieces() -> None:
    bomb = gzip.compress(gzip.compress(b"a" * (1 << 28)))
    with web_server({"/a.txt.gz": gzip.compress(b"word " * (1 << 26), 9), "/b.txt.gz": bomb}) as site:
        pieces = opened(f"{site.url}/a.txt.gz").read(0)
        assert all(len(next(pieces).texts[0]) < 100_000 for _ in range(20))
        assert trouble(opened(f"{site.url}/b.txt.gz")).code == DataCode.DAMAGED


def test_files_that_differ_in_their_query_are_read(site: Site) -> None:
    source = opened(site.url + "/c.jsonl?part={08..11}")
    assert len("".join(text_of(source, shard) for shard in range(len(source.listing().shards)))) == 4 * 9
    assert {path for path, _, _ in site.asked} == {f"/c.jsonl?part={number:02}" for number in range(8, 12)}
    assert not any("part=" in shard.name for shard in source.listing().shards)


def test_own_network_is_asked_only_by_who_is_near(site: Site) -> None:
    found = trouble(opened(f"{site.url}/a.txt", Access(near=False)))
    assert (found.code, found.arguments["host"]) == (DataCode.PRIVATE, "127.0.0.1")
    assert site.asked == []
    assert "127.0.0.1 is in a private network" in str(why_stalled(found.code, found.arguments))
    assert text_of(opened(f"{site.url}/a.txt", Access(near=True)))
