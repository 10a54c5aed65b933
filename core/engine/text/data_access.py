"""What the reader of a collaboration's data may use on this computer: a folder, credentials, room on the disk."""

import asyncio
from pathlib import Path

from core.base.manifest import Manifest
from core.engine.installation import Installation
from core.engine.text.data_desk import DataDesk
from core.engine.text.data_secrets import kept_secrets, secret_names
from core.engine.text.shard_sharing import GIGABYTE, SHARDS, SHARED
from core.workers.data_frames import DataAccess


class DataRoom:
    """Gathers what the reader may use on this computer: a folder, credentials and room on the disk.

    Args:
        installation: Installation of this computer.
        manifest: Names the sources; only credentials for these are looked up.
        desk: Where the reader asks.
        blocks: A folder of this collaboration alone.
        near: Whether the person has joined by a link into the own network, so that text may lie there, too.
    """

    def __init__(
        self, installation: Installation, manifest: Manifest, desk: DataDesk, blocks: Path, *, near: bool
    ) -> None:
        self._installation, self._near = installation, near
        self._names = secret_names(manifest.sources)
        self._shares = any(source.index for source in manifest.sources)
        self._desk = desk
        self._blocks = blocks
        self._secrets: dict[str, str] = {}

    async def look_up(self) -> None:
        """Ask the keyring for credentials, which may take seconds; to be awaited before a worker starts."""
        self._secrets = await asyncio.to_thread(kept_secrets, self._names)

    def access(self) -> DataAccess:
        """What a worker that starts now may use."""
        text, home = self._installation.options.text, self._installation.options.home
        spare = [folder for folder in home.directory.glob(f"state/*/{self._blocks.name}") if folder != self._blocks]
        if not self._shares:  # else the shards of all collaborations keep to their own part of the disk
            spare.append(home.directory / SHARDS)
        share = 1 - SHARED if self._shares else 1
        return DataAccess(
            blocks_dir=str(self._blocks),
            disk_bytes=int(share * GIGABYTE * self._installation.preferences.settings.disk_gigabytes),
            spare_dirs=tuple(map(str, spare)),
            folder="" if text is None else str(text),
            near=self._near,
            desk_url=self._desk.url,
            desk_token=self._desk.token,
            secrets=self._secrets,
        )
