"""Progress through the DHT: publishes this peer's report, reads the others', each at its own pace."""

import math
from collections import deque
from collections.abc import Sequence
from random import Random

from msgspec.structs import replace

from core.api.snapshot import VOLUNTEER
from core.base.ids import PeerId
from core.base.machine import Trace, earliest
from core.base.problems import WireProblem
from core.dht.events import Found
from core.dht.messages import Record
from core.dht.node import DhtNode
from core.swarm.presence.membership import Membership
from core.swarm.words.epoch import Phase
from core.swarm.words.orders import KeyElsewhere
from core.swarm.words.outputs import Output
from core.swarm.words.progress import ProgressReport, decode_report, encode_report, progress_key

PUBLISH_INTERVAL_S = 1.0
QUIET_S = 3.0
"""Longest wait of a report that says what the last one said.  With the longest interval of its readers it is heard
again within `core.swarm.presence.membership.SILENT_S`."""
REST_S = 6.0
"""The longest interval of a volunteer without a trainer, for both: nothing that it hears has it do anything, and its
report counts for no samples.  One of its reports may be lost, and it is still believed to be here (`BELIEVED_S`); those
who train are not silent to it."""
REPORT_LIFETIME_S = 80.0
"""As a record: longer than two clocks may differ by, so that a minute's difference keeps nobody from reading it."""
BELIEVED_S = 20.0
"""How long a report is believed after it was heard, by our own clock."""
READ_INTERVAL_MIN_S = 0.25
READ_INTERVAL_MAX_S = 3.0
TIME_AHEAD_MAX_S = 90.0
PUBLISH_CROWD = 12
READ_CROWD = 4
CROWD_INTERVAL_MAX_S = 2.0
OWN_TIMES = 512
"""Number of own reports that are remembered: as many as are made while one lives, at the shortest interval."""
DOUBTED_MAX = 2000
"""Number of peers from which on each publishes, and reads, less often: it is enough that somebody notices."""


