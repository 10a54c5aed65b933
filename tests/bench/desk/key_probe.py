"""A program in which somebody types, for `tests.bench.desk.desk`: how late each key is done, whatever else computes.

    python -m tests.bench.desk.key_probe SECONDS

It prints the 95th percentile in milliseconds.
"""

import statistics
import sys
import time
from typing import Final

EVERY_S: Final = 0.05
WORK: Final = 20_000
"""Turns of an empty loop: about a millisecond, as an editor needs for a key."""


def lateness_ms(seconds: float) -> float:
    """Return the time from the moment of a key until it is done: the 95th percentile of all keys, milliseconds."""
    late = []
    due = time.perf_counter()
    for _ in range(max(2, round(seconds / EVERY_S))):
        due += EVERY_S
        time.sleep(max(0.0, due - time.perf_counter()))
        for _ in range(WORK):
            pass
        done = time.perf_counter()
        late.append(1000 * (done - due))
        due = max(due, done - EVERY_S)
    return statistics.quantiles(late, n=20)[-1]


if __name__ == "__main__":
    sys.stdout.write(f"{lateness_ms(float(sys.argv[1]))}\n")
