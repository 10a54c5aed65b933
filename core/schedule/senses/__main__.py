"""`python -m core.schedule.senses PID`: the process that watches the system for the engine, whose number is PID.

It writes a line of JSON for each change of `Sensed` to stdout.  A line of stdin says what the person's rules name
(`RuleNames`); when stdin closes the process ends, so that none outlives the engine.  Libraries and drivers that it asks
may crash; then the engine starts it again.

Each sense waits for one thing in a thread of its own; with asyncio the process would be 5 MiB larger.
"""

import logging
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from random import Random, SystemRandom
from typing import Final, NoReturn

import msgspec

from core.base.back_off import BackOff
from core.schedule.sensed import RuleNames, Sensed
from core.schedule.senses.findings import Absent, Findings, Sense
from core.schedule.senses.owner import HeldNames
from core.schedule.senses.registry import senses_of

REST_S: Final = 5.0
"""First rest of a sense that has ended or failed; it doubles up to `REST_MAX_S`."""
REST_MAX_S: Final = 300.0
GOOD_S: Final = 60.0
"""Time of work after which a sense that ends rests for `REST_S` again."""

_LOG = logging.getLogger("core.schedule.senses")
_News = queue.SimpleQueue[tuple[Sense, Sensed | None]]


def watch(senses: Sequence[Sense], say: Callable[[Sensed], None], random: Random) -> None:
    """Say what is known at first, which is nothing, and each change of it, for ever; idle time grows without a word.

    Args:
        senses: They run until the process ends.
        say: Takes the findings.
        random: Draws the jitter of rests.
    """
    news: _News = queue.SimpleQueue()
    for sense in senses:
        threading.Thread(target=_keep, args=(sense, news, random), name=sense.name, daemon=True).start()
    findings = Findings()
    while True:
        now = time.monotonic()
        if (whole := findings.news(now)) is not None:
            say(whole)
        try:
            sense, told = news.get(timeout=min(findings.next_at(now) - now, threading.TIMEOUT_MAX))
        except queue.Empty:
            continue
        if told is None:
            findings.end(sense, time.monotonic())
        else:
            findings.put(sense, told, time.monotonic())


def _keep(sense: Sense, news: _News, random: Random) -> NoReturn:
    """Run one sense for ever; what fails is said once."""
    back_off: BackOff[str] = BackOff(first=REST_S, longest=REST_MAX_S, random=random)
    is_said = False
    while True:
        began = time.monotonic()
        try:
            sense.run(lambda sensed: news.put((sense, sensed)))
        except Absent:
            pass
        except Exception as error:  # noqa: BLE001 - other people's libraries and systems; the other senses go on
            if not is_said:
                _LOG.warning("the sense %r has failed, and rests: %s: %s", sense.name, type(error).__name__, error)
            is_said = True
        news.put((sense, None))
        now = time.monotonic()
        if now - began >= GOOD_S:
            back_off.clear(sense.name)
        time.sleep(back_off.fail(sense.name, now) - now)


def main(argv: list[str]) -> int:
    """Watch until stdin closes; 2 when the arguments are not those of an engine."""
    if len(argv) != 1 or not argv[0].isdecimal():
        sys.stderr.write("potluck: this program is started by Potluck's engine, with the engine's process number.\n")
        return 2
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    names = HeldNames()
    threading.Thread(target=_heed_parent, args=(names,), name="parent watch", daemon=True).start()
    encoder = msgspec.json.Encoder()

    def say(sensed: Sensed) -> None:
        try:
            os.write(1, encoder.encode(sensed) + b"\n")
        except OSError:
            os._exit(0)

    watch(senses_of(sys.platform, os.environ, int(argv[0]), names), say, SystemRandom())
    return 0


def _heed_parent(names: HeldNames) -> None:
    decoder = msgspec.json.Decoder(RuleNames)
    try:
        for line in sys.stdin.buffer:
            names.now = decoder.decode(line)
    finally:
        os._exit(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
