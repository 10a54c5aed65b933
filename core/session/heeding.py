"""What moderators have decided, as the host of one peer heeds it: whose passes it accepts, and until when."""

import asyncio
from collections.abc import Callable, Iterator
from random import SystemRandom
from typing import Final

from core.authority.decisions import ROLLOVER_S, Decisions
from core.authority.news import AuthorityDecided
from core.authority.records import AuthorityRecords
from core.base.ids import PeerId
from core.base.problems import ProofProblem
from core.net.host import Host
from core.net.identity.issuers import issuers_of
from core.net.identity.passes import PassRole, verify_pass
from core.swarm.words.facts import Revoked, WayBack
from core.swarm.words.states import StateName

PARTING_S: Final = 5.0
"""Seconds for which a peer that is shut out can still ask for the list that says so; then its pass holds no longer.
One that was shut out before this peer started has no such time."""


class Heeding:
    """Has a host refuse and accept passes as the records say.

    Args:
        host: Whose passes, and whose own one.
        records: What moderators have said.
        renew_soon: Has this peer's own pass renewed.
    """

    def __init__(self, host: Host, records: AuthorityRecords, *, renew_soon: Callable[[], None]) -> None:
        self._host = host
        self._records = records
        self._renew_soon = renew_soon

    def at_once(self, now: float) -> None:
        """Heed what was known before the start: those whom it concerns have had their time."""
        self._refuse(self._records.decisions, self._records.shut_out(now))
        self._host.passes.issuers = issuers_of(self._records)

    def decided(self, news: AuthorityDecided, now: float) -> Iterator[Revoked | WayBack]:
        """Heed something new, and return what the peer's machine has to know.

        Args:
            news: What was decided.
            now: Unix seconds.
        """
        decisions, later = news.decisions, asyncio.get_running_loop().call_later
        known = self._host.passes.known.items()
        held = news.shut_out - {*decisions.revoked}  # a single moderator keeps no backbone away
        spared = {peer for peer, one in known if one.role is PassRole.BACKBONE} & held
        banned = {peer for peer, one in known if one.account in decisions.banned}
        yield Revoked((news.shut_out - held) | banned, held - spared)
        back = decisions.back
        yield WayBack() if back is None else WayBack(StateName(back.epoch, back.root), back.digest)
        later(PARTING_S, self._refuse, decisions, news.shut_out)
        self._heed_issuers(now)
        left_s = max(0.0, decisions.passes_since + ROLLOVER_S - now)
        later(left_s, setattr, self._host.passes, "since", decisions.passes_since)
        if left_s:
            later(left_s * SystemRandom().uniform(0.1, 0.5), self._renew_soon)  # not all at once

    def _heed_issuers(self, now: float) -> None:
        """Accept passes of new issuers at once, and those of one that was ended for as long as it takes to ask why."""
        passes, issuers, later = self._host.passes, issuers_of(self._records), asyncio.get_running_loop().call_later
        if issuers.until == passes.issuers.until:
            return
        passes.issuers = issuers.beside(passes.issuers)
        later(PARTING_S, lambda: setattr(passes, "issuers", issuers_of(self._records)))
        try:
            verify_pass(self._host.pass_der, issuers, now)
        except ProofProblem:
            later(PARTING_S * SystemRandom().uniform(0.0, 0.8), self._renew_soon)

    def _refuse(self, decisions: Decisions, shut_out: frozenset[PeerId]) -> None:
        """Refuse the passes of these, from now on."""
        revoked = frozenset(map(PeerId, decisions.revoked))
        self._host.passes.refuse(revoked, decisions.banned, shut_out - revoked)
