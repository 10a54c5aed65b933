"""Losses on the held-out text that others report: shown only where they are about what this peer knows."""

from collections.abc import Iterable
from statistics import median_low

from core.base.bounds import is_near
from core.swarm.words.orders import HeldoutLearned
from core.swarm.words.progress import ProgressReport


def heldout_news(
    report: ProgressReport, *, known: Iterable[float | None], others: Iterable[ProgressReport]
) -> list[HeldoutLearned]:
    """What a peer's report tells of the held-out text; nothing if it is implausible.

    Args:
        report: Report of the peer, whose newest look a liar may make up.
        known: This peer's own look, and its training loss.
        others: The reports of all that are here, this one among them: their median is a measure where this peer knows
            nothing itself.
    """
    loss = report.heldout_loss
    if loss is None or report.heldout_epoch > report.epoch:
        return []
    near = [own for own in known if own is not None]
    if not near:
        near = [median_low([one.heldout_loss for one in others if one.heldout_loss is not None] or [loss])]
    plausible = any(is_near(loss, other) for other in near)
    return [HeldoutLearned(report.heldout_epoch, loss)] if plausible else []
