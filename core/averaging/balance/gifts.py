"""Whether partial contributions leave a chunk without any."""

from collections.abc import Sequence

import numpy as np

from core.averaging.allreduce.share_map import MEMBER_STRIDE, STRIDE
from core.averaging.plan import WHOLE_GIFT


def covers(gifts: Sequence[int]) -> bool:
    """Whether every chunk of a long vector has a giver (`allreduce.share_map.gives_chunk`).

    That depends on the gifts alone: the round's id turns all members' chunks together.
    """
    if WHOLE_GIFT in gifts:
        return True
    if sum(gifts) < WHOLE_GIFT:
        return False
    chunks = np.arange(WHOLE_GIFT)[:, None] * STRIDE + np.arange(len(gifts)) * MEMBER_STRIDE
    return bool((chunks % WHOLE_GIFT < np.array(gifts)).any(axis=1).all())
