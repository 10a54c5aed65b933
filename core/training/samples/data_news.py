"""What a worker says of the text that comes: at most once a second, and at once when it stalls or is lacking."""

import time
from collections.abc import Callable
from typing import Final

from core.reading.frames import Tally
from core.text.order.walk import Walk
from core.workers.data_frames import DataFlow, DataLeftOut, DataNews

SAID_S: Final = 1.0

Tell = Callable[[DataNews], None]


class DataTeller:
    """Tells the engine how text comes: once a second at most, and at once when it stalls or is lacking.

    Args:
        tell: Takes what is said.
        clock: Seconds that only go forward.
    """

    def __init__(self, tell: Tell, clock: Callable[[], float] = time.monotonic) -> None:
        self.tally: Tally | None = None
        """The reader's last one."""
        self._tell = tell
        self._clock = clock
        self._waiting = False
        self._said: DataFlow | None = None
        self._said_at = 0.0

    def left_out(self, code: str, arguments: dict[str, str | int | float]) -> None:
        """Some of the text is not read in this pass."""
        self._tell(DataLeftOut(code=code, arguments=arguments))

    def waits(self, walk: Walk) -> None:
        """A device asks for rows, and there are none."""
        self._waiting = True
        self.look(walk)

    def came(self, walk: Walk) -> None:
        """A device has got the rows that it asked for."""
        self._waiting = False
        self.look(walk)

    def look(self, walk: Walk) -> None:
        """Say what is new, if it is time, or worth it."""
        stalls = [source.stall for source in walk.sources if source.stall is not None]
        code = stalls[0].code if stalls else ""
        now, said = self._clock(), self._said
        if said is not None and now < self._said_at + SAID_S and (said.code, said.waiting) == (code, self._waiting):
            return
        tally = self.tally
        news = DataFlow(
            waiting=self._waiting,
            code=code,
            arguments=stalls[0].arguments if stalls else {},
            retry_s=stalls[0].retry_s if stalls else 0.0,
            rows_ready=walk.buffered,
            bytes_read=tally.bytes_read if tally else 0,
            network_bytes=tally.network_bytes if tally else 0,
            documents=tally.documents if tally else 0,
            left_out=tally.left_out if tally else 0,
            stored_bytes=tally.stored_bytes if tally else 0,
            reading=tally.reading if tally else "",
        )
        if news != said:
            self._said, self._said_at = news, now
            self._tell(news)
