"""Requests that wait for their answers.

Each is retransmitted once.  The first timeout follows the round trips measured so far, by the rule of TCP (RFC 6298,
section 2: smoothed mean plus four mean deviations); the second is the longest allowed.

An overloaded computer hears every answer late.  An answer to a query that was given up still proves that the peer is
alive, and where most answers are late, timeouts grow to what answers take.
"""

import heapq
from collections import OrderedDict
from dataclasses import dataclass
from random import Random

from msgspec.structs import replace

from core.base.bounds import remember
from core.base.ids import Contact, PeerId
from core.base.machine import Trace
from core.dht.messages import ANSWER_TO, QUERY_BITS, Answer, Request
from core.dht.operations import Operation
from core.dht.settings import ClientMode

LATE_MAX = 256
"""Number of queries remembered after they were given up."""


@dataclass(slots=True)
class Query:
    """A request that was sent and not answered yet."""

    contact: Contact
    request: Request
    operation: Operation | None
    sent: float
    due: float
    """Time of the next timeout, Unix seconds."""
    repeated: bool = False


class Queries:
    """Matches answers to requests by a random query id and by the peer asked; retransmits each request once.

    Args:
        random: Draws the ids.
        client_mode: Marks the requests of a peer in client mode.
        timeout_s: The longest timeout of one sending, seconds.
        trace: Counts answers that nobody asked for.
    """

    SHORTEST_S = 0.2
    LAG_MAX_S = 6.0

    def __init__(self, random: Random, *, client_mode: ClientMode, timeout_s: float, trace: Trace) -> None:
        self._random = random
        self._client_mode = client_mode
        self._timeout_s = timeout_s
        self._trace = trace
        self._rtt_s: float | None = None
        self._deviation_s = 0.0
        self._open: dict[int, Query] = {}
        self._due: list[tuple[float, int]] = []
        self._late: OrderedDict[int, Query] = OrderedDict()
        self._lag_s = 0.0

    def __len__(self) -> int:
        return len(self._open)

    @property
    def deadline(self) -> float | None:
        """Time of the first timeout, Unix seconds; None: nothing is pending."""
        while self._due and self._is_stale(*self._due[0]):
            heapq.heappop(self._due)
        return self._due[0][0] if self._due else None

    def open(self, contact: Contact, request: Request, operation: Operation | None, now: float) -> Request:
        """Begin to wait for an answer.

        Args:
            contact: The peer asked.
            request: The request.
            operation: The operation that it belongs to, if any.
            now: Unix seconds.

        Returns:
            The request with its query id and the mark of client mode, to be sent.
        """
        query_id = self._random.getrandbits(QUERY_BITS)
        request = replace(request, query=query_id, client=self._client_mode.client)
        due = now + self._patience_s()
        self._open[query_id] = Query(contact, request, operation, now, due)
        heapq.heappush(self._due, (due, query_id))
        return request

    def close(self, sender: PeerId, answer: Answer, now: float) -> Query | None:
        """Match an answer to its query.

        Args:
            sender: The peer that answers.
            answer: Its answer.
            now: Unix seconds.

        Returns:
            The query, which is over now; without its operation if it was given up before.  None: nobody asked.
        """
        query = self._open.get(answer.query) or self._late.get(answer.query)
        if query is None or query.contact.peer != sender or type(answer) is not ANSWER_TO[type(query.request)]:
            self._trace.mark("dht.drop.unasked")
            return None
        if self._late.pop(answer.query, None) is not None:
            query.operation = None
        else:
            del self._open[answer.query]
            if not query.repeated:
                self._measured(now - query.sent)
        self._lagged(now - query.sent)
        return query

    def overdue(self, now: float) -> tuple[list[Query], list[Query]]:
        """Queries whose timeout has passed: those to be retransmitted, and those given up now."""
        again: list[Query] = []
        over: list[Query] = []
        while (deadline := self.deadline) is not None and deadline <= now:
            _, query_id = heapq.heappop(self._due)
            query = self._open[query_id]
            if query.repeated:
                del self._open[query_id]
                remember(self._late, query_id, query, LATE_MAX)
                over.append(query)
                continue
            query.repeated = True
            query.due = now + max(self._timeout_s, self._lag_s)
            heapq.heappush(self._due, (query.due, query_id))
            again.append(query)
        return again, over

    def _patience_s(self) -> float:
        if self._lag_s > self._timeout_s:
            return self._lag_s
        if self._rtt_s is None:
            return self._timeout_s
        return min(max(self._rtt_s + 4 * self._deviation_s, self.SHORTEST_S), self._timeout_s)

    def _measured(self, rtt_s: float) -> None:
        if self._rtt_s is None:
            self._rtt_s, self._deviation_s = rtt_s, rtt_s / 2
            return
        self._deviation_s += (abs(rtt_s - self._rtt_s) - self._deviation_s) / 4
        self._rtt_s += (rtt_s - self._rtt_s) / 8

    def _lagged(self, rtt_s: float) -> None:
        """Follow what most answers take, slowly upwards: a fifth of hostile peers cannot stretch the timeouts."""
        change_s = min(rtt_s, self.LAG_MAX_S) - self._lag_s
        self._lag_s += change_s / (8 if change_s > 0 else 4)

    def _is_stale(self, due: float, query_id: int) -> bool:
        query = self._open.get(query_id)
        return query is None or query.due != due
