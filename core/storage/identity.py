"""This computer's identity: an Ed25519 key in the system's keyring, or in a file where there is no keyring.

`identity.json` tells the place of the key, so that a keyring that does not answer today is never mistaken for a first
start.
"""

import base64
import contextlib
import queue
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Protocol, TypeVar

import msgspec
from msgspec import Meta

from core.base.problems import Damaged, Sentence, UserProblem, later
from core.base.signing import KeyPair
from core.system.atomic_files import read_bounded, set_aside, write_atomic, write_new

T = TypeVar("T")

SERVICE = "potluck"
IDENTITY_BYTES_MAX = 4096
KEYRING_TIMEOUT_S = 8.0
"""Long enough for a person to unlock a keyring that asks; a broken D-Bus would otherwise hold the start for ever."""


KEY_IN_FILE: Final = Sentence(
    "For a computer that starts without anybody, keep the key in a file: potluck startup engine --key-in-file"
)


class Keyring(Protocol):
    """The used part of `keyring.backend.KeyringBackend`.  Any method may raise anything, or hang."""

    def get_password(self, service: str, username: str) -> str | None:
        """The stored secret; None: there is none."""

    def set_password(self, service: str, username: str, password: str) -> None:
        """Store a secret under a service and a name."""


class IdentityFile(msgspec.Struct, frozen=True, kw_only=True):
    """Content of `identity.json`, which has mode 0600."""

    peer: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    """The public key."""
    entry: Annotated[str, Meta(max_length=40)] = ""
    """User name of the keyring's entry; empty when the key is in this file."""
    seed: Annotated[str, Meta(max_length=64)] = ""
    """The secret seed in base 64; empty when the key is in the keyring."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The key, and a sentence for the person if there is something to know about it."""

    keys: KeyPair
    notice: Sentence | None = None


class _Unusable(Exception):  # noqa: N818 - never leaves this file
    """The keyring does not answer, or says no."""


def system_keyring(environ: Mapping[str, str]) -> Keyring | None:
    """The keyring of this system; None when there is none that keeps secrets, or POTLUCK_KEYRING=off."""
    if environ.get("POTLUCK_KEYRING", "").lower() == "off":
        return None
    return _SystemKeyring()


class _SystemKeyring:
    """The `keyring` library's choice, looked up at the first use: looking may already talk to D-Bus."""

    def get_password(self, service: str, username: str) -> str | None:
        return _chosen_backend().get_password(service, username)

    def set_password(self, service: str, username: str, password: str) -> None:
        _chosen_backend().set_password(service, username, password)


def _chosen_backend() -> Keyring:
    import keyring  # noqa: PLC0415 - slow to import, and not needed when the key is in a file

    backend: Keyring = keyring.get_keyring()
    if type(backend).__module__.startswith(("keyring.backends.fail", "keyring.backends.null")):
        raise _Unusable("no keyring")
    return backend


def load_identity(path: Path, keyring: Keyring | None, *, timeout_s: float = KEYRING_TIMEOUT_S) -> Identity:
    """This computer's identity, made at the first start.  An existing key is never overwritten.

    Args:
        path: `identity.json` (core.storage.paths.Home.identity_file).
        keyring: Where the key should be kept (system_keyring); None keeps it in the file.
        timeout_s: How long the keyring may take for one answer.

    Raises:
        UserProblem: the key is in the keyring, and the keyring does not open.
        Damaged: the key is gone or unreadable; what is left was set aside, the next start makes a new one.
        NoSpace: the disk is full.
    """
    try:
        data = read_bounded(path, IDENTITY_BYTES_MAX)
        if data is None:
            return _make(path, keyring, timeout_s, KeyPair.generate())
        known = msgspec.json.decode(data, type=IdentityFile)
        seed = base64.b64decode(known.seed, validate=True) if known.seed else b""
    except ValueError as error:
        raise _damaged(path, later("The file with this computer's key is damaged.")) from error
    if not known.entry:
        return Identity(_checked(path, known, seed), _in_file(path))
    try:
        secret = _ask(keyring, lambda ring: ring.get_password(SERVICE, known.entry), timeout_s)
    except _Unusable as error:
        message = "This computer's key is in the system's keyring, and the keyring does not open."
        hint = "Unlock the keyring (and unset POTLUCK_KEYRING), then start Potluck again. {also}"
        raise UserProblem(message, KEY_IN_FILE, hint=hint) from error
    if secret is None:
        raise _damaged(path, later("This computer's key is no longer in the system's keyring."))
    with contextlib.suppress(ValueError):
        seed = base64.b64decode(secret, validate=True)
    return Identity(_checked(path, known, seed))


def bring_back(path: Path, keyring: Keyring | None, keys: KeyPair) -> Path | None:
    """Take a key that was elsewhere as this computer's, from now on.

    Args:
        path: `identity.json`.
        keyring: Where the key should be kept (system_keyring); None keeps it in the file.
        keys: The key.

    Returns:
        Where the file of another key is now; None: there was none.

    Raises:
        NoSpace: the disk is full.
        UserProblem: the system does not allow it.
    """
    aside = set_aside(path, why="replaced") if path.exists() else None
    _make(path, keyring, KEYRING_TIMEOUT_S, keys)
    return aside


