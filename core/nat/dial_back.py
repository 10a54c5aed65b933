"""Dial-back: other peers try to reach this one, and two must agree; this peer tries for others.

The idea is that of AutoNAT (libp2p).  Where there is only one peer to ask, its answer is kept apart (`single_verdict`):
at once if the peer is trusted, otherwise when it has said the same twice and nobody else has come.
"""

from collections import OrderedDict
from dataclasses import dataclass
from random import Random
from typing import Final

from core.base.bounds import remember
from core.base.ids import PeerId
from core.base.machine import Send, Trace, earliest
from core.nat.events import AddAddress, SendDatagramTo, TryDialBack
from core.nat.messages import NONCE_BYTES, Address, DialBack, DialBackDatagram, DialBackResult

ASKED_AT_ONCE: Final = 3
QUORUM: Final = 2
ANSWER_S: Final = 5.0
REFRESH_S: Final = 600.0
SOON_S: Final = 15.0
SINGLE_REFRESH_S: Final = 40.0
"""Seconds until the only candidate is asked again: not sooner than it answers (`PER_PEER_S`)."""
FIRST_S: Final = 0.5
IPV6_FIRST_S: Final = 4.0
"""Seconds until IPv6 is asked about: candidates with IPv6 have to be found first, and nobody is asked two things at a
time."""
CANDIDATES_MAX: Final = 32
TRIES_AT_ONCE: Final = 8
PER_PEER_S: Final = 30.0
UNRESPONSIVE_S: Final = 3 * PER_PEER_S
"""A candidate that has not answered for this many seconds counts as gone."""
PEERS_MAX: Final = 256

DialBackOutput = Send[DialBack | DialBackResult] | AddAddress | SendDatagramTo | TryDialBack


@dataclass(slots=True)
class _Asked:
    peer: PeerId
    at: float
    tcp: bool | None = None
    udp: bool = False


