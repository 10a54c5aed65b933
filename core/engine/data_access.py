"""What the reader of a collaboration's data may use on this computer: a folder, credentials, room on the disk."""

import asyncio
import os
from pathlib import Path
from typing import Final

from core.base.manifest import Manifest
from core.engine.data_desk import DataDesk
from core.engine.installation import Installation
from core.engine.shard_sharing import GIGABYTE, SHARED
from core.sources.source import secret_name
from core.storage.identity import kept_secret, system_keyring
from core.workers.data_frames import DataAccess

ENTRY: Final = "data "
"""What the names of these credentials in the keyring begin with; `core.sources.source.secret_name` follows."""


class DataRoom:
    """See the module's docstring.

    Args:
        installation: Of this computer.
        manifest: Names the sources; only credentials for these are looked up.
        desk: Where the reader asks.
        blocks: A folder of this collaboration alone.
    """

    def __init__(self, installation: Installation, manifest: Manifest, desk: DataDesk, blocks: Path) -> None:
        self._installation = installation
        self._names = {secret_name(source.address) for source in manifest.sources if source.host}
        self._share = 1 - SHARED if any(source.index for source in manifest.sources) else 1
        self._desk = desk
        self._blocks = blocks
        self._secrets: dict[str, str] = {}

    async def look_up(self) -> None:
        """Ask the keyring for credentials, which may take seconds; to be awaited before a worker starts."""
        self._secrets = await asyncio.to_thread(kept_secrets, self._names)

    def access(self) -> DataAccess:
        """What a worker that starts now may use."""
        text = self._installation.options.text
        return DataAccess(
            blocks_dir=str(self._blocks),
            disk_bytes=int(self._share * GIGABYTE * self._installation.preferences.settings.disk_gigabytes),
            folder="" if text is None else str(text),
            desk_url=self._desk.url,
            desk_token=self._desk.token,
            secrets=self._secrets,
        )


def kept_secrets(names: set[str]) -> dict[str, str]:
    """The credentials of these names that the keyring has; it is not asked where there are none to ask for."""
    keyring = system_keyring(os.environ)
    found = {name: kept_secret(keyring, f"{ENTRY}{name}") for name in sorted(names)}
    return {name: secret for name, secret in found.items() if secret}
