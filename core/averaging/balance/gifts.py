"""Which chunks a member contributes to that gives part of its contribution only."""

from collections.abc import Sequence

import numpy as np

from core.averaging.plan import WHOLE_GIFT

_STRIDE = 159
"""Odd, so that 256 chunks in a row meet every number once; near 256 / 1.618, so that few in a row are spread too."""
_MEMBER_STRIDE = 99
"""Odd likewise, and near 256 / 1.618 ** 2: members with equal gifts leave every chunk about equally many givers."""
_PRIME = 65_521


def gives_chunk(round_id: bytes, member: int, chunk: int, gift: int) -> bool:
    """Whether a member gives its numbers of one chunk of the whole vector.

    Of 256 chunks in a row it gives exactly `gift`, evenly spread.  Where they begin depends on the round's id, so that
    over the rounds every chunk gets its turn.

    Args:
        round_id: The round's id; all members know it.
        member: The giver's place in the plan.
        chunk: The chunk's place in the whole vector.
        gift: How many 256ths it gives: 0 never, 256 always.
    """
    start = int.from_bytes(round_id) % _PRIME + member * _MEMBER_STRIDE
    return (chunk * _STRIDE + start) % WHOLE_GIFT < gift


def covers(gifts: Sequence[int]) -> bool:
    """Whether every chunk of a long vector has a giver.

    That depends on the gifts alone: the round's id turns all members' chunks together.
    """
    if WHOLE_GIFT in gifts:
        return True
    if sum(gifts) < WHOLE_GIFT:
        return False
    chunks = np.arange(WHOLE_GIFT)[:, None] * _STRIDE + np.arange(len(gifts)) * _MEMBER_STRIDE
    return bool((chunks % WHOLE_GIFT < np.array(gifts)).any(axis=1).all())