class DialBackProbe:
    """Finds out whether peers that were never called reach this one, over one address family.

    Args:
        random: Draws nonces and chooses candidates.
        ipv6: Ask about IPv6, which only candidates asked over it can tell; otherwise about IPv4.
    """

    def __init__(self, *, random: Random, ipv6: bool = False) -> None:
        self.tcp: bool | None = None
        """Whether other peers reach this peer's TCP port; None: not known."""
        self.udp: bool | None = None
        self.single_verdict: bool | None = None
        """Answer of the only candidate about the TCP port; None: there are several, or it is not trusted yet."""
        self.single_verdict_udp: bool | None = None
        """The same about the UDP port."""
        self._trusted: set[PeerId] = set()
        self._said: tuple[PeerId, bool] | None = None
        """The only candidate's previous answer."""
        self._unanswered: dict[PeerId, float] = {}
        """Candidates that were asked, and since when they have not answered."""
        self.concluded_at = float("-inf")
        """Time of the last conclusion, Unix seconds."""
        self._asked_at = float("-inf")
        self._random = random
        self._ipv6 = ipv6
        self._candidates: OrderedDict[PeerId, Address] = OrderedDict()
        self._asked: dict[bytes, _Asked] = {}
        self._ask_at: float | None = None
        self._ports = (0, 0)

    def located(self, own: tuple[str, ...], ports: tuple[int, int], now: float) -> None:
        """Begin anew after a change of network.

        Args:
            own: IP addresses of this computer.
            ports: Ports for TCP and UDP.
            now: Unix seconds.
        """
        self._ports = ports
        self._asked.clear()
        self._unanswered.clear()
        self.tcp = self.udp = self.single_verdict = self.single_verdict_udp = self._said = None
        absent = self._ipv6 and not any(":" in host for host in own)
        self._ask_at = None if absent else now + (IPV6_FIRST_S if self._ipv6 else FIRST_S)

    def candidate(self, peer: PeerId, address: Address, *, trusted: bool = False) -> None:
        """Remember a peer that could be asked, if the address is of this probe's family.

        Args:
            peer: The candidate.
            address: Its address.
            trusted: It belongs to the collaboration, so that its single verdict counts at once.
        """
        if (":" in address.host) is not self._ipv6:
            return
        if peer not in self._candidates and len(self._candidates) >= CANDIDATES_MAX:
            self._forget(next(iter(self._candidates)))
        self._candidates[peer] = address
        if trusted:
            self._trusted.add(peer)

    def contacted(self, peer: PeerId) -> None:
        """Prefer other candidates to a peer that this one has called, since routers admit replies of called hosts."""
        if peer in self._candidates and len(self._candidates) > ASKED_AT_ONCE:
            self._forget(peer)

    def _forget(self, peer: PeerId) -> None:
        del self._candidates[peer]
        self._trusted.discard(peer)
        self._unanswered.pop(peer, None)

    @property
    def needs_candidates(self) -> bool:
        """Whether a question is due and too few candidates are known."""
        return self.tcp is None and self._ask_at is not None and len(self._candidates) < ASKED_AT_ONCE

    @property
    def asking(self) -> bool:
        """Whether answers to questions of this peer are pending."""
        return bool(self._asked)

    def again(self, now: float) -> None:
        """Ask now, unless the candidates were asked so recently that they would refuse; then the last result stands."""
        if self._ask_at is not None and not self._asked and now >= self._asked_at + PER_PEER_S:
            self._ask_at = now

    @property
    def deadline(self) -> float | None:
        """Time at which `tick` is due, Unix seconds; None: nothing is pending."""
        return earliest(self._ask_at, *(asked.at + ANSWER_S for asked in self._asked.values()))

    def tick(self, now: float) -> list[DialBackOutput]:
        """Ask when it is time, or conclude when the answers are overdue."""
        if self._asked and all(asked.at + ANSWER_S <= now for asked in self._asked.values()):
            self._conclude(now)
        if self._ask_at is None or now < self._ask_at or not self._ports[0]:
            return []
        self._ask_at = now + SOON_S
        there, gone = self._usable(now)
        chosen = self._random.sample(there, min(ASKED_AT_ONCE, len(there)))
        chosen += self._random.sample(gone, min(ASKED_AT_ONCE - len(chosen), len(gone)))
        self._asked_at = now if chosen else self._asked_at
        outputs: list[DialBackOutput] = []
        for peer, address in chosen:
            nonce = self._random.randbytes(NONCE_BYTES)
            self._asked[nonce] = _Asked(peer, now)
            self._unanswered.setdefault(peer, now)
            question = DialBack(nonce, *self._ports, ipv6=self._ipv6)
            if self._ipv6:
                outputs.append(SendDatagramTo(peer, address, question, fresh=False))
            else:
                outputs += [AddAddress(peer, address), Send(peer, question)]
        return outputs

    def _usable(self, now: float) -> tuple[list[tuple[PeerId, Address]], list[tuple[PeerId, Address]]]:
        """Candidates that answer as far as is known, and candidates that seem to have gone."""
        usable = list(self._candidates.items())
        gone = [(peer, address) for peer, address in usable if self._unanswered.get(peer, now) + UNRESPONSIVE_S <= now]
        return [one for one in usable if one not in gone], gone

    def datagram_arrived(self, sender: PeerId, message: DialBackDatagram) -> None:
        """Note a datagram from a port to which this peer had sent nothing.

        Args:
            sender: The candidate that sent it.
            message: Carries the nonce of the question.
        """
        asked = self._asked.get(message.nonce)
        if asked is not None and asked.peer == sender:
            asked.udp = True

    def answered(self, sender: PeerId, message: DialBackResult, now: float) -> None:
        """Note whether a candidate reached the TCP port.

        Args:
            sender: The candidate.
            message: Its result.
            now: Unix seconds.
        """
        asked = self._asked.get(message.nonce)
        if asked is None or asked.peer != sender:
            return
        self._unanswered.pop(sender, None)
        if message.refused:
            del self._asked[message.nonce]
        else:
            asked.tcp = message.tcp
        yes = sum(bool(asked.tcp) and asked.udp for asked in self._asked.values())
        no = sum(asked.tcp is False for asked in self._asked.values())
        only = len(self._asked) == 1 and asked.tcp is not None and (asked.udp or not asked.tcp)
        if yes >= QUORUM or no >= QUORUM or only:
            self._conclude(now)

    def _conclude(self, now: float) -> None:
        answers = [asked.tcp for asked in self._asked.values() if asked.tcp is not None]
        arrived = sum(asked.udp for asked in self._asked.values())
        tried = [asked for asked in self._asked.values() if asked.tcp is not None]
        self._asked.clear()
        there, _ = self._usable(now)
        if len(answers) >= QUORUM:
            self.tcp = sum(answers) >= QUORUM
            self.udp = arrived >= QUORUM
            self.single_verdict = self._said = None
            self.concluded_at = now
            self._ask_at = now + REFRESH_S
        elif [asked.peer for asked in tried] == [peer for peer, _ in there]:
            for asked in tried:  # the only candidate is also the only peer through which others find this one
                word = (asked.peer, bool(asked.tcp))
                if asked.peer in self._trusted or word == self._said:
                    self.single_verdict, self.single_verdict_udp, self.concluded_at = word[1], asked.udp, now
                self._said = word
            self._ask_at = now + SINGLE_REFRESH_S
        else:
            if len(there) > 1:
                self.single_verdict = self._said = None
            self._ask_at = now + SOON_S


