"""A learner that computes nothing for a while: as the engine said, or because the engine says nothing."""

from core.training.engine_watch import EngineHeard, EngineSilent
from core.training.learner import Learner


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
        if learner.flights is not None:
            learner.flights.under_way.drop()
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


class Unattended:
    """Whether the engine is silent: then a learner computes nothing; what it has computed and contributed stays.

    Args:
        learner: No device of it computes while something is heard.
    """

    def __init__(self, learner: Learner) -> None:
        self._learner = learner
        self.silent = False

    def hear(self, noticed: EngineSilent | EngineHeard) -> None:
        """Have the learner rest, give its devices' memory back, or be as it was.

        Raises:
            WorkerProblem: the first device cannot be used any more, or has no room.
        """
        match noticed:
            case EngineSilent(given_up=True):
                self._learner.replicas.held.arrange(withdrawn=True)
            case EngineSilent():
                self.silent = True
                for replica in self._learner.replicas.held.each:
                    replica.data.stop()
                self._learner.data.rest()
            case EngineHeard() if self.silent:
                self.silent = False
                self._learner.replicas.held.arrange()
                self._learner.data.go_on()
                for replica in self._learner.replicas.held.each:
                    replica.data.start()
