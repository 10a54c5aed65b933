"""What an engine has from the backbone while it takes part: its pass, the time, and where other peers are.

The pass is renewed from time to time, and at once when no other peer is heard any more: then this computer's clock may
be wrong, or the others may have moved.
"""

import asyncio
import platform
from collections.abc import Callable, Sequence
from random import SystemRandom
from typing import Final, Literal

from core.api.numbers import lasting
from core.backbone.desk_messages import KnownPeer
from core.base.ids import Contact
from core.base.problems import NotTrusted, Problem, Sentence
from core.engine.installation import Installation
from core.joining.introduction import Impostor
from core.joining.join import JoinedCollaboration, Joining
from core.net.clock import STEP_S
from core.session.session import Session
from core.swarm.participant import Participant

LOOK_S: Final = 10.0
ASK_FIRST_S: Final = 30.0
"""First pause between two requests to the backbone while no peer is heard; each further one is twice as long."""
ASK_LONGEST_S: Final = 1800.0


class ClockWatch:
    """Watches whether a session's clock is that of the others, and asks the backbone in doubt.

    Args:
        installation: Has the clock.
        joining: Asks the backbone.
        session: Whose peers are watched.
        end: Ends the session, with the reason why the backbone gives no pass any more while no other peer is heard
            either; None: the clock has to go back, which no machine can, so that the session has to join anew.
    """

    def __init__(
        self,
        installation: Installation,
        joining: Joining,
        session: Session[Participant],
        *,
        end: Callable[[NotTrusted | None], None],
    ) -> None:
        self._installation = installation
        self._joining = joining
        self._session = session
        self._end = end
        self._told_s = 0.0
        """What the person knows of the wall clock's lead, seconds; 0.0: it is right."""
        self._ask_at = 0.0
        """When to ask the backbone next, if nobody is heard then; seconds of the loop's clock."""
        self._pause_s = ASK_FIRST_S

    async def keep(self) -> None:
        """Look every `LOOK_S` seconds, until cancelled."""
        now = asyncio.get_running_loop().time
        self._ask_at = now() + ASK_FIRST_S
        while True:
            self.look(now())
            await asyncio.sleep(LOOK_S)

    def look(self, now: float) -> None:
        """Tell the person that the wall clock is wrong, or right again, and ask the backbone if nobody is heard.

        Args:
            now: Seconds of the loop's clock.
        """
        ahead_s = self._installation.clock.wall_ahead_s
        if abs(ahead_s - self._told_s) > STEP_S:
            self._told_s = ahead_s if abs(ahead_s) > STEP_S else 0.0
            self._installation.notices.add(*clock_notice(self._told_s))
        if not self._alone():
            self._ask_at, self._pause_s = now, ASK_FIRST_S
        elif now >= self._ask_at:
            self.ask()
            self._ask_at = now + self._pause_s * SystemRandom().uniform(0.5, 1.0)
            self._pause_s = min(2 * self._pause_s, ASK_LONGEST_S)

    def ask(self) -> None:
        """Ask the backbone now: what it says leads to the others again."""
        self._session.renew_soon()

    async def renewed(self) -> bytes | None:
        """Get a new pass, and go by the backbone's time if nobody else is heard.

        While others are heard, a backbone whose clock is another one is not followed: they would refuse its pass.

        Returns:
            The pass; None, and the person is told, if there is none this time.
        """
        try:
            joined = await self._joining.join(
                username=self._installation.name,
                device=platform.node()[:40],
                now=self._installation.clock.now,
                random=SystemRandom(),
            )
        except Problem as problem:
            if isinstance(problem, NotTrusted) and not isinstance(problem, Impostor) and self._alone():
                self._end(problem)
            else:
                self._installation.notices.add(
                    "warning", Sentence("The access pass could not be renewed: {problem}", problem.whole)
                )
            return None
        self._session.learn_records(joined.records)
        if self._alone():
            self._follow(joined)
        elif abs(joined.clock_ahead_s) > STEP_S:
            notice = Sentence(
                "The access pass was not renewed: the backbone's clock is {time} {way} the time of all peers here. "
                "Tell the organiser.",
                lasting(abs(joined.clock_ahead_s)),
                Sentence("ahead of" if joined.clock_ahead_s > 0 else "behind"),
            )
            self._installation.notices.add("warning", notice)
            return None
        return joined.grant.certificate

    def _follow(self, joined: JoinedCollaboration) -> None:
        if joined.clock_ahead_s < -STEP_S:
            self._end(None)
            return
        self._installation.clock.correct(max(0.0, joined.clock_ahead_s))
        self._session.meet(contacts_of(joined.grant.contacts))

    def _alone(self) -> bool:
        """Whether no other peer is heard."""
        return not self._session.peer.view(self._installation.clock.now()).peers


def seeds(joined: JoinedCollaboration, remembered: Sequence[Contact]) -> list[Contact]:
    """Peers to begin with.

    What the backbone says now beats what was remembered, for it may have another port than last time; what was kept of
    what it said earlier does not.

    Args:
        joined: Has what the backbone said.
        remembered: Peers that were there last time.
    """
    said = contacts_of(joined.grant.contacts)
    first, then = (said, remembered) if joined.kept_until is None else (remembered, said)
    known = {contact.peer_id for contact in first}
    return [*first, *(contact for contact in then if contact.peer_id not in known)]


def contacts_of(known: Sequence[KnownPeer]) -> list[Contact]:
    """The peers that a backbone names, as contacts."""
    return [Contact(peer.peer, peer.host, peer.port) for peer in known]


def clock_notice(ahead_s: float) -> tuple[Literal["info", "warning"], Sentence]:
    """What to tell the person about this computer's clock: level and sentence.

    Args:
        ahead_s: How far it is ahead of the collaboration's time; 0.0: it is right again.
    """
    if not ahead_s:
        return "info", Sentence("This computer's clock agrees with the collaboration's time again.")
    way = Sentence("ahead of" if ahead_s > 0 else "behind")
    told = (
        "This computer's clock is {time} {way} the collaboration's time, by which Potluck goes on. "
        "Let the system set the clock by itself (date and time settings): the hours that you chose follow it."
    )
    return "warning", Sentence(told, lasting(abs(ahead_s)), way)
