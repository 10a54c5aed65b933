"""The shards of a collaboration as a computer shares them: the list of its manifest, the machine, and the store."""

from collections.abc import Callable, Mapping
from pathlib import Path
from random import SystemRandom

from core.base.content import digest
from core.base.manifest import Manifest
from core.base.problems import BadInput, Damaged
from core.kept.shard_files import DiskShardStore, seeds_in
from core.swarm.participant import Participant
from core.swarm.shards.exchange import ShardExchange
from core.swarm.shards.names import Catalogue, OwnRounds, ShardEntry
from core.system.atomic_files import read_bounded
from core.text.order.shard_index import INDEX_BYTES_MAX, ShardIndex, read_index


def indexes_of(manifest: Manifest, blobs: Path) -> dict[int, ShardIndex]:
    """The lists of shards, by the place of their source in the manifest; sources without one share nothing.

    Args:
        manifest: Manifest of the collaboration.
        blobs: The folder of its files.

    Raises:
        Damaged: a list is not there, or not what the manifest names.
        BadInput: a list is of another version, or the lists give one shard two sizes.
    """
    found: dict[int, ShardIndex] = {}
    for place, source in enumerate(manifest.sources):
        if not source.index:
            continue
        named = manifest.blobs.get(source.index, "")
        data = read_bounded(blobs / named, INDEX_BYTES_MAX) if named else None
        if data is None or digest(data).hex() != named:
            raise Damaged("The list of the data's shards is not there.", hint="Join the collaboration again.")
        found[place] = read_index(data)
    _check_sizes(found)
    return found


def _check_sizes(indexes: Mapping[int, ShardIndex]) -> None:
    """Equal digests are of equal bytes, which are known by the digest alone: a second size is a lie."""
    sizes: dict[bytes, int] = {}
    for index in indexes.values():
        for entry in _entries(index).values():
            if sizes.setdefault(entry.digest, entry.size_bytes) != entry.size_bytes:
                raise BadInput(
                    "The lists of the data's shards give one shard two sizes.",
                    hint="Tell the organiser, who has to cut the data again.",
                )


def catalogue_of(run: bytes, indexes: Mapping[int, ShardIndex]) -> Catalogue:
    """The shards that can be shared.

    Args:
        run: The manifest's id.
        indexes: See `indexes_of`.
    """
    return Catalogue(run, {place: tuple(_entries(index).values()) for place, index in indexes.items()})


def seeds_of(indexes: Mapping[int, ShardIndex], folders: Mapping[int, Path]) -> dict[bytes, Path]:
    """The shards that lie in an organiser's folders, by digest; all are read once, to be sure.

    Args:
        indexes: See `indexes_of`.
        folders: What `potluck data cut` has made, by the place of the source.

    Raises:
        BadInput: none of them lies there.
        Damaged: a file is not the shard that it is called.
    """
    found: dict[bytes, Path] = {}
    for place, folder in folders.items():
        found |= seeds_in(folder, _entries(indexes[place]))
    if not found:
        hint = "Name the folder that `potluck data cut` has made for it."
        raise BadInput("No shard of this collaboration lies in {folder}.", next(iter(folders.values())), hint=hint)
    return found


def exchange_of(
    participant: Participant,
    catalogue: Catalogue,
    folder: Path,
    *,
    budget: Callable[[], int],
    seeds: Mapping[bytes, Path] | None = None,
) -> tuple[ShardExchange, DiskShardStore]:
    """The machine that shares shards, and the store behind it.

    Args:
        participant: The peer.
        catalogue: The shards.
        folder: Where they are kept.
        budget: How many bytes of them at most.
        seeds: Shards that lie elsewhere, by digest.
    """
    store = DiskShardStore(folder, catalogue, budget=budget, seeds=seeds)
    exchange = ShardExchange(
        participant.me,
        store=store,
        directory=participant.dht,
        random=SystemRandom(),
        trace=participant.trace,
        rounds=OwnRounds(lambda: participant.rounds.busy, participant.donor.members),
    )
    return exchange, store


def _entries(index: ShardIndex) -> dict[str, ShardEntry]:
    """The shards of an index by the names of their files, in order."""
    shards = (index.shard(number) for number in range(len(index)))
    return {one.name: ShardEntry(one.root, one.size) for one in shards}
