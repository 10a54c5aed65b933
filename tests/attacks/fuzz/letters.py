"""Datagrams and handshakes that anybody may send: what their sender can sign, and what nobody has signed."""

from collections import Counter
from functools import cache
from random import Random
from typing import Final

import msgspec

from core.base.machine import Trace
from core.base.problems import ProofProblem, WireProblem
from core.net.datagrams.envelope import DATAGRAM_BYTES_MAX, DOMAIN, ENVELOPE, HASH_BYTES, NONCE_BYTES
from core.net.limits.pace import Pace
from core.net.links.handshake import Handshake
from core.net.links.stream_terms import StreamTerms
from tests.attacks.fuzz.mutations import EDGES, spoilt
from tests.hostile_values import HOSTILE
from tests.unit.net.people import (
    NOW,
    OTHER_RUN,
    SAME_RUN_OTHER_KEY,
    credentials,
    envelopes,
    id_of,
    issue,
    keys,
    verifier,
)

RECEIVER: Final = "ben"
SENDERS: Final = ("anna", "eve", "zoe")
FLIGHTS_MAX: Final = 8
PASSES: Final = (
    *(issue(name) for name in SENDERS),
    issue("anna", authority=SAME_RUN_OTHER_KEY),
    issue("anna", now=NOW - 90_000),
    OTHER_RUN,
    b"",
)


class Letters:
    """A peer that opens whatever comes.

    Args:
        random: Draws all.
        marks: Counts what came of each letter.
    """

    def __init__(self, random: Random, marks: Counter[str]) -> None:
        self._random, self._marks = random, marks
        self._receiver = envelopes(RECEIVER)
        self._senders = {name: envelopes(name) for name in SENDERS}
        self._now = NOW
        self._nonces = [bytes(NONCE_BYTES)]

    def open(self, body: bytes) -> None:
        """Open a letter with this body, or one that is none."""
        self._now += 0.01
        letter = self._letter(body)
        if self._random.random() < 0.3:
            letter = spoilt(letter, self._random.choice(("bits", "cut", "longer")), self._random)
        self._receiver.is_beyond_share(letter, now=self._now)
        try:
            opened = self._receiver.open(letter, now=self._now, source=f"198.51.100.{self._random.randrange(250)}")
        except (WireProblem, ProofProblem) as problem:
            self._marks[f"letters: {str(problem).partition(':')[0][:40]}"] += 1
            return
        self._marks[f"letters: {type(opened).__name__}"] += 1

    def _letter(self, body: bytes) -> bytes:
        random, name = self._random, self._random.choice(SENDERS)
        body = body[: random.choice((0, 8, 300, 700))]
        match random.randrange(4):
            case 0:
                return b"\x02" + random.choice(self._nonces)
            case 1:
                return self._senders[name].seal(id_of(RECEIVER), body, now=self._now)[-1]
            case 2:  # the receiver's own questions may be answered
                asked = self._receiver.seal(id_of(name), body, now=self._now)[-1]
                fields = msgspec.msgpack.decode(asked[65:])
                self._nonces = [*self._nonces[-20:], fields[3]]
        proof = random.choice(PASSES)
        fields = [
            proof if random.random() < 0.5 else spoilt(proof, "bits", random)[-HASH_BYTES:],
            id_of(RECEIVER),
            self._now + random.choice((0, 0, 0, -61, 61, 1e6)),
            random.choice((random.choice(self._nonces), random.randbytes(NONCE_BYTES))),
            random.choice((b"", random.choice(self._nonces))),
            body,
        ]
        if random.random() < 0.3:
            fields[random.randrange(len(fields))] = random.choice((*HOSTILE, *EDGES))
        payload = msgspec.msgpack.encode(fields)[: 2 * DATAGRAM_BYTES_MAX]
        return ENVELOPE + keys(name).sign(DOMAIN + payload) + payload


def greet(random: Random, marks: Counter[str]) -> None:
    """A handshake of two peers in which the bytes of one side are changed."""
    sides = Handshake(_terms("anna"), id_of(RECEIVER)), Handshake(_terms(RECEIVER), None)
    changed, data = random.randrange(FLIGHTS_MAX // 2), b""
    for flight in range(FLIGHTS_MAX):
        said: list[bytes] = []
        if flight == changed:
            data = spoilt(data, random.choice(("bits", "cut", "longer")), random)
        try:
            sides[flight % 2].proceed(data, NOW, said.append)
        except ProofProblem:
            marks["handshakes: refused"] += 1
            return
        data = b"".join(said)
    marks["handshakes: ended"] += 1


@cache
def _terms(name: str) -> StreamTerms:
    return StreamTerms(
        credentials=credentials(name),
        passes=verifier(),
        now=lambda: NOW,
        trace=Trace(),
        pace=Pace(now=lambda: NOW),
    )
