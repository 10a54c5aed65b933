"""What an engine knows of the text that its worker computes with: for people, and for the log.

The log tells when data stall and when they come again, not each attempt; and each code of what is left out once a run.
"""

from collections.abc import Callable
from typing import Final

from core.api.data_state import LEFT_OUT, STALLED, DataArgs, DataCode, DataView, SourceView, told
from core.base.data_source import PYTHON_DOCS, DataSource
from core.base.manifest import Manifest
from core.control.notices import Level, NoticeRing
from core.engine.text.data_desk import ShardTally
from core.workers.data_frames import DataFlow, DataLeftOut, DataNews

TEXT_LETTERS: Final = 200
"""Upper bound on an argument that comes from a source's own names."""
RATE_S: Final = 5.0
"""Time over which a rate is measured, seconds."""


class DataWatch:
    """Follows what a worker says of its text, and tells people and the log what matters.

    Args:
        notices: The log.
        now: Seconds of a clock that is never set back.
        shared: Says what is shared with others.
    """

    def __init__(
        self, notices: NoticeRing, now: Callable[[], float], *, shared: Callable[[], ShardTally] = ShardTally
    ) -> None:
        self._shared = shared
        self._notices = notices
        self._now = now
        self._measured: tuple[float, int] | None = None
        self._rate_bytes_s = 0.0
        self._stalled = False
        self._told: set[str] = set()
        self.view: DataView | None = None
        """As people see it; None: nothing is read now."""

    def hear(self, news: DataNews | None) -> None:
        """Take in what the worker says; None: no worker runs."""
        match news:
            case None:
                self.view, self._measured, self._rate_bytes_s = None, None, 0.0
            case DataLeftOut(code=code, arguments=arguments):
                if code in LEFT_OUT and code not in self._told:
                    self._told.add(code)
                    self._notices.tell("warning", f"data.left.{code}", **words_of(arguments, 0.0))
            case DataFlow():
                self._flow(news)

    def _flow(self, news: DataFlow) -> None:
        args = words_of(news.arguments, news.retry_s) if news.code else {}
        shared = self._shared()
        self.view = DataView(
            code=news.code,
            args=args,
            waiting=news.waiting,
            rows_ready=news.rows_ready,
            rate_bytes_s=self._measure(news.bytes_read),
            bytes_read=news.bytes_read,
            network_bytes=news.network_bytes,
            documents=news.documents,
            left_out=news.left_out,
            stored_bytes=news.stored_bytes,
            shared_bytes=shared.stored_bytes,
            given_bytes=shared.given_bytes,
            reading=news.reading[:TEXT_LETTERS],
        )
        if news.code in STALLED and not self._stalled:
            self._stalled = True
            self._tell_stall(news, args)
        elif not news.code and self._stalled:
            self._stalled = False
            self._notices.tell("info", "data.flows")

    def _tell_stall(self, news: DataFlow, args: DataArgs) -> None:
        """Say why nothing comes; of an absent server only while rows are ready, since a verdict tells it otherwise."""
        if news.code in {DataCode.NO_ANSWER, DataCode.NO_MEMBER}:
            if news.rows_ready and news.code == DataCode.NO_ANSWER:
                self._notices.tell("info", "data.away", host=args["host"], rows=news.rows_ready)
            return
        level: Level = "info" if news.code in {DataCode.NETWORK_RESTS, DataCode.CHANGED} else "warning"
        self._notices.tell(level, f"data.stalled.{news.code}", **args)

    def _measure(self, bytes_read: int) -> float:
        """Bytes a second, over the last seconds; a new reader counts from 0."""
        now = self._now()
        if self._measured is None or bytes_read < self._measured[1]:
            self._measured, self._rate_bytes_s = (now, bytes_read), 0.0
        elif now - self._measured[0] >= RATE_S:
            since, before = self._measured
            self._rate_bytes_s = (bytes_read - before) / (now - since)
            self._measured = (now, bytes_read)
        return self._rate_bytes_s


def source_views(manifest: Manifest) -> tuple[SourceView, ...]:
    """Where a collaboration's text comes from, for people."""
    whole = sum(source.share for source in manifest.sources)
    return tuple(
        SourceView(
            address=_address(source),
            host=source.host,
            share=source.share / whole,
            licence=source.licence,
            credit=source.credit,
        )
        for source in manifest.sources
    )


def _address(source: DataSource) -> str:
    return "" if source.address == PYTHON_DOCS else source.address[:TEXT_LETTERS]


def words_of(arguments: dict[str, str | int | float], retry_s: float) -> DataArgs:
    """Arguments as sentences take them: whole numbers, texts of bounded length, the seconds until the next attempt."""
    said: DataArgs = {
        name: value[:TEXT_LETTERS] if isinstance(value, str) else round(value) for name, value in arguments.items()
    }
    return told({**said, "seconds": max(1, round(retry_s))})
