"""Whether strangers get through to us: some of them try, and two must agree.  And trying for others.

Where there is only one peer to ask, its answer is kept apart (`single_verdict`): at once if the peer is trusted,
otherwise when it has said the same twice and nobody else has come.
"""

from collections import OrderedDict
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from core.base.ids import PeerId
from core.base.machine import Send, earliest
from core.base.trace import Trace
from core.nat.events import AddAddress, SendDatagramTo, TryDialBack
from core.nat.messages import NONCE_BYTES, Address, DialBack, DialBackDatagram, DialBackResult

ASKED_AT_ONCE: Final = 3
QUORUM: Final = 2
ANSWER_S: Final = 5.0
REFRESH_S: Final = 600.0
SOON_S: Final = 15.0
SINGLE_REFRESH_S: Final = 40.0
"""The only one there is, is asked again after so long: not sooner than it answers (`PER_PEER_S`)."""
FIRST_S: Final = 0.5
IPV6_FIRST_S: Final = 4.0
"""Those who can be asked over IPv6 have to be found first; and nobody is asked two things at a time."""
CANDIDATES_MAX: Final = 32
TRIES_AT_ONCE: Final = 8
TRIES_PER_MINUTE: Final = 20
PER_PEER_S: Final = 30.0
UNRESPONSIVE_S: Final = 3 * PER_PEER_S
"""Whoever was asked and has not answered for so long is not there."""
PEERS_MAX: Final = 256


@dataclass(slots=True)
class _Asked:
    peer: PeerId
    at: float
    tcp: bool | None = None
    udp: bool = False


