"""A model that knows only the piece before: the yardstick beside plain frequencies."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from core.api.score import Score
from core.base.problems import BadInput
from core.tasks.task import Blobs

NEIGHBOUR: Final = "neighbour"
"""The blob with the score, which the organiser has computed: counts of all pairs are as large as the text."""
LOSS_MAX: Final = 100.0


class Neighbour:
    """Says what follows a piece, with the estimate of Witten and Bell (1991, method C).

    Of n pieces that followed it in the training text t were different: what follows is one of them with n parts of
    n + t, and any piece by its frequency with the others.

    Args:
        texts: The training text, cut into numbers of pieces.
        counts: How often each piece stands there; each counts as one more.
    """

    def __init__(self, texts: Iterable[Sequence[int]], counts: Sequence[int]) -> None:
        self._counts = [count + 1 for count in counts]
        self._whole = sum(self._counts)
        self._often = max(range(len(counts)), key=self._counts.__getitem__)
        self._followers: dict[int, Counter[int]] = defaultdict(Counter)
        for text in texts:
            for piece, follower in pairwise(text):
                self._followers[piece][follower] += 1

    def share(self, before: int, piece: int) -> float:
        """The probability that `piece` stands after `before`."""
        met = self._followers.get(before, Counter())
        new = len(met) or 1
        return (met[piece] + new * self._counts[piece] / self._whole) / (met.total() + new)

    def guess(self, before: int) -> int:
        """The piece that most probably stands after `before`."""
        likely: set[int] = {*self._followers.get(before, ()), self._often}
        best: int = max(likely, key=lambda piece: (self.share(before, piece), -piece))
        return best

    def score(self, asked: Sequence[tuple[int, int]]) -> Score:
        """What it reaches for pairs of a piece and the one that follows."""
        loss = -math.fsum(math.log(self.share(before, piece)) for before, piece in asked) / len(asked)
        return Score(loss, sum(self.guess(before) == piece for before, piece in asked) / len(asked))


def read_neighbour(blobs: Blobs) -> Score | None:
    """The score that the organiser has computed; None where the manifest is older than it.

    Raises:
        BadInput: it is not valid.
    """
    if NEIGHBOUR not in blobs.digests:
        return None
    score = blobs.decode(NEIGHBOUR, Score)
    if not 0 <= score.loss <= LOSS_MAX or not 0 <= (score.right or 0) <= 1:
        raise BadInput("The score of the simple model is not valid.", hint="Ask the organiser for a new one.")
    return score
