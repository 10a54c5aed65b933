"""Credentials of sources: what they are called, that they are kept, and who gets them."""

import io
import json
from pathlib import Path

import pytest

from core.base.data_source import SECRETS, DataSource
from core.base.manifest import Manifest
from core.base.problems import BadInput, UserProblem
from core.cli.organiser.data_login import name_of
from core.cli.program import parser
from core.cli.volunteer.estimate import data_of, source_rows
from core.engine.text import data_secrets
from core.engine.text.data_watch import source_views
from core.training.programs.child import given_secrets


class Ring:
    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password


def login(monkeypatch: pytest.MonkeyPatch, home: Path, *words: str, said: str = "") -> int:
    monkeypatch.setattr("sys.stdin", io.StringIO(said))
    args = parser(["data"]).parse_args(["data", "login", *words, "--home", str(home)])
    code: int = args.run(args)
    return code


@pytest.fixture
def ring(monkeypatch: pytest.MonkeyPatch) -> Ring:
    found = Ring()
    monkeypatch.setattr(data_secrets, "system_keyring", lambda _: found)
    return found


@pytest.mark.parametrize(
    ("where", "name"),
    [
        ("texts.org", "https://texts.org"),
        ("https://texts.org:8443/a/b.gz", "https://texts.org:8443"),
        ("hub", "hf://datasets"),
        ("hf://datasets/ada/poems", "hf://datasets"),
        ("s3://corpus/bn", "s3://corpus"),
    ],
)
def test_credentials_are_called_by_their_server(where: str, name: str) -> None:
    assert name_of(where) == name


@pytest.mark.parametrize("where", ["", "file:///etc/passwd", "https://ada:secret@texts.org", "a b"])
def test_what_names_no_server_is_refused(where: str) -> None:
    with pytest.raises(BadInput, match=r"address|Address|cannot be read"):
        name_of(where)


def test_login_keeps_replaces_and_forgets(
    monkeypatch: pytest.MonkeyPatch, ring: Ring, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sources = (DataSource(address="https://texts.org/a"), DataSource(address="s3://corpus"), DataSource())
    names = data_secrets.secret_names(sources)
    assert names == {"https://texts.org", "s3://corpus"}
    for secret in ("hunter2", "hunter3"):
        assert login(monkeypatch, tmp_path, "texts.org", said=f"{secret}\n") == 0
        assert data_secrets.kept_secrets(names) == {"https://texts.org": secret}
    assert login(monkeypatch, tmp_path, "texts.org", "--forget") == 0
    assert data_secrets.kept_secrets(names) == {}
    assert "hunter" not in capsys.readouterr().out


def test_empty_secret_and_absent_keyring_are_sentences(
    monkeypatch: pytest.MonkeyPatch, ring: Ring, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match="not a valid password"):
        login(monkeypatch, tmp_path, "texts.org", said="\n")
    monkeypatch.setattr(data_secrets, "system_keyring", lambda _: None)
    with pytest.raises(UserProblem, match="nothing was kept"):
        login(monkeypatch, tmp_path, "texts.org", said="hunter2\n")
    assert not ring.kept


def test_child_takes_secrets_out_of_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SECRETS, json.dumps({"s3://corpus": "hunter2"}))
    assert given_secrets() == {"s3://corpus": "hunter2"}
    assert given_secrets() == {}


def test_look_names_hosts_rights_and_traffic() -> None:
    sources = (
        DataSource(address="https://texts.org/a", share=1.0, licence="CC0", credit="Ada"),
        DataSource(share=3.0),
    )
    manifest = Manifest(
        name="n", organiser="o", task="albert", numbers={"sequence_length": 100}, data=sources, authority="0" * 64
    )
    assert data_of(manifest, samples=1000) == pytest.approx(1000 * 0.25 * 100 * 4)
    rows = dict(row for row in source_rows(source_views(manifest), 2e9) if row[0])
    assert rows["Text"] == "25% from https://texts.org/a (CC0; Ada)"
    assert rows["Reads from"] == "texts.org, about 2 GB a day if it computes all day"
    assert "Reads from" not in dict(
        source_rows(source_views(Manifest(name="n", organiser="o", task="albert", authority="0" * 64)), None)
    )
