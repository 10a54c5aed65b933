"""The peers at whose messages this program failed: they are not heard for a while.

A message at which a machine raises is a mistake of this program that its sender knows of.  The sender loses its
conversation with this peer, for a time that doubles with each further failure, and the host goes on.  A host that
failed at the messages of most peers ends instead, since its own state must be wrong.

What the worst sender gains: a member ends no host with messages at which the host fails, however many links, addresses
and messages it uses, since its key counts once; unless one leaves the machine so broken that it fails at others' too,
who are then blamed for it.  No such message is known.  Colluding members end one with `PEERS_MIN` keys that are also
more than all other people that the host heard within `WINDOW_S`: the keys of one account count once.
What a failed message left in the machine is not undone: where a timer fails of it, the host ends as after any mistake.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from core.base.back_off import BackOff
from core.base.bounds import remember
from core.base.ids import AccountId, PeerId, account_of
from core.base.machine import Trace

EXCLUDED_S: Final = 10.0
"""First exclusion of a peer, seconds: a round goes on without it, and it can be back for the next."""
EXCLUDED_MAX_S: Final = 3600.0
"""Upper bound on an exclusion, and the time after which a failure is forgotten, seconds."""
WINDOW_S: Final = 60.0
"""Failures this far apart do not end a host together, seconds: every present peer speaks several times meanwhile."""
PEERS_MIN: Final = 3
"""Least number of people at whose messages the host fails before it ends."""
PEERS_MAX: Final = 4096
"""Number of peers remembered as heard; the one heard longest ago is forgotten first."""


class FailedPeers:
    """Excludes the senders of messages at which the machine failed, and tells when the machine itself is wrong.

    Args:
        trace: Counts the messages.
        account: Whose key a peer's is.
    """

    def __init__(self, trace: Trace, account: Callable[[PeerId], AccountId] = account_of) -> None:
        self._trace = trace
        self._account = account
        self._back_off = BackOff[PeerId](
            first=EXCLUDED_S, longest=EXCLUDED_MAX_S, decay=EXCLUDED_MAX_S, things_max=PEERS_MAX
        )
        self._heard: OrderedDict[PeerId, float] = OrderedDict()
        """When each peer was last heard without a failure."""
        self._failed: dict[PeerId, float] = {}
        """When the machine last failed at a message of each peer, within `WINDOW_S`."""

    def excludes(self, peer: PeerId, now: float) -> bool:
        """Whether a message of the peer must be dropped, which is counted."""
        if not self._back_off.is_excluded(peer, now):
            return False
        self._trace.mark("net.drop.excluded")
        return True

    def heard(self, peer: PeerId, now: float) -> None:
        """Note that the machine handled a message of the peer."""
        remember(self._heard, peer, now, PEERS_MAX)

    def failed(self, peer: PeerId, now: float) -> bool:
        """Note that the machine failed at a message of the peer.

        Args:
            peer: The sender, which is excluded from now on.
            now: The time in seconds.

        Returns:
            Whether the host must end: it fails at most of the peers that it hears.
        """
        self._trace.mark("net.drop.failed")
        self._back_off.fail(peer, now)
        self._failed = {one: at for one, at in self._failed.items() if now - at < WINDOW_S} | {peer: now}
        failed = set(map(self._account, self._failed))
        heard = {self._account(one) for one, at in self._heard.items() if now - at < WINDOW_S} - failed
        return len(failed) >= PEERS_MIN and len(failed) > len(heard)
