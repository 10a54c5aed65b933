"""A learner that computes nothing for a while, and gives its devices' memory back meanwhile."""

from core.training.round import Learner


class Standstill:
    """From now on the learner computes nothing, its data thread included, until `end`.

    A contribution that is out counts again: its round goes on without this worker.

    Args:
        learner: Stands still.
    """

    def __init__(self, learner: Learner) -> None:
        self._held = learner.replicas.held
        learner.replicas.rest()
        learner.take_back()
        for replica in self._held.each:
            replica.data.stop()
        learner.data.rest()
        self._held.arrange(withdrawn=True)

    def end(self) -> None:
        """Have the learner as it was; its data goes on with `start`.  Another device than the first may be gone.

        Raises:
            WorkerProblem: the first device cannot be used any more, or has no room.
        """
        self._held.arrange()
