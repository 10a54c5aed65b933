"""This computer's identity, with keyrings of cardboard."""

import json
import stat
import threading

import pytest

from core.base.problems import Damaged, UserProblem
from core.storage import identity as keys_module
from core.storage.identity import SERVICE, in_keyring, keep_in_file, load_identity, system_keyring


class CardboardKeyring:
    """Keeps secrets in a dict; `mood` may be "good", "error", "forgetful" or "hangs"."""

    def __init__(self) -> None:
        self.secrets: dict[tuple[str, str], str] = {}
        self.mood = "good"
        self.let_go = threading.Event()

    def get_password(self, service: str, username: str) -> str | None:
        self._be()
        return self.secrets.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self._be()
        if self.mood != "forgetful":
            self.secrets[service, username] = password

    def _be(self) -> None:
        if self.mood == "error":
            raise RuntimeError("no D-Bus")
        if self.mood == "hangs":
            self.let_go.wait(10)


@pytest.fixture
def ring():
    ring = CardboardKeyring()
    yield ring
    ring.let_go.set()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "identity.json"


def test_the_keyring_keeps_the_key(path, ring):
    first = load_identity(path, ring)
    again = load_identity(path, ring)
    assert again.keys.peer_id == first.keys.peer_id
    assert first.notice is None
    assert again.notice is None
    assert json.loads(path.read_bytes())["seed"] == ""
    ((service, _),) = ring.secrets
    assert service == SERVICE


@pytest.mark.parametrize("mood", ["none", "error", "forgetful", "hangs"])
def test_without_a_keyring_a_private_file_keeps_it(path, ring, mood):
    ring.mood = mood
    keyring = None if mood == "none" else ring
    first = load_identity(path, keyring, timeout_s=0.05)
    assert "no usable keyring" in str(first.notice)
    assert str(path) in str(first.notice)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    ring.mood = "good"
    again = load_identity(path, ring)
    assert again.keys.peer_id == first.keys.peer_id
    assert again.notice == first.notice


def test_two_homes_have_two_identities(tmp_path, ring):
    one = load_identity(tmp_path / "a" / "identity.json", ring)
    two = load_identity(tmp_path / "b" / "identity.json", ring)
    assert one.keys.peer_id != two.keys.peer_id
    assert len(ring.secrets) == 2
    assert load_identity(tmp_path / "a" / "identity.json", ring).keys.peer_id == one.keys.peer_id


@pytest.mark.parametrize("mood", ["none", "error", "hangs"])
def test_a_keyring_that_does_not_open_is_no_first_start(path, ring, mood):
    first = load_identity(path, ring)
    before = path.read_bytes()
    ring.mood = mood
    with pytest.raises(UserProblem, match="does not open"):
        load_identity(path, None if mood == "none" else ring, timeout_s=0.05)
    assert path.read_bytes() == before
    ring.mood = "good"
    assert load_identity(path, ring).keys.peer_id == first.keys.peer_id


def test_a_key_that_left_the_keyring_is_said(path, ring):
    load_identity(path, ring)
    ring.secrets.clear()
    with pytest.raises(Damaged, match="no longer in"):
        load_identity(path, ring)
    (aside,) = path.parent.iterdir()
    assert "damaged" in aside.name
    assert load_identity(path, ring).keys


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"peer": "abc"}', b"\xff" * 10, b"x" * 10_000])
def test_a_damaged_file_is_kept_aside(path, ring, content):
    path.write_bytes(content)
    with pytest.raises(Damaged) as caught:
        load_identity(path, ring)
    (aside,) = path.parent.iterdir()
    assert aside.read_bytes() == content
    assert aside.name in caught.value.hint


def test_a_key_that_is_not_the_one_named_is_damaged(path):
    load_identity(path, None)
    stored = json.loads(path.read_bytes())
    stored["peer"] = "00" * 32
    path.write_text(json.dumps(stored))
    with pytest.raises(Damaged):
        load_identity(path, None)


def test_a_damaged_secret_is_damaged(path, ring):
    load_identity(path, ring)
    ring.secrets = dict.fromkeys(ring.secrets, "not base 64 !")
    with pytest.raises(Damaged):
        load_identity(path, ring)


def test_the_environment_may_forbid_the_keyring():
    assert system_keyring({"POTLUCK_KEYRING": "off"}) is None
    assert system_keyring({}) is not None


def test_a_system_without_a_keyring(path, monkeypatch):
    import keyring
    from keyring.backends import fail

    monkeypatch.setattr(keyring, "get_keyring", fail.Keyring)
    assert "no usable keyring" in str(load_identity(path, system_keyring({})).notice)


def test_a_system_with_one(path, monkeypatch, ring):
    import keyring

    monkeypatch.setattr(keyring, "get_keyring", lambda: ring)
    assert load_identity(path, keys_module.system_keyring({})).notice is None
    assert len(ring.secrets) == 1


def test_key_moves_from_keyring_to_file(path, ring):
    first = load_identity(path, ring)
    assert in_keyring(path)
    keep_in_file(path, ring)
    assert not in_keyring(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    ring.mood = "error"
    assert load_identity(path, ring).keys.seed == first.keys.seed


def test_key_stays_where_it_is_while_the_keyring_is_locked(path, ring):
    load_identity(path, ring)
    before = path.read_bytes()
    ring.mood = "error"
    with pytest.raises(UserProblem, match="does not open"):
        keep_in_file(path, ring)
    assert path.read_bytes() == before