class DialBackProbe:
    """See the module's docstring.

    Nobody can be made to call a third party: the address called is the one from which the question came, and only its
    port is the asker's choice.

    Args:
        random: For nonces and the choice of whom to ask.
        trace: Counts what is refused to others.
        ipv6: Ask about IPv6, which only those can tell who are asked over it; otherwise about IPv4.
    """

    def __init__(self, *, random: Random, trace: Trace, ipv6: bool = False) -> None:
        self.tcp: bool | None = None
        """Whether strangers reach our TCP port; None: not known."""
        self.udp: bool | None = None
        self.single_verdict: bool | None = None
        """What the only one who could try says of our TCP port; None: there are others, or it is not believed yet."""
        self.single_verdict_udp: bool | None = None
        """And of UDP."""
        self._trusted: set[PeerId] = set()
        self._said: tuple[PeerId, bool] | None = None
        """What it said the last time."""
        self._unanswered: dict[PeerId, float] = {}
        """Candidates that were asked, and since when they have not answered."""
        self.concluded_at = float("-inf")
        """When enough of them had last answered."""
        self._asked_at = float("-inf")
        self._random = random
        self._trace = trace
        self._ipv6 = ipv6
        self._candidates: OrderedDict[PeerId, Address] = OrderedDict()
        self._asked: dict[bytes, _Asked] = {}
        self._ask_at: float | None = None
        self._ports = (0, 0)
        self._trying: dict[bytes, tuple[PeerId, float]] = {}
        self._tried: OrderedDict[tuple[PeerId, bool], float] = OrderedDict()
        """By whom, and whether over IPv6."""
        self._minute_at = 0.0
        self._minute_count = 0

    # --- about us ----------------------------------------------------------------------------------------------------

    def located(self, own: tuple[str, ...], ports: tuple[int, int], now: float) -> None:
        """The network has changed: our IP addresses, and our ports for TCP and UDP."""
        self._ports = ports
        self._asked.clear()
        self._unanswered.clear()
        self.tcp = self.udp = self.single_verdict = self.single_verdict_udp = self._said = None
        absent = self._ipv6 and not any(":" in host for host in own)
        self._ask_at = None if absent else now + (IPV6_FIRST_S if self._ipv6 else FIRST_S)

    def candidate(self, peer: PeerId, address: Address, *, trusted: bool = False) -> None:
        """A peer that could try, if the address is of our family; `trusted`: the collaboration's own."""
        if (":" in address.host) is not self._ipv6:
            return
        if peer not in self._candidates and len(self._candidates) >= CANDIDATES_MAX:
            self._forget(next(iter(self._candidates)))
        self._candidates[peer] = address
        if trusted:
            self._trusted.add(peer)

    def contacted(self, peer: PeerId) -> None:
        """We have called that one ourselves: what it finds proves less, so others are asked."""
        if peer in self._candidates and len(self._candidates) > ASKED_AT_ONCE:
            self._forget(peer)

    def _forget(self, peer: PeerId) -> None:
        del self._candidates[peer]
        self._trusted.discard(peer)
        self._unanswered.pop(peer, None)

    @property
    def needs_candidates(self) -> bool:
        """Whether we would ask, and know too few to be asked."""
        return self.tcp is None and self._ask_at is not None and len(self._candidates) < ASKED_AT_ONCE

    @property
    def asking(self) -> bool:
        """Whether answers are still waited for."""
        return bool(self._asked)

    def again(self, now: float) -> None:
        """Ask now.  Whoever was asked just before would refuse, so then what was found stands."""
        if self._ask_at is not None and not self._asked and now >= self._asked_at + PER_PEER_S:
            self._ask_at = now

    @property
    def deadline(self) -> float | None:
        """When to be woken."""
        ends = (asked.at + ANSWER_S for asked in self._asked.values())
        tries = (at + ANSWER_S for _, at in self._trying.values())
        return earliest(self._ask_at, *ends, *tries)

    def tick(self, now: float) -> list[Send[DialBack] | AddAddress | SendDatagramTo]:
        """Ask, or draw the conclusion."""
        for nonce in [nonce for nonce, (_, at) in self._trying.items() if at + ANSWER_S <= now]:
            del self._trying[nonce]
        if self._asked and all(asked.at + ANSWER_S <= now for asked in self._asked.values()):
            self._conclude(now)
        if self._ask_at is None or now < self._ask_at or not self._ports[0]:
            return []
        self._ask_at = now + SOON_S
        there, gone = self._usable(now)
        chosen = self._random.sample(there, min(ASKED_AT_ONCE, len(there)))
        chosen += self._random.sample(gone, min(ASKED_AT_ONCE - len(chosen), len(gone)))
        self._asked_at = now if chosen else self._asked_at
        outputs: list[Send[DialBack] | AddAddress | SendDatagramTo] = []
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
        """Those who could try and, as far as is known, are there; and those who seem to have gone."""
        usable = list(self._candidates.items())
        gone = [(peer, address) for peer, address in usable if self._unanswered.get(peer, now) + UNRESPONSIVE_S <= now]
        return [one for one in usable if one not in gone], gone

    def datagram_arrived(self, sender: PeerId, message: DialBackDatagram) -> None:
        """A datagram came from a port to which we had sent nothing."""
        asked = self._asked.get(message.nonce)
        if asked is not None and asked.peer == sender:
            asked.udp = True

    def answered(self, sender: PeerId, message: DialBackResult, now: float) -> None:
        """One has tried our TCP port."""
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
        knocks = sum(asked.udp for asked in self._asked.values())
        tried = [asked for asked in self._asked.values() if asked.tcp is not None]
        self._asked.clear()
        there, _ = self._usable(now)
        if len(answers) >= QUORUM:
            self.tcp = sum(answers) >= QUORUM
            self.udp = knocks >= QUORUM
            self.single_verdict = self._said = None
            self.concluded_at = now
            self._ask_at = now + REFRESH_S
        elif [asked.peer for asked in tried] == [peer for peer, _ in there]:
            for asked in tried:
                self._hear_alone(asked, now)
            self._ask_at = now + SINGLE_REFRESH_S
        else:
            if len(there) > 1:
                self.single_verdict = self._said = None
            self._ask_at = now + SOON_S

    def _hear_alone(self, asked: _Asked, now: float) -> None:
        """There is nobody else: whoever could mislead us is also the only one by whom others could find us."""
        word = (asked.peer, bool(asked.tcp))
        if asked.peer in self._trusted or word == self._said:
            self.single_verdict, self.single_verdict_udp, self.concluded_at = word[1], asked.udp, now
        self._said = word

    # --- for others --------------------------------------------------------------------------------------------------

    def requested(self, sender: PeerId, message: DialBack, address: Address | None, now: float) -> list[Any]:
        """Somebody asks us to call it at the address from which the question came."""
        if address is None or not message.pad:
            return []
        ipv6 = ":" in address.host
        if message.ipv6 is not ipv6:
            self._trace.mark("nat.dial_back.family")
            return []
        if now >= self._minute_at + 60:
            self._minute_at, self._minute_count = now, 0
        recent = now < self._tried.get((sender, ipv6), -PER_PEER_S) + PER_PEER_S
        if recent or self._minute_count >= TRIES_PER_MINUTE or len(self._trying) >= TRIES_AT_ONCE:
            self._trace.mark("nat.dial_back.refused")
            return [] if recent else [Send(sender, DialBackResult(message.nonce, tcp=False, refused=True))]
        self._minute_count += 1
        self._tried.pop((sender, ipv6), None)
        self._tried[sender, ipv6] = now
        if len(self._tried) > PEERS_MAX:
            self._tried.popitem(last=False)
        outputs: list[Any] = []
        if message.udp_port:
            knock = DialBackDatagram(message.nonce)
            outputs.append(SendDatagramTo(sender, Address(address.host, message.udp_port), knock, fresh=True))
        if message.tcp_port:
            self._trying[message.nonce] = (sender, now)
            outputs.append(TryDialBack(message.nonce, Address(address.host, message.tcp_port)))
        return outputs

    def tried(self, nonce: bytes, *, tcp: bool) -> list[Send[DialBackResult]]:
        """The host has tried."""
        sender, _ = self._trying.pop(nonce, (None, 0.0))
        return [] if sender is None else [Send(sender, DialBackResult(nonce, tcp=tcp, refused=False))]
