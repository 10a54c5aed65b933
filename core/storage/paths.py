"""Where an engine keeps its things: one home directory, readable by its owner only."""

from dataclasses import dataclass
from pathlib import Path

from core.api.places import collaborations_file, engine_file, home_dir
from core.system.atomic_files import delete_torn, make_directory

_COLLABORATION_LETTERS = 16
ALONE = "alone"
"""The folder of the runs of `potluck train` in a home, each with charter, states and metrics."""
MEMORY = "memory.json"
"""File of a collaboration's folder, which is written while an engine takes part."""
FOUNDED = "founded"
"""The folder of a home for charters that were founded to be hosted by its engine."""


@dataclass(frozen=True, slots=True)
class Home:
    """The home directory, and what is where in it."""

    directory: Path

    @classmethod
    def find(cls, directory: Path | None = None) -> "Home":
        """The home at `directory`, else where POTLUCK_HOME says, else where the system keeps a person's data."""
        return cls((directory or home_dir()).expanduser().absolute())

    def create(self) -> None:
        """Make the directory, mode 0700, if it is not there; delete what a killed program was writing in it.

        Raises:
            NoSpace: the disk is full.
            UserProblem: the system does not allow it.
        """
        make_directory(self.directory)
        delete_torn(self.directory)

    @property
    def engine_file(self) -> Path:
        """`engine.json`: who runs here, and how to reach it (core.api.commands.EngineFile)."""
        return engine_file(self.directory)

    @property
    def claim_file(self) -> Path:
        """Locked for the moment in which an engine claims `engine_file`."""
        return self.directory / "engine.lock"

    @property
    def settings_file(self) -> Path:
        """Path of the file `settings.json` (core.storage.settings.Settings)."""
        return self.directory / "settings.json"

    @property
    def collaborations_file(self) -> Path:
        """`collaborations.json`: the links of the collaborations that were joined."""
        return collaborations_file(self.directory)

    @property
    def usage_file(self) -> Path:
        """`usage.json`: what was sent and received this month (core.engine.limits.usage_policy)."""
        return self.directory / "usage.json"

    @property
    def identity_file(self) -> Path:
        """`identity.json`: the peer's key, or where in the keyring it is (core.storage.identity)."""
        return self.directory / "identity.json"

    @property
    def notices_file(self) -> Path:
        """`logs/notices.log`: what happened, for the person (core.engine.remembered.notice_file)."""
        return self.logs / "notices.log"

    @property
    def logs(self) -> Path:
        """Path of the folder of log files."""
        return self.directory / "logs"

    @property
    def blobs(self) -> Path:
        """The folder of files that are named by their hex digests."""
        return self.directory / "blobs"

    def state(self, collaboration: str) -> Path:
        """The folder of one collaboration: checkpoints, arena, ledger.

        Args:
            collaboration: Hex digest of the manifest; its first 16 letters name the folder.
        """
        letters = collaboration[:_COLLABORATION_LETTERS]
        if len(letters) < _COLLABORATION_LETTERS or set(letters) - set("0123456789abcdef"):
            raise ValueError(f"not a hex digest: {collaboration!r}")
        return self.directory / "state" / letters

    def board(self, collaboration: str) -> Path:
        """The leaderboard and the loss curve of one collaboration (core.ledger.board.Board)."""
        return self.state(collaboration) / "board.json"

    def receipts(self, collaboration: str) -> Path:
        """The folder of receipts of one collaboration (core.ledger.receipts.ReceiptLog)."""
        return self.state(collaboration) / "receipts"
