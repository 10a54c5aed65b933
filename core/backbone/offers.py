"""What a backbone does for members beside letting them in: it averages, seeds shards, and keeps copies of experts."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import SystemRandom
from typing import Final

from core.backbone.charter import SHARDS, Charter
from core.backbone.site_facts import SiteFacts, SiteSources
from core.backbone.site_process import SiteAddress, keep_site
from core.base.problems import BadInput
from core.kept.state_files import DiskStateSink
from core.session.session import Companion
from core.session.shards import catalogue_of, exchange_of, indexes_of, seeds_of
from core.swarm.experts import archive, keeping, other_hosts, records
from core.swarm.participant import Participant
from core.system.atomic_files import make_directory
from core.workers.expert_files import KEPT

EXPERTS: Final = "experts"
"""Folder of the charter with copies of experts."""
HELP_BYTES: Final = 512 * 1024 * 1024
"""A backbone is there all the time and has no model: it averages for the others what their lines are too slow for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offers:
    """What a backbone offers.

    Attributes:
        help_bytes: Memory for averaging what others have trained; 0: do not.
        shards: A folder of shards to give to members (`potluck data cut`); None: those that lie in the charter.
        site: Where it serves the page of the collaboration; None: nowhere.
    """

    help_bytes: int = HELP_BYTES
    shards: Path | None = None
    site: SiteAddress | None = None

    def companions(self, participant: Participant, charter: Charter) -> Sequence[Companion]:
        """What gives the shards, if there are any, each of which is read once, and keeps copies of experts.

        Raises:
            BadInput: the collaboration lists no shards, or none of them lies in the folder.
            Damaged: a file is not the shard that it is called.
        """
        return [*self._shards(participant, charter), *archives(participant, charter)]

    def _shards(self, participant: Participant, charter: Charter) -> Sequence[Companion]:
        indexes = indexes_of(charter.manifest, charter.blobs)
        own = {place: charter.folder / SHARDS / str(place) for place in indexes}
        folders = {place: self.shards or folder for place, folder in own.items() if self.shards or folder.is_dir()}
        if not folders and self.shards is None:
            return ()
        if not indexes:
            raise BadInput(
                "This collaboration lists no shards, so none can be shared.",
                hint="Cut its text with `potluck data cut`, and found it with the index.",
            )
        catalogue = catalogue_of(charter.manifest.id, indexes)
        seeds = seeds_of(indexes, folders)
        exchange, _ = exchange_of(participant, catalogue, charter.folder / "shards", budget=lambda: 0, seeds=seeds)
        return (exchange,)

    async def show(self, known: SiteSources, now: Callable[[], float]) -> None:
        """Serve the page, where that is wanted, until cancelled.

        Args:
            known: Where it looks.
            now: Unix seconds.
        """
        if self.site is not None:
            await keep_site(self.site, SiteFacts(known), now, SystemRandom())


def archives(participant: Participant, charter: Charter) -> Sequence[Companion]:
    """What keeps copies of experts, where the model has some, in half of the disk that is free."""
    numbers = charter.manifest.mixture
    if numbers is None:
        return ()
    folder, mixture = charter.folder / EXPERTS, records.Mixture.of(charter.manifest.id, numbers)
    make_directory(folder)
    used = sum(path.stat().st_size for path in folder.glob("expert-*"))
    room = int((shutil.disk_usage(folder).free / 2 + used) / (KEPT * mixture.file_bytes))
    random = SystemRandom()
    parts = keeping.KeepingParts(
        hosts=other_hosts.OtherHosts(participant.me, mixture, participant.donor.members, random),
        hosted=(),
        directory=participant.dht,
        sink=DiskStateSink(folder / "incoming"),
        members=participant.donor.members,
        room=room,
    )
    return (archive.ExpertArchive(participant.me, mixture, parts, random=random, trace=participant.trace),)


USUAL: Final = Offers()
