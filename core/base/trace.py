"""Counts of what happened.  Dropped messages, refused proofs and retries leave a mark here, never a stack trace."""

from collections import Counter


class Trace:
    """Counts of named marks such as `dht.drop.signature`; at most `LIMIT` names, so a stranger cannot make it grow."""

    LIMIT = 1000

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def mark(self, name: str) -> None:
        """Add one to the count of `name`."""
        if name not in self._counts and len(self._counts) >= self.LIMIT:
            name = "trace.overflow"
        self._counts[name] += 1

    def __getitem__(self, name: str) -> int:
        return self._counts[name]

    def counts(self) -> dict[str, int]:
        """A copy of all counts, by name."""
        return dict(sorted(self._counts.items()))
