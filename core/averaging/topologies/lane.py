"""One share as one member sees it: its parts go out within a window, means come back."""


class Lane:
    """Bookkeeping of one version of one share at one member.

    Args:
        count: Chunks in the share.
        reducer: Index of the member that reduces it.
        now: When the version began, unix seconds.
    """

    def __init__(self, count: int, *, reducer: int, now: float) -> None:
        self.count = count
        self.reducer = reducer
        self.version = 0
        self.progress_at = now
        """When the last mean arrived, or the version began."""
        self._next = 0
        self._first_missing = 0
        self._contributors: list[int | None] = [None] * count

    def restart(self, *, version: int, reducer: int, now: float) -> None:
        """Forget all means: another version begins."""
        self.version = version
        self.reducer = reducer
        self.progress_at = now
        self._next = 0
        self._first_missing = 0
        self._contributors = [None] * self.count

    def redirect(self, reducer: int, now: float) -> None:
        """The means that are missing will come from another member; those that are here stay."""
        self.reducer = reducer
        self.progress_at = now
        self._next = self._first_missing

    @property
    def complete(self) -> bool:
        """Whether every mean is here."""
        return self._first_missing >= self.count

    def has(self, chunk: int) -> bool:
        """Whether the mean of `chunk` is here."""
        return self._contributors[chunk] is not None

    def arrive(self, chunk: int, contributors: int, now: float) -> None:
        """The mean of `chunk` is here, made of the parts of `contributors` (bits)."""
        self._contributors[chunk] = contributors
        self.progress_at = now
        while not self.complete and self.has(self._first_missing):
            self._first_missing += 1

    def contributors(self, chunk: int) -> int:
        """Whose parts are in the mean of `chunk` (bits); 0 while it is missing."""
        return self._contributors[chunk] or 0

    def due(self, window: int) -> list[int]:
        """The parts to send now: none is more than `window` chunks ahead of the first mean that is missing."""
        end = min(self.count, self._first_missing + window)
        chunks = [chunk for chunk in range(self._next, end) if not self.has(chunk)]
        self._next = max(end, self._next)
        return chunks

    def lacking(self, member: int) -> int:
        """In how many means `member` has no part."""
        return sum(1 for bits in self._contributors if bits is None or not bits >> member & 1)