class DialBackService:
    """Tries for other peers whether they can be reached, over the family of the address from which each request came.

    No third party can be made a target: the address called is the source of the request, and only its port is the
    requester's choice.

    Args:
        trace: Counts requests of others that were refused.
    """

    def __init__(self, *, trace: Trace) -> None:
        self._trace = trace
        self._trying: dict[bytes, tuple[PeerId, float]] = {}
        self._tried: OrderedDict[tuple[PeerId, bool], float] = OrderedDict()
        """Time of the last attempt by requester and family (True: IPv6)."""

    def requested(self, sender: PeerId, message: DialBack, address: Address | None, now: float) -> list[DialBackOutput]:
        """Call another peer back at the address from which its request came.

        Args:
            sender: The requester.
            message: Its request.
            address: Source of its datagrams; None: not known.
            now: Unix seconds.
        """
        if address is None or not message.pad:
            return []
        ipv6 = ":" in address.host
        if message.ipv6 is not ipv6:
            self._trace.mark("nat.dial_back.family")
            return []
        self._trying = {nonce: one for nonce, one in self._trying.items() if now < one[1] + ANSWER_S}
        recent = now < self._tried.get((sender, ipv6), -PER_PEER_S) + PER_PEER_S
        if recent or len(self._trying) >= TRIES_AT_ONCE:
            self._trace.mark("nat.dial_back.refused")
            return [] if recent else [Send(sender, DialBackResult(message.nonce, tcp=False, refused=True))]
        remember(self._tried, (sender, ipv6), now, PEERS_MAX)
        outputs: list[DialBackOutput] = []
        if message.udp_port:
            datagram = DialBackDatagram(message.nonce)
            outputs.append(SendDatagramTo(sender, Address(address.host, message.udp_port), datagram, fresh=True))
        if message.tcp_port:
            self._trying[message.nonce] = (sender, now)
            outputs.append(TryDialBack(message.nonce, Address(address.host, message.tcp_port)))
        return outputs

    def tried(self, nonce: bytes, *, tcp: bool) -> list[DialBackOutput]:
        """Answer a requester once the host has tried its TCP port.

        Args:
            nonce: The nonce of the request.
            tcp: Whether the connection was made.
        """
        sender, _ = self._trying.pop(nonce, (None, 0.0))
        return [] if sender is None else [Send(sender, DialBackResult(nonce, tcp=tcp, refused=False))]
