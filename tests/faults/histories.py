"""Which steps of a run are in the history of its last state: what its receipts and its checkpoints say."""

import contextlib
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

from core.averaging.receipts.receipt import Receipt
from core.base.problems import WireProblem
from core.base.state_header import LENGTH_BYTES, MARK_BYTES, header_bytes, header_of
from core.ledger.receipts import read_receipts
from core.storage.paths import Home
from core.swarm.words.states import StateName, marks_in

RECEIPTS_MAX = 100_000


class Histories:
    """Follows the states of several volunteers' homes.

    Args:
        homes: Of the volunteers.
    """

    def __init__(self, homes: Sequence[Home]) -> None:
        self._homes = homes
        self._parents: dict[bytes, bytes] = {}
        """By marks; a step whose receipt was lost with its engine is told by a checkpoint."""
        self._newest: dict[Path, tuple[int, bytes]] = {}
        """Epoch and mark of the newest checkpoint, by folder."""
        self._seen: set[Path] = set()

    def look(self) -> None:
        """Read the headers of the checkpoints that are new: at least once within 16 steps."""
        for folder in self._folders("states"):
            for path in sorted(folder.glob("state-*.safetensors")):
                if path not in self._seen:
                    with contextlib.suppress(OSError, WireProblem):
                        self._read(path)

    def lost_share(self) -> float:
        """Share of all samples of steps that are in steps which did not lead to the last state."""
        self.look()
        receipts = self._receipts()
        samples = {r.statement.lineage[:MARK_BYTES]: sum(deed.samples for deed in r.statement.deeds) for r in receipts}
        names = {StateName(r.statement.epoch, r.statement.lineage): r.statement for r in receipts}
        parents = dict(self._parents)
        for after, statement in names.items():
            for before in names:
                if before.next(round_id=statement.round, outcome=statement.fingerprint) == after:
                    parents[after.mark] = before.mark
        final, mark = 0, max(self._newest.values())[1]
        while mark:
            final += samples.get(mark, 0)
            mark = parents.get(mark, b"")
        return round(1 - final / max(1, sum(samples.values())), 4)

    def _receipts(self) -> list[Receipt]:
        found = {r.statement.round: r for f in self._folders("receipts") for r in read_receipts(f, RECEIPTS_MAX)}
        return list(found.values())

    def _folders(self, name: str) -> Iterable[Path]:
        return [folder for home in self._homes for folder in home.directory.glob(f"state/*/{name}")]

    def _read(self, path: Path) -> None:
        with path.open("rb") as file:
            head = file.read(LENGTH_BYTES)
            header = header_of(head + file.read(header_bytes(head) - LENGTH_BYTES))
        mark = bytes.fromhex(header.lineage)[:MARK_BYTES]
        way = (mark, *marks_in(bytes.fromhex(header.ancestors)))
        self._parents.update(pairwise(way))
        self._newest[path.parent] = (header.epoch, mark)
        self._seen.add(path)
