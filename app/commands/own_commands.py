"""Commands of Potluck that the window runs as programs of their own."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject

from app.commands.account import AccountCommand
from app.commands.doctor import DoctorCommand
from app.commands.founding import FoundingCommand
from app.commands.joining import JoinCommand
from app.commands.line_command import LineCommand
from app.commands.trying import ModelTalk


@dataclass(frozen=True)
class OwnCommands:
    """All of them.  Each runs at most once at a time."""

    joining: JoinCommand
    listing: JoinCommand
    """Lists what was joined, while another one joins."""
    keeping: JoinCommand
    """Serves, leaves, hosts and invites."""
    founding: FoundingCommand
    account: AccountCommand
    trying: ModelTalk
    doctor: DoctorCommand
    startup: LineCommand
    devices: LineCommand
    quitting: LineCommand
    saving: LineCommand
    part: LineCommand
    """Gets the training part, or removes it."""
    updating: LineCommand
    """Looks for a newer version, and gets it."""

    def stop(self) -> None:
        """Nobody waits for any answer any more."""
        for command in vars(self).values():
            command.stop()

    @classmethod
    def of(cls, home: Path, program: Sequence[str], parent: QObject | None = None) -> "OwnCommands":
        """Make them for one home.

        Args:
            home: The home that they are about.
            program: How a command of Potluck is run.
            parent: Owns them.
        """
        return cls(
            JoinCommand(LineCommand(home, program, parent)),
            JoinCommand(LineCommand(home, program, parent)),
            JoinCommand(LineCommand(home, program, parent)),
            FoundingCommand(LineCommand(home, program, parent)),
            AccountCommand(LineCommand(home, program, parent)),
            ModelTalk(home, program, parent),
            DoctorCommand(LineCommand(home, program, parent), parent),
            LineCommand(home, program, parent),
            LineCommand(home, program, parent),
            LineCommand(home, program, parent),
            LineCommand(home, program, parent),
            LineCommand(home, program, parent),
            LineCommand(home, program, parent),
        )
