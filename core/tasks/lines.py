"""How a program that Potluck starts speaks, one JSON object a line, and ends with the program that started it."""

import json
import os
import sys
import threading
from typing import Any


def say(event: str, **words: Any) -> None:
    """One JSON object on one line of stdout, at once."""
    sys.stdout.write(json.dumps({"event": event, **words}) + "\n")
    sys.stdout.flush()


def watch_parent() -> None:
    """End this process, whatever it is doing, when its standard input closes."""
    threading.Thread(target=_watch, name="parent watch", daemon=True).start()


def _watch() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)
