"""A million hostile messages of every kind, and what came of them.

python -m tests.attacks.fuzz [--messages 1000000] [--seed 0] [--minutes 10]
"""

import argparse
import gc
import sys
import time
from typing import Final

import numpy as np
import psutil

from tests.attacks.fuzz.attack import Attack
from tests.attacks.fuzz.counts import Counts
from tests.attacks.fuzz.writer import KINDS

WORLDS: Final = 16
"""Number of collaborations among which the messages are divided; at least `LEAST` are said in each."""
LEAST: Final = 2000
MIB: Final = 1 << 20
Memory = list[tuple[int, float]]
"""After each collaboration: the messages so far, and this process's memory, MiB."""


def fuzzed(messages: int, *, seed: int, until: float = float("inf")) -> tuple[Counts, Memory]:
    """Say so many messages, in one collaboration after the other.

    Args:
        messages: Their number.
        seed: The first collaboration's; each further one has the next.
        until: No collaboration begins afterwards, seconds of a steady clock.

    Returns:
        What came of them, and the memory that it took.
    """
    counts, memory, process = Counts(), Memory(), psutil.Process()
    each = max(LEAST, -(-messages // WORLDS))
    while counts.messages < messages and time.monotonic() < until:
        Attack(seed + len(memory), counts).run(min(each, messages - counts.messages))
        gc.collect()
        memory.append((counts.messages, process.memory_info().rss / MIB))
    return counts, memory


def slope(memory: Memory) -> float:
    """MiB per million messages, over the last half."""
    half = [one for one in memory if one[0] >= memory[-1][0] / 2]
    if len(half) == 1:
        return 0.0
    said, mib = zip(*half, strict=True)
    return float(np.polyfit(said, mib, 1)[0] * 1e6)


def say(line: str = "") -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def tell(counts: Counts, memory: Memory, took_s: float) -> None:
    """Print all that was counted."""
    for name, table in (
        ("messages by type", counts.kinds),
        ("how they were made", counts.ways),
        ("receivers", counts.phases),
        ("marks that they and all others left", counts.marks),
    ):
        say(f"\n{name}")
        for key, count in table.most_common():
            say(f"  {count:>9,}  {key}")
    missing = sorted({*KINDS} - {*counts.kinds})
    count, us = counts.messages, 1e6 / max(1, counts.messages)
    say(f"\n{count:,} messages in {len(memory)} collaborations; {counts.rounds:,} rounds committed meanwhile")
    say(f"types of which none was read: {', '.join(missing) or 'none'}")
    say(f"{took_s:.0f} s, {us * took_s:.0f} us a message, {us * counts.spent_s:.0f} us in its receiver")
    say(f"kinds of behaviour: {len(counts.seen):,}, the last new one at message {counts.new_at[0]:,}")
    first, last, rises = memory[0][1], memory[-1][1], slope(memory)
    say(f"memory, MiB: {first:.0f}, at the end {last:.0f}; {rises:+.1f} a million messages in the last half")
    held = ", ".join(f"{half // 1024:,} {end // 1024:,}" for half, end in counts.held)
    say(f"greatest peer of each, KiB, after half of its messages and at its end: {held}")
    say(f"exceptions: {sum(failure.count for failure in counts.failures.values())}")
    for where, failure in counts.failures.items():
        say(f"\n{where}, {failure.count} times\n{failure.text}")


def main() -> int:
    """Say the messages, and print the counts; 1 if there was an exception."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--messages", type=int, default=1_000_000)
    arguments.add_argument("--seed", type=int, default=0, help="of the first collaboration")
    arguments.add_argument("--minutes", type=float, default=float("inf"), help="begin no collaboration afterwards")
    asked = arguments.parse_args()
    began = time.monotonic()
    counts, memory = fuzzed(asked.messages, seed=asked.seed, until=began + 60 * asked.minutes)
    tell(counts, memory, time.monotonic() - began)
    return 1 if counts.failures else 0


if __name__ == "__main__":
    sys.exit(main())
