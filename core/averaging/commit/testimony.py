"""What the leader of a round has been told of everybody's means; see `sealing`.  Sets of members are bits."""

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from functools import reduce
from operator import and_, or_

from core.averaging.messages import Status
from core.averaging.plan import Plan

Seals = tuple[bytes, ...]


def bits_of(members: Iterable[int]) -> int:
    """A set of members."""
    return sum(1 << member for member in members)


class Testimony:
    """Salts and seals of the members that need the means.

    Args:
        plan: The round's plan.
        me: Index of the leader, whose word counts where as many say one thing as another.
        unheeded: For whose word alone nothing is made anew, because of earlier rounds (bits).
    """

    def __init__(self, plan: Plan, me: int, *, unheeded: int = 0) -> None:
        self._plan = plan
        self._me = me
        self.receivers = bits_of(m for m, member in enumerate(plan.members) if member.receives)
        """Who needs the means."""
        self.salts: tuple[bytes, ...] = ()
        """Under which seals are asked for; none while not all are complete."""
        self._told: dict[int, bytes] = {}
        self._earlier: dict[int, tuple[bytes, ...]] = {}
        self._seals: dict[int, Seals] = {}
        self._unheeded = unheeded
        self._apart = 0
        self._doubted: dict[int, int] = {}
        self.differed = 0
        """Who was heeded and says, with few others, that it holds other means."""

    def forget(self) -> None:
        """Some means are made anew."""
        self.ask(())

    def ask(self, salts: tuple[bytes, ...]) -> None:
        """Seals under these salts are wanted from now on."""
        self.salts = salts
        self._seals = {}

    def note(self, member: int, status: Status, *, current: bool) -> None:
        """A member's word; `current`: it holds complete what is to be committed."""
        self._told[member] = status.salt if self.receivers >> member & 1 else b""
        self._earlier[member] = status.salts
        sealed = current and bool(self.salts) and status.salts == self.salts
        if sealed and len(status.seals) == len(self._plan.chunks):
            pairs = zip(status.seals, self._plan.chunks, strict=True)
            self._seals.setdefault(member, tuple(seal if chunks else b"" for seal, chunks in pairs))

    def unsealed(self, live: int) -> int:
        """Who of these needs the means and has not said what they are."""
        return live & self.receivers & ~bits_of(self._seals)

    @property
    def begun(self) -> bool:
        """Whether anybody has said what its means are."""
        return bool(self._seals)

    def all_salts(self) -> tuple[bytes, ...]:
        """One for each member, empty for whom none is known."""
        return tuple(self._told.get(m, b"") for m in range(len(self._plan.members)))

    def earlier(self, live: int, among: Container[int]) -> tuple[bytes, ...]:
        """The salts under which the leader before me can have committed, as told by one `among` these; maybe none.

        They hold that of everybody who is in.  Of several such lists the newest lacks those who have gone since.
        """
        told = [salts for member, salts in self._earlier.items() if member in among and self._has_all(salts, live)]
        return min(told, key=lambda salts: sum(1 for salt in salts if salt), default=())

    def opinions(self, live: int) -> list[Seals]:
        """What these say their means are, the leader first."""
        said = [m for m in self._seals if live & self.receivers & 1 << m]
        return [self._seals[m] for m in sorted(said, key=lambda m: (m != self._me, m))]

    def judge(self, live: int, givers: Sequence[int], *, pinned: bool) -> tuple[list[int], list[int]]:
        """All have spoken, and not all say the same: who is to be excluded, and which shares are to be made anew.

        A share of which a few hold another mean has a reducer that lied, or is lied about, or one that repeated its
        means (`givers`: for each share, the bits of all of these).  It goes to another reducer;
        who is alone with its word again is excluded, as is who would have several reducers lie to it, who is not
        heeded, or who differs where an earlier leader can have committed (`pinned`).
        """
        common, _ = Counter(self.opinions(live)).most_common(1)[0]
        apart = {m: self._differing(seals, common) for m, seals in self._seals.items() if live >> m & 1}
        apart = {m: shares for m, shares in sorted(apart.items()) if self._seals[m] != common}
        shown = [
            m
            for m, shares in apart.items()
            if pinned
            or self._apart >> m & 1
            or not reduce(and_, (givers[share] for share in shares), -1 if shares else 0)
        ]
        liars = [m for m in apart if m in shown or self._unheeded >> m & 1]
        self._apart |= bits_of(apart)
        receivers = (live & self.receivers).bit_count()
        if 2 * len(apart) < receivers or (2 * len(apart) == receivers and self._me not in apart):
            self.differed |= bits_of(apart) & ~self._unheeded
        for m, shares in apart.items():  # who is not heeded is out, and may have been lied to all the same
            self._doubted[m] = 0 if m in shown else reduce(or_, (givers[share] for share in shares))
        return liars, sorted({share for m, shares in apart.items() if m not in liars for share in shares})

    @property
    def doubtful(self) -> int:
        """Whose means were said to be others by somebody who has not turned out to be a liar in this round (bits)."""
        return reduce(or_, self._doubted.values(), 0)

    def _differing(self, seals: Seals, common: Seals) -> list[int]:
        pairs = zip(seals, common, strict=True)
        return [share for share, (one, other) in enumerate(pairs) if one != other and self._plan.chunks[share]]

    def _has_all(self, salts: Sequence[bytes], live: int) -> bool:
        needed = [m for m in range(len(self._plan.members)) if live & self.receivers & 1 << m]
        given = bits_of(m for m, salt in enumerate(salts) if salt)
        fits = len(salts) == len(self._plan.members) and not given & ~self.receivers
        return fits and all(salts[m] == self._told.get(m) for m in needed)
