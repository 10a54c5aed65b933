"""Keeping `datasets` and its companions to themselves; to be called before they are imported."""

import os
from pathlib import Path


def offline(cache: Path) -> None:
    """Keep them off the network, silent, and out of the person's own folders.

    Args:
        cache: Where they may leave files.
    """
    quiet(cache)
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE"):
        os.environ[name] = "1"


def quiet(cache: Path) -> None:
    """Keep them silent, on one core, and out of the person's own folders.

    Args:
        cache: Where they may leave files.
    """
    os.environ["HF_HOME"] = str(cache)
    for name in ("HF_HUB_DISABLE_TELEMETRY", "HF_HUB_DISABLE_PROGRESS_BARS", "HF_HUB_DISABLE_IMPLICIT_TOKEN"):
        os.environ[name] = "1"
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
