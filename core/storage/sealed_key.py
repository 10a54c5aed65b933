"""Secret keys under a passphrase: PKCS#8 in PEM, sealed by the `cryptography` library, so that openssl opens them, too.

Its derivation takes 2,048 rounds, which a stranger with a file repeats some million times a second: the passphrase has
to be long.
"""

from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from core.base.ids import PeerId
from core.base.problems import BadInput
from core.base.signing import KeyPair

LETTERS_MIN: Final = 16
"""Shortest passphrase: four words out of a thousand have 40 bits, twelve random letters and digits more."""
LETTERS_MAX: Final = 200
SEALED_BYTES_MAX: Final = 1024
_BEGIN: Final = "-----BEGIN ENCRYPTED PRIVATE KEY-----"
_END: Final = "-----END ENCRYPTED PRIVATE KEY-----"


class WrongPassphrase(BadInput):
    """A passphrase that does not open a key; a damaged key looks the same."""

    code = "wrong_passphrase"


def wrong_passphrase() -> WrongPassphrase:
    """The problem that a sealed key stays sealed."""
    return WrongPassphrase(
        "This passphrase does not open the key, or the key is damaged.",
        hint="Type it as it was when the key was sealed, or take another copy of it.",
    )


def check_passphrase(said: str) -> bytes:
    """The passphrase of a new seal as bytes.

    Raises:
        BadInput: it is too short, too long, or cannot be typed again.
    """
    if not LETTERS_MIN <= len(said) <= LETTERS_MAX or not said.isprintable() or said != said.strip():
        hint = "Take four words or more that you draw by chance, {least} to {most} letters together."
        raise BadInput("This passphrase is too short or cannot be used.", LETTERS_MIN, LETTERS_MAX, hint=hint)
    return said.encode()


def seal_key(keys: KeyPair, passphrase: bytes) -> str:
    """The secret key as text that nobody reads without the passphrase.

    Args:
        keys: The key.
        passphrase: As `check_passphrase` has it.
    """
    sealing = BestAvailableEncryption(passphrase)
    return keys.private_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, sealing).decode()


def unseal_key(sealed: str, passphrase: bytes, peer: PeerId) -> KeyPair:
    """The key that was sealed.

    Args:
        sealed: As `seal_key` has it.
        passphrase: What the person says.
        peer: The public key: a changed letter of the seal may make another secret one.

    Raises:
        WrongPassphrase: it is another one, or the text is not that sealed key.
    """
    try:
        opened = load_pem_private_key(sealed[:SEALED_BYTES_MAX].encode(), passphrase or b"-")
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise wrong_passphrase() from error
    if not isinstance(opened, Ed25519PrivateKey) or opened.public_key().public_bytes_raw() != peer:
        raise wrong_passphrase()
    return KeyPair(opened.private_bytes_raw())


def sealed_in(text: str) -> str | None:
    """The first sealed key that stands in a text, such as a page that was printed; None: there is none.

    Args:
        text: Spaces at the ends of its lines do not count.
    """
    begin = text.find(_BEGIN)
    end = text.find(_END, begin)
    if begin < 0 or end < 0:
        return None
    lines = text[begin + len(_BEGIN) : end].split()
    return "\n".join((_BEGIN, *lines, _END, ""))
