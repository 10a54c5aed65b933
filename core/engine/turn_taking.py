"""An engine that serves several collaborations, one at a time: carries out what `core.engine.turns` decides."""

import asyncio
import contextlib
from collections.abc import Sequence
from random import Random
from typing import Final

from core.api.moderation import CLOSED, MOVED
from core.api.turns import PassedOver, WhyNot
from core.api.verdict import VerdictCode
from core.base.problems import BadInput, NotTrusted, Problem, Sentence, UserProblem
from core.control.notices import Level
from core.engine.engine import Engine
from core.engine.remembered.collaborations import KeptCollaboration
from core.engine.turns import Turns
from core.engine.update_watch import epoch_ends
from core.joining.introduction import Impostor
from core.joining.look import LinkProblem, look
from core.net.clock import steady_s

LOOKS: Final = 60
"""Number of times that the served collaboration is looked at while an unreachable one is waited for."""
ENDS: Final = frozenset({"ended", "finished", CLOSED, MOVED})
"""Reasons of a rest after which a collaboration needs nothing more from this computer."""


class TurnTaking:
    """Serves one of several collaborations at a time, as `core.engine.turns` decides.

    Args:
        engine: Serves one collaboration at a time.
        kept: The collaborations, the highest priority first; at least one.
        patience_s: How long an unreachable one is waited for, seconds.
        random: Draws the jitter of looks.
    """

    def __init__(self, engine: Engine, kept: Sequence[KeptCollaboration], *, patience_s: float, random: Random) -> None:
        self._engine = engine
        self._kept = {each.id: each for each in kept}
        self._patience_s = patience_s
        self._turns = Turns(list(self._kept), first_s=patience_s, random=random)

    async def serve(self) -> None:
        """Take part in one collaboration after another until the engine is to end.

        Raises:
            UserProblem: as `Engine.serve`, where no other collaboration can be worked for.
        """
        while not self._engine.life.quit.is_set():
            await self._serve_one()

    async def _serve_one(self) -> None:
        """Serve the one whose turn it is, until it is another one's turn or the engine is to end."""
        served, turns = self._turns.served, self._turns
        passed = [PassedOver(each, self._kept[each].name, why) for each, why in turns.passed_over]
        self._engine.life.passed_over = tuple(passed)
        serving = asyncio.ensure_future(self._engine.serve(self._kept[served].link))
        watching = asyncio.ensure_future(self._watch(serving))
        watching.add_done_callback(lambda done: None if done.cancelled() else serving.cancel())
        try:
            await serving
        except asyncio.CancelledError:
            if watching.done() and not watching.cancelled():
                watching.result()  # raises what was wrong with it
            if turns.served == served:
                raise
        except (BadInput, NotTrusted) as problem:
            if isinstance(problem, BadInput) and self._engine.life.session is not None:
                raise
            if not self._gives_way(served, problem):
                raise
        finally:
            watching.cancel()
            await asyncio.wait({watching})

    async def _watch(self, serving: asyncio.Future[None]) -> None:
        """Return when it is another collaboration's turn and the session of the served one, if any, has ended."""
        served, waited = self._turns.served, 0
        while True:
            await asyncio.sleep(self._patience_s / LOOKS)
            verdict, life = self._engine.controls.verdict(), self._engine.life
            why: WhyNot | None = None
            if life.session is not None:
                self._turns.reached()
                if verdict.code is VerdictCode.RESTING and verdict.reason in ENDS:
                    why = WhyNot.ENDED
            elif life.stage.code is VerdictCode.NOT_CONNECTED:
                waited += 1
                why = WhyNot.UNREACHABLE if waited >= LOOKS else None
            if why is not None and self._turns.give_way(why, steady_s()):
                self._tell(f"turns.{why}", served)
                break
            if await self._higher_one_answers():
                await epoch_ends(self._engine.controls.snapshot, self._patience_s)
                self._tell("turns.back", served)
                break
        if self._engine.life.session is not None:
            self._engine.life.session.stop()
            await asyncio.wait({serving})

    async def _higher_one_answers(self) -> bool:
        """Look at the highest due collaboration above the served one, if any; it has its turn if it answers."""
        due = self._turns.due(steady_s())
        if due is None or self._engine.usage_policy.decision.network is not None:
            return False
        try:
            await look(self._kept[due].link, self._engine.life.installation.clock.now, member=True)
        except Problem as problem:
            ended = isinstance(problem, LinkProblem) and problem.code == "link.ended"
            self._turns.does_not_answer(due, steady_s(), WhyNot.ENDED if ended else WhyNot.UNREACHABLE)
            return False
        self._turns.answers(due)
        return True

    def _gives_way(self, served: str, problem: Problem) -> bool:
        """Whether another one is served from now on, in the place of one that does not let this computer take part.

        Why is kept for the time when no engine can tell it.
        """
        why = WhyNot.UNREACHABLE if isinstance(problem, Impostor) else WhyNot.REFUSED
        with contextlib.suppress(UserProblem):  # of a full disk; the refusal itself is told
            if why is WhyNot.REFUSED:
                self._engine.collaborations.note(self._kept[served].link, problem)
        if self._turns.served != served:  # a higher one has answered meanwhile
            self._turns.does_not_answer(served, steady_s(), why)
        elif not self._turns.give_way(why, steady_s()):
            return False
        self._tell(f"turns.{why}", served, reason=problem.sentence)
        return True

    def _tell(self, code: str, left: str, **more: Sentence) -> None:
        """Say in the log that it is another collaboration's turn."""
        served = self._kept[self._turns.served].name
        level: Level = "info" if code in {"turns.back", "turns.ended"} else "warning"
        self._engine.life.installation.notices.tell(level, code, left=self._kept[left].name, served=served, **more)
