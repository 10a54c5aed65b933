"""One run of the command: where, by which seed, and what did not hold."""

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Trial:
    """One run of the command: its folder, its seed, and what did not hold."""

    folder: Path
    """Where everything is kept."""
    seed: int
    patience: float
    """How many times as long as on two cores of its own everything may take."""
    wrong: list[str] = field(default_factory=list)

    def say(self, event: str, **facts: object) -> None:
        """Print a line of JSON."""
        sys.stdout.write(json.dumps({"event": event, **facts}) + "\n")
        sys.stdout.flush()

    def verdict(self, **figures: object) -> bool:
        """Print the verdict; whether everything held."""
        self.say("verdict", seed=self.seed, holds=not self.wrong, problems=self.wrong, **figures)
        return not self.wrong
