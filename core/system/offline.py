"""Keeping `datasets`, `transformers` and torch to themselves."""

import os
from pathlib import Path


def offline(cache: Path) -> None:
    """Keep them off the network, silent, on one core, and out of the person's own folders.

    To be called before they are imported.

    Args:
        cache: Where they may leave files.
    """
    os.environ["HF_HOME"] = str(cache)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(cache / "compiled")
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_HUB_DISABLE_TELEMETRY"):
        os.environ[name] = "1"
    os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
