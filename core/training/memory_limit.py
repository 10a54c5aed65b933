"""The memory that a person gives to training: a model that needs more is refused, and passes stay within it."""

import psutil

from core.api.numbers import volume
from core.api.settings import CPU
from core.base.problems import BadInput
from core.training.learner import Learner


def keep_within(learner: Learner, limit_bytes: int) -> None:
    """Have a worker take no more than this of the computer's memory, as far as the number of samples decides it.

    A graphics card's own memory is another matter.

    Args:
        learner: Its model and optimiser are made; nothing was computed yet.
        limit_bytes: For the whole process.

    Raises:
        BadInput: it takes more already.
    """
    process = psutil.Process()
    used = process.memory_info().rss
    if used >= limit_bytes:
        raise BadInput(
            f"Training this model takes more than {volume(used)} of memory, and you allow {volume(limit_bytes)}.",
            hint="Allow more, or no limit: potluck settings memory none",
        )
    sample_bytes = max(learner.task.sample_bytes, 1)
    for replica in learner.replicas.held.each:
        if replica.device == CPU:
            replica.micro_batch.keep_within(lambda: max(0.0, (limit_bytes - process.memory_info().rss) / sample_bytes))
