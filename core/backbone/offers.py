"""What a backbone does for the members beside letting them in: it averages, and seeds the organiser's shards."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import SystemRandom
from typing import Final

from core.backbone.charter import SHARDS, Charter
from core.backbone.site_facts import SiteFacts, SiteSources
from core.backbone.site_process import SiteAddress, keep_site
from core.base.problems import BadInput
from core.session.shards import catalogue_of, exchange_of, indexes_of, seeds_of
from core.swarm.participant import Participant
from core.swarm.shards.exchange import ShardExchange

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

    def exchange(self, participant: Participant, charter: Charter) -> ShardExchange | None:
        """What gives the shards, each of which is read once, to be sure; None: there are none.

        Raises:
            BadInput: the collaboration lists no shards, or none of them lies in the folder.
            Damaged: a file is not the shard that it is called.
        """
        indexes = indexes_of(charter.manifest, charter.blobs)
        own = {place: charter.folder / SHARDS / str(place) for place in indexes}
        folders = {place: self.shards or folder for place, folder in own.items() if self.shards or folder.is_dir()}
        if not folders and self.shards is None:
            return None
        if not indexes:
            raise BadInput(
                "This collaboration lists no shards, so none can be shared.",
                hint="Cut its text with `potluck data cut`, and found it with the index.",
            )
        catalogue = catalogue_of(charter.manifest.id, indexes)
        seeds = seeds_of(indexes, folders)
        exchange, _ = exchange_of(participant, catalogue, charter.folder / "shards", budget=lambda: 0, seeds=seeds)
        return exchange

    async def show(self, known: SiteSources, now: Callable[[], float]) -> None:
        """Serve the page, where that is wanted, until cancelled.

        Args:
            known: Where it looks.
            now: Unix seconds.
        """
        if self.site is not None:
            await keep_site(self.site, SiteFacts(known), now, SystemRandom())


USUAL: Final = Offers()
