"""Where things are, for everybody who looks for an engine: the engine itself, the command line and the app."""

import os
from pathlib import Path


def home_dir() -> Path:
    """The home directory of an engine: POTLUCK_HOME, else where this system keeps a person's data."""
    chosen = os.environ.get("POTLUCK_HOME", "")
    if chosen:
        return Path(chosen)
    import platformdirs  # noqa: PLC0415 - commands that name a home are quicker without it

    return Path(platformdirs.user_data_dir("potluck", appauthor=False))


def engine_file(home: Path) -> Path:
    """The file in which a running engine says how to reach it (core.api.commands.EngineFile)."""
    return home / "engine.json"


def collaborations_file(home: Path) -> Path:
    """The file with the links of the collaborations that were joined (core.api.joined)."""
    return home / "collaborations.json"
