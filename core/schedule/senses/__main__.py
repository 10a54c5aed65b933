"""`python -m core.schedule.senses PID`: the process that watches the system for the engine, whose number is PID.

It writes a line of JSON for each change of `Sensed` to stdout, and ends when its stdin closes, so that none outlives
the engine.  Libraries and drivers that it asks may crash; then the engine starts it again.
"""

import logging
import os
import signal
import sys
import threading
from random import SystemRandom

import msgspec

from core.schedule.sensed import Sensed
from core.schedule.senses.registry import senses_of
from core.schedule.senses.watching import watch


def main(argv: list[str]) -> int:
    """Watch until stdin closes; 2 when the arguments are not those of an engine."""
    if len(argv) != 1 or not argv[0].isdecimal():
        sys.stderr.write("potluck: this program is started by Potluck's engine, with the engine's process number.\n")
        return 2
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    threading.Thread(target=_watch_parent, name="parent watch", daemon=True).start()
    encoder = msgspec.json.Encoder()

    def say(sensed: Sensed) -> None:
        try:
            os.write(1, encoder.encode(sensed) + b"\n")
        except OSError:
            os._exit(0)

    watch(senses_of(sys.platform, os.environ, int(argv[0])), say, SystemRandom())
    return 0


def _watch_parent() -> None:
    try:
        while os.read(0, 4096):
            pass
    finally:
        os._exit(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
