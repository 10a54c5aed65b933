"""Signed lists of collaborations: what is believed of one, what is left out, and from where one is taken."""

import json

import msgspec
import pytest

from core.api.directory import ENTRIES_MAX, FILE_BYTES_MAX
from core.base.problems import BadInput, NotTrusted
from core.base.signing import KeyPair
from core.cli.program import run
from core.cli.volunteer.directory import PURPOSE, read_directory
from tests.web_server import web_server

KEYS = KeyPair(bytes(range(32)))
ID = "ab" * 32
LINK = f"potluck://pot.example:4000/{ID}#invitation"
ENTRY = {"id": ID, "name": "Poems", "summary": "It writes.", "link": LINK}


def signed(entries: list, *, keys: KeyPair = KEYS, **words: object) -> bytes:
    body = json.dumps({"name": "Open ones", "made": 1.7e9, "entries": entries} | words).encode()
    known = {"key": keys.peer_id.hex(), "signature": keys.sign(PURPOSE + body).hex()}
    return msgspec.json.encode({"directory": msgspec.Raw(body), **known})


def other(number: int) -> dict:
    key = f"{number:064x}"
    return {"id": key, "name": f"Number {number}", "link": f"potluck://pot.example:4000/{key}#invitation"}


def test_list_is_read_with_the_key_that_signed_it() -> None:
    view = read_directory(signed([ENTRY, other(1)]))
    assert [entry.name for entry in view.entries] == ["Poems", "Number 1"]
    assert (view.name, view.left_out) == ("Open ones", 0)
    assert view.fingerprint.replace(" ", "") == KEYS.peer_id.hex()[:32]


@pytest.mark.parametrize(
    "entry",
    [
        {**ENTRY, "link": LINK.replace("ab", "cd")},  # leads to another one than it says
        {**ENTRY, "link": "https://pot.example"},
        {**ENTRY, "name": ""},
        {**ENTRY, "name": "x" * 81},
        {**ENTRY, "summary": 7},
        {**ENTRY, "id": "zz"},
        "Poems",
        None,
        [[[[]]]],
    ],
)
def test_bad_entry_is_left_out_and_counted(entry: object) -> None:
    view = read_directory(signed([entry, other(1)]))
    assert ([one.name for one in view.entries], view.left_out) == (["Number 1"], 1)


def test_entries_beyond_the_bound_are_counted() -> None:
    view = read_directory(signed([other(number) for number in range(ENTRIES_MAX + 3)]))
    assert (len(view.entries), view.left_out) == (ENTRIES_MAX, 3)


def test_words_cannot_disturb_who_reads_them() -> None:
    (entry,) = read_directory(signed([{**ENTRY, "name": "Po\u202eems\x1b[2J"}])).entries
    assert entry.name == "Po ems [2J"


def test_list_that_was_changed_is_refused() -> None:
    whole = signed([ENTRY])
    with pytest.raises(NotTrusted, match="changed after it was signed"):
        read_directory(whole.replace(b"Poems", b"Qoems"))
    with pytest.raises(NotTrusted):
        read_directory(whole.replace(KEYS.peer_id.hex().encode(), KeyPair(bytes(32)).peer_id.hex().encode()))


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{}", b"\xff", b"[" * 100_000, b'{"directory": {}, "key": "", "signature": ""}']
)
def test_what_is_not_a_list_is_a_sentence(data: bytes) -> None:
    with pytest.raises(BadInput, match="not a list of collaborations"):
        read_directory(data)


def test_file_and_address_are_read(tmp_path, capsys) -> None:
    (tmp_path / "list.json").write_bytes(signed([ENTRY]))
    at = ["--home", str(tmp_path / "home"), "--json"]
    assert run(["directory", str(tmp_path / "list.json"), *at]) == 0
    files = {"/list.json": signed([ENTRY]), "/large.json": bytes(FILE_BYTES_MAX + 1)}
    with web_server(files) as site:
        assert run(["directory", f"{site.url}/list.json", *at]) == 0
        assert run(["directory", f"{site.url}/other.json", *at]) == 2
        assert run(["directory", f"{site.url}/large.json", *at]) == 2
    for refused in ("http://pot.example/list.json", "ftp://pot.example/x", "https://[", str(tmp_path / "no.json"), ""):
        assert run(["directory", refused, *at]) == 2, refused
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line.get("name", line.get("message")) for line in lines[:2]] == ["Open ones"] * 2
    assert all(line["event"] == "problem" and line["hint"] for line in lines[2:])
    assert not (tmp_path / "home").exists(), "to look leaves nothing"