def in_keyring(path: Path) -> bool:
    """Whether this computer's key is in the keyring; False where there is no key yet, or none that can be read.

    Args:
        path: `identity.json`.
    """
    try:
        data = read_bounded(path, IDENTITY_BYTES_MAX)
        return data is not None and bool(msgspec.json.decode(data, type=IdentityFile).entry)
    except (ValueError, UserProblem):
        return False


def keep_in_file(path: Path, keyring: Keyring | None) -> None:
    """Keep this computer's key in `identity.json`, mode 0600, from now on; what the keyring has stays there.

    Args:
        path: `identity.json`.
        keyring: Where the key is (system_keyring).

    Raises:
        UserProblem: the keyring does not open.
        Damaged, NoSpace: as `load_identity` says.
    """
    keys = load_identity(path, keyring).keys
    seed = base64.b64encode(keys.seed).decode()
    write_atomic(path, msgspec.json.encode(IdentityFile(peer=keys.peer_id.hex(), seed=seed)) + b"\n")


def kept_secret(keyring: Keyring | None, entry: str) -> str:
    """A secret that a person has put into the keyring for Potluck; empty: there is none, or the keyring is closed.

    Args:
        keyring: Where it is (system_keyring).
        entry: The user name under which it was put there; the service is `SERVICE`.
    """
    try:
        return _ask(keyring, lambda ring: ring.get_password(SERVICE, entry), KEYRING_TIMEOUT_S) or ""
    except _Unusable:
        return ""


def keep_secret(keyring: Keyring | None, entry: str, secret: str) -> bool:
    """Put a person's secret into the keyring, in the place of an earlier one.

    Args:
        keyring: Where it goes (system_keyring).
        entry: The user name under which `kept_secret` finds it.
        secret: The secret.

    Returns:
        Whether the keyring has it now.
    """
    try:
        _ask(keyring, lambda ring: ring.set_password(SERVICE, entry, secret), KEYRING_TIMEOUT_S)
    except _Unusable:
        return False
    return kept_secret(keyring, entry) == secret


def _make(path: Path, keyring: Keyring | None, timeout_s: float, keys: KeyPair) -> Identity:
    """The key, in the keyring if that keeps it, else in the file."""
    peer = keys.peer_id.hex()
    secret = base64.b64encode(keys.seed).decode()
    entry = f"identity-{peer[:16]}"
    try:
        _ask(keyring, lambda ring: ring.set_password(SERVICE, entry, secret), timeout_s)
        kept = _ask(keyring, lambda ring: ring.get_password(SERVICE, entry), timeout_s)
    except _Unusable:
        kept = None
    if kept == secret:
        return _write(path, IdentityFile(peer=peer, entry=entry), Identity(keys))
    return _write(path, IdentityFile(peer=peer, seed=secret), Identity(keys, _in_file(path)))


def _write(path: Path, file: IdentityFile, identity: Identity) -> Identity:
    try:
        write_new(path, msgspec.json.encode(file) + b"\n")
    except FileExistsError as error:
        raise UserProblem("Another Potluck just made this computer's key.", hint="Start again.") from error
    return identity


def _checked(path: Path, known: IdentityFile, seed: bytes) -> KeyPair:
    """The key of `seed`, if it is the one that `known` names."""
    with contextlib.suppress(ValueError):
        keys = KeyPair(seed)
        if keys.peer_id.hex() == known.peer:
            return keys
    raise _damaged(path, later("This computer's key is damaged."))


def _damaged(path: Path, message: str) -> Damaged:
    aside = set_aside(path)
    return Damaged(
        Sentence(message),
        aside.name,
        hint="What is left was kept as {name}. Put a copy back, or start again to join with a new key.",
    )


def _in_file(path: Path) -> Sentence:
    text = "This system has no usable keyring: this computer's key is in the file {path}, readable by you only."
    return Sentence(text, path)


def _ask(keyring: Keyring | None, question: Callable[[Keyring], T], timeout_s: float) -> T:
    """The answer of a keyring that may hang; the thread that hangs is a daemon and ends with the process.

    Raises:
        _Unusable: no keyring, no answer in time, or a refusal.
    """
    if keyring is None:
        raise _Unusable("no keyring")
    answers: queue.SimpleQueue[T | Exception] = queue.SimpleQueue()

    def run() -> None:
        try:
            answers.put(question(keyring))
        except Exception as error:  # noqa: BLE001 - backends raise whatever their system does
            answers.put(error)

    threading.Thread(target=run, name="keyring", daemon=True).start()
    try:
        answer = answers.get(timeout=timeout_s)
    except queue.Empty:
        raise _Unusable(f"no answer in {timeout_s:.0f} s") from None
    if isinstance(answer, Exception):
        raise _Unusable(str(answer)) from answer
    return answer
