"""Where things are, for everybody who looks for an engine: the engine itself, the command line and the app."""

import os
from pathlib import Path

import platformdirs


def home_dir() -> Path:
    """The home directory of an engine: POTLUCK_HOME, else where this system keeps a person's data."""
    chosen = os.environ.get("POTLUCK_HOME", "")
    return Path(chosen) if chosen else Path(platformdirs.user_data_dir("potluck", appauthor=False))


def engine_file(home: Path) -> Path:
    """The file in which a running engine says how to reach it (core.api.commands.EngineFile)."""
    return home / "engine.json"
