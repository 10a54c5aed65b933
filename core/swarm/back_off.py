"""States and peers that were no good when we tried to catch up, and how long each is left alone."""

from collections import OrderedDict
from collections.abc import Hashable
from random import Random
from typing import Final

DOUBTS_MAX: Final = 1024


class BackOff:
    """Rests after failures: each twice as long as the one before, with jitter.

    A peer can promise a state that it never gives.  Whoever promised it in vain rests, so that a liar cannot keep
    others from training, whatever it promises next.

    Args:
        first_s: The first rest.
        longest_s: No rest is longer, jitter apart.
        random: For the jitter.
    """

    def __init__(self, *, first_s: float, longest_s: float, random: Random) -> None:
        self._first_s = first_s
        self._longest_s = longest_s
        self._random = random
        self._rests: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def failed(self, thing: Hashable, now: float, *, times: int = 1) -> float:
        """`thing` was no good, as bad as that many failures in a row; returns until when it rests, unix seconds."""
        _, last_s = self._rests.pop(thing, (0.0, 0.0))
        rest_s = min((2 * last_s or self._first_s) * (1 << (times - 1)), self._longest_s)
        until = now + rest_s * self._random.uniform(0.5, 1.5)
        self._rests[thing] = (until, rest_s)
        if len(self._rests) > DOUBTS_MAX:
            self._rests.popitem(last=False)
        return until

    def cleared(self, thing: Hashable) -> None:
        """`thing` was good after all."""
        self._rests.pop(thing, None)

    def resting(self, thing: Hashable, now: float) -> bool:
        """Whether `thing` is to be left alone."""
        rest = self._rests.get(thing)
        return rest is not None and now < rest[0]
