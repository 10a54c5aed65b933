"""A person's credentials for sources of text: kept in the system's keyring, given to the reader of data alone."""

import os
from collections.abc import Iterable
from typing import Final

from core.base.data_source import DataSource
from core.storage.identity import keep_secret, kept_secret, system_keyring
from core.text.sources.source import secret_name

ENTRY: Final = "data "
"""What the names of these credentials in the keyring begin with; `core.text.sources.source.secret_name` follows."""


def secret_names(sources: Iterable[DataSource]) -> set[str]:
    """What credentials for these sources are called; files of this computer need none."""
    return {secret_name(source.address) for source in sources if source.host}


def kept_secrets(names: set[str]) -> dict[str, str]:
    """The credentials of these names that the keyring has, which may take seconds to answer.

    The keyring is not asked where there is no name.
    """
    keyring = system_keyring(os.environ)
    found = {name: kept_secret(keyring, f"{ENTRY}{name}") for name in sorted(names)}
    return {name: secret for name, secret in found.items() if secret}


def keep(name: str, secret: str) -> bool:
    """Keep a credential in the keyring, in the place of an earlier one; empty: that is forgotten.

    Args:
        name: As in `secret_names`.
        secret: What the server asks for.

    Returns:
        Whether the keyring has taken it.
    """
    return keep_secret(system_keyring(os.environ), f"{ENTRY}{name}", secret)