class Beacon:
    """Keeps a Membership fed.

    It reads and publishes more often as the next optimiser step draws near (`pace`), so that a full batch is noticed
    soon and an idle swarm stays quiet.
    """

    def __init__(self, *, me: PeerId, run: bytes, dht: DhtNode, membership: Membership, random: Random) -> None:
        self._me = me
        self._key = progress_key(run)
        self._dht = dht
        self._membership = membership
        self._random = random
        self._interval_s = READ_INTERVAL_MAX_S
        self._publish_at: float | None = None
        self._read_at: float | None = None
        self._last_read = self._last_published = 0.0
        self._said: ProgressReport | None = None
        self._follows = False
        self._news_interval_s = PUBLISH_INTERVAL_S
        self.answered_at = -math.inf
        """When the last read came back, unix seconds."""
        self._own_times: deque[float] = deque(maxlen=OWN_TIMES)
        self._began_at = math.inf
        self._foreign_at = math.inf
        """Time of the first report in this peer's name that it has not made since its start."""
        self.twin: ProgressReport | None = None
        """A report of another process that has this peer's key, until that is told; None: nothing is to be told."""
        self._doubted: dict[PeerId, float] = {}
        """Strangers whose first report looked old, and its time by their clock."""

    def start(self, now: float, *, follows: bool = False) -> None:
        """Begin to publish and to read.

        Args:
            now: Unix seconds.
            follows: Whether it reads each second while anybody trains: a backbone or helper loses the way of those who
                step more often than it reads, and where two have gone apart it decides.
        """
        self._follows = follows
        self._publish_at = self._read_at = self._began_at = now

    @property
    def deadline(self) -> float | None:
        """When `tick` has something to do."""
        return earliest(self._publish_at, self._read_at)

    def pace(self, eta_s: float | None, now: float) -> None:
        """The batch will be full in about `eta_s` seconds; None: nobody knows."""
        half = READ_INTERVAL_MAX_S if eta_s is None else eta_s / 2
        least = self._in_a_crowd(READ_INTERVAL_MIN_S, READ_CROWD)
        self._interval_s = min(max(half, least), READ_INTERVAL_MAX_S)
        self._news_interval_s = min(max(half, least), PUBLISH_INTERVAL_S)
        if self._publish_at is not None:
            self._publish_at = max(now, min(self._publish_at, self._last_published + self._news_interval_s))
        if self._read_at is not None:
            self._read_at = max(now, min(self._read_at, self._last_read + self._interval_s))

    def hurry(self, now: float) -> None:
        """Something changed here: publish now, and read soon."""
        if self._read_at is not None:
            self._publish_at = now
            self.look(now)

    def look(self, now: float) -> None:
        """Somebody says something that we have not read: read soon, but not more than every quarter of a second."""
        if self._read_at is not None:
            self._read_at = max(now, min(self._read_at, self._last_read + READ_INTERVAL_MIN_S))

    def tick(self, report: ProgressReport, now: float) -> Sequence[Output]:
        """Publish and read what is due."""
        outputs: list[Output] = []
        if self.twin is not None:
            outputs.append(KeyElsewhere(self.twin.host, self.twin.port))
            self.twin = None
        rests = report.role == VOLUNTEER and report.activity == Phase.IDLE  # its trainer's coming and going hurries it
        if self._publish_at is not None and self._publish_at <= now:
            is_news = self._is_news(report)
            news_s = self._in_a_crowd(self._news_interval_s, PUBLISH_CROWD)
            interval_s = REST_S / 1.2 if rests and not is_news else news_s
            self._publish_at = now + interval_s * self._random.uniform(0.8, 1.2)
            if is_news or now + interval_s > self._last_published + QUIET_S:
                self._last_published, self._said = now, report
                self._own_times.append(report.time)
                outputs += self._dht.store(
                    self._key, encode_report(report), lifetime_s=REPORT_LIFETIME_S, now=now, subkey=self._me
                )
        if self._read_at is not None and self._read_at <= now:
            self._last_read = now
            follows = self._follows and any(each.in_step for each in self._membership.live().values())
            least_s = PUBLISH_INTERVAL_S if follows else self._interval_s
            interval_s = max(least_s, self._in_a_crowd(READ_INTERVAL_MIN_S, READ_CROWD))
            again = now + interval_s * self._random.uniform(0.8, 1.2)
            self._read_at = self._publish_at if rests else again  # one that rests is woken once for both
            outputs += self._dht.get(self._key, now)
        return outputs

    def _is_news(self, report: ProgressReport) -> bool:
        return self._said is None or replace(self._said, time=report.time) != report

    def _in_a_crowd(self, interval_s: float, crowd: int) -> float:
        """The interval that keeps the whole swarm's traffic per second about what `crowd` peers make."""
        return min(interval_s * max(1.0, len(self._membership.reported) / crowd), CROWD_INTERVAL_MAX_S)

    def found(self, found: Found, *, trace: Trace, now: float) -> dict[PeerId, ProgressReport] | None:
        """Take in what a read brought; returns the reports that were news, or None if it was another key's."""
        if found.key != self._key:
            return None
        self.answered_at = now
        news: dict[PeerId, ProgressReport] = {}
        for record in found.records:
            if record.subkey != record.owner:
                continue
            try:
                report = decode_report(record.value)
            except WireProblem:
                trace.mark("progress.drop.schema")
                continue
            if record.owner == self._me:
                self._look_at_own(report)
                continue
            if report.time > now + TIME_AHEAD_MAX_S:
                trace.mark("progress.drop.future")
                continue
            if self._is_doubtful(record, report, now):
                continue
            if self._membership.heard(record.owner, report, expires=now + BELIEVED_S, now=now):
                news[record.owner] = report
        self._membership.expire(now)
        return news

    def _look_at_own(self, report: ProgressReport) -> None:
        """Notice that somebody else speaks with this peer's key, by two reports after its start that it has not made.

        One alone may be of the process before it, whose clock was ahead.
        """
        if report.time > self._began_at and report.time not in self._own_times:
            if report.time > self._foreign_at:
                self.twin = report
            self._foreign_at = min(self._foreign_at, report.time)

    def _is_doubtful(self, record: Record, report: ProgressReport, now: float) -> bool:
        """Whether a stranger's report may be what is left of somebody who has gone: the next one will tell.

        Its age by our clock proves nothing, for the two clocks may differ; another report is.
        """
        owner = record.owner
        age_s = now - (record.expiration - REPORT_LIFETIME_S)
        if owner in self._membership.reported or age_s < BELIEVED_S:
            self._doubted.pop(owner, None)
            return False
        first = self._doubted.get(owner)
        if first is None:
            if len(self._doubted) >= DOUBTED_MAX:
                del self._doubted[next(iter(self._doubted))]
            self._doubted[owner] = report.time
            return True
        return report.time <= first
