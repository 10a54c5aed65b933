"""For whom a round had to wait, as one member sees it."""

import math
from collections import Counter
from collections.abc import Sequence
from statistics import median
from typing import Any, Final

from core.averaging.messages import Mean, Part
from core.averaging.plan import Plan
from core.base.ids import PeerId
from core.base.machine import Send

CHUNKS_LEAST: Final = 4
"""Chunks that must have been reduced here to tell who is always last."""
LAST_IN: Final = 0.3
"""Whoever's part was the last one in so many of them kept the others waiting..."""
CHANCE: Final = 2.0
"""... unless that is within so many standard deviations of what is everybody's turn."""
MEANS_LATE: Final = 0.9
MEANS_EARLY: Final = 0.75
"""A reducer whose last mean came after the first of these parts of the round, when most were done before the second."""


class Waits:
    """Counts who was last with the parts of the chunks that this member reduces, and when the last means came.

    Args:
        plan: The round's plan.
        now: When it began, unix seconds.
    """

    def __init__(self, plan: Plan, now: float) -> None:
        self._plan = plan
        self._peers = plan.peers
        self._began = now
        self._last_parts: Counter[PeerId] = Counter()
        self._last_means: dict[int, float] = {}

    def saw(self, sender: PeerId, message: Any, outputs: Sequence[object], now: float) -> None:
        """A message came and led to these outputs: a mean at once means that this part was the last."""
        if isinstance(message, Part):
            first = outputs[0] if outputs else None
            mean = first.message if isinstance(first, Send) else None
            if isinstance(mean, Mean) and (mean.share, mean.chunk) == (message.share, message.chunk):
                self._last_parts[sender] += 1
        elif isinstance(message, Mean) and self._peers[message.share : message.share + 1] == (sender,):
            self._last_means[message.share] = now

    def kept_waiting(self, now: float) -> set[PeerId]:
        """Whom the others waited for, when the round is over."""
        total = self._last_parts.total()
        if total >= CHUNKS_LEAST:
            least = max(LAST_IN * total, self._by_chance(total))
            found = {peer for peer, count in self._last_parts.items() if count >= least}
            if found:
                return found
        took_s = now - self._began
        if len(self._last_means) < 3 or median(self._last_means.values()) - self._began > MEANS_EARLY * took_s:
            return set()
        late = self._began + MEANS_LATE * took_s
        return {self._peers[share] for share, at in self._last_means.items() if at >= late}

    def _by_chance(self, total: int) -> float:
        """How often one of those who give is last in so many chunks even if all are equally slow."""
        turn = 1 / max(1, sum(1 for member in self._plan.members if member.samples) - 1)
        return total * turn + CHANCE * math.sqrt(total * turn * (1 - turn))
