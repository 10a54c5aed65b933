"""Where one member stands in a grid, and how it answers those who come together for a stage."""

from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.averaging.grid.convening import LEAP, Convening
from core.averaging.grid.messages import Arrived, Doubted, GridMessage, Holding, Passed, StagePlan, StandIn, Underway
from core.averaging.grid.placement import Group, layout_of
from core.averaging.grid.plans import check_holding, check_stage_plan, divided, later_plan
from core.averaging.matchmaking.check_plan import check_shares
from core.averaging.messages import Leaving
from core.averaging.plan import Plan
from core.base.problems import RemoteProblem

WAITING, RUNNING, FINISHED, FAILED = range(4)

Words = Sequence[tuple[int, GridMessage | Leaving]]
"""Messages, with the place in the plan of whom they go to."""
Vector = NDArray[np.float32]
WITNESSES: Final = 2
"""So many of a group must say that somebody did not come to its end."""
STRANGE: Final = "a word about a group that is not as the grid has it"


class GridMember:
    """A member's stage and group, what it has brought to each stage, and the gathering that it is in.

    Args:
        plan: The round's.
        me: My place in it.
        contribution: What I bring to the first stage.
    """

    def __init__(self, plan: Plan, me: int, contribution: Vector) -> None:
        self.plan = plan
        self.me = me
        self.grid = layout_of(plan)
        self.state = WAITING
        self.stage = 0
        self.number = self.grid.group_of(0, me)
        self.inputs = [contribution]
        self.convening: Convening | None = None
        """Of my group; None in the first stage, which nobody has to gather for."""
        self.gone = 0
        """Members that are lost or have left (bits)."""
        self._holdings: list[Holding | None] = [None]
        self._doubted: set[int] = set()
        self._doubts: dict[int, set[int]] = {}
        self._invited: dict[tuple[int, int], tuple[int, StandIn]] = {}

    @property
    def last(self) -> bool:
        """Whether my stage is the last one."""
        return self.stage == self.plan.stages - 1

    @property
    def group(self) -> Group:
        """My group at my stage."""
        return self.grid.stages[self.stage][self.number]

    @property
    def company(self) -> list[int]:
        """Everybody with whom I am in a group at any stage."""
        groups = (stage[self.grid.group_of(number, self.me)] for number, stage in enumerate(self.grid.stages))
        return sorted({member for group in groups for member in group.members} - {self.me})

    @property
    def waiting(self) -> Convening | None:
        """The gathering of my group, while it has not come to an end."""
        convening = self.convening
        return convening if self.state == RUNNING and convening is not None and convening.called is None else None

    def rise(self, holding: Holding, mean: Vector, *, absent: Collection[int], now: float) -> Words:
        """My group holds its mean: gather for the next stage, and tell the next groups of those who are `absent`."""
        self.inputs.append(mean)
        self._holdings.append(holding)
        self.stage += 1
        self.number = self.grid.group_of(self.stage, self.me)
        self.convening = Convening(
            round_id=self.plan.round,
            stage=self.stage,
            number=self.number,
            group=self.group,
            me=self.me,
            holding=holding,
            stall_timeout_s=self.plan.stall_timeout_s,
            doubted=self._doubted,
        )
        told: list[tuple[int, GridMessage]] = []
        for member in sorted(absent):
            others = self.grid.stages[self.stage][self.grid.group_of(self.stage, member)].members
            told += [(other, Doubted(self.plan.round, member)) for other in others if other not in {member, self.me}]
        return [*told, *self.convening.begin(0, now)]

    def settle(self, waiting: Convening, now: float) -> tuple[Words, StagePlan | None]:
        """Say who takes part in my group's stage, if it is up to me and can be said."""
        asks, entries = waiting.settle(self.gone, now)
        if entries is None:
            return asks, None
        word = StagePlan(
            round=self.plan.round,
            stage=self.stage,
            group=self.number,
            attempt=waiting.attempt,
            entries=entries,
            holdings=tuple(waiting.holding_of(entry.member) for entry in entries if entry.gives),
            chunks=(),
        )
        word = divided(self.plan, word, self.group)
        return [*asks, *((e.member, word) for e in entries if e.member != self.me)], word

    # --- answers ---

    def on_doubted(self, member: int, word: Doubted) -> None:
        """A member of some group did not come to its end: believed if two who were in it say so, or all but it.

        Raises:
            RemoteProblem: somebody says it who cannot know, or whom it does not concern.
        """
        doubted = word.member
        if doubted >= len(self.plan.members) or doubted in {member, self.me}:
            raise RemoteProblem(STRANGE)
        before = [
            set(stage[self.grid.group_of(number, doubted)].members) - {doubted}
            for number, stage in enumerate(self.grid.stages)
        ]
        seen = [group for group, after in pairwise(before) if member in group and self.me in after]
        if not seen:
            raise RemoteProblem(STRANGE)
        witnesses = self._doubts.setdefault(doubted, set())
        witnesses.add(member)
        if len(witnesses) >= min(WITNESSES, *map(len, seen)):
            self._doubted.add(doubted)

    def on_arrived(self, member: int, word: Arrived, now: float) -> Words:
        """A peer waits for its group, or says that it stands in for somebody of mine.

        Raises:
            RemoteProblem: it says something that cannot be.
        """
        convening = self.convening if self._here(word) else None
        if convening is None:
            return [(member, self._where(word))]
        block = next((block for block in convening.group.blocks if member in block), ())
        check_holding(self.plan, word.holding, block)
        called = convening.called
        if called is None:
            return convening.arrived(member, word, now)
        if called.attempt == word.attempt and any(entry.member == member for entry in called.entries):
            return [(member, called)]
        return [(member, self._where(word))]

    def on_answer(self, member: int, word: Underway | Passed, now: float) -> None:
        """Somebody for whom I wait says where it is."""
        if self.convening is None or not self._here(word):
            return
        self.convening.heard(member, now)
        if isinstance(word, Passed):
            self.convening.unable(member)

    def on_stand_in(self, member: int, word: StandIn, *, free: bool) -> Words:
        """Another group needs me; I can come as soon as I hold what it needs, and while I am `free`.

        Raises:
            RemoteProblem: it may not ask me.
        """
        group = self._group_of(word)
        if member not in group.members or self.me in group.members or not any(self.me in b for b in group.blocks):
            raise RemoteProblem(STRANGE)
        holding = self._holdings[word.stage] if word.stage <= self.stage else None
        if self.state == FAILED or holding is None or not free:
            return [(member, self._where(word))]
        self._invited[word.stage, word.group] = member, word
        return [(member, Arrived(word.round, word.stage, word.group, word.attempt, holding))]

    def on_stage_plan(self, member: int, word: StagePlan, now: float) -> tuple[Plan, bool] | None:
        """An attempt begins: the plan of its butterfly, and whether it is that of my own group; None: not with me.

        That of my own group comes from whom I take for its first; one that has decided too early, as I see it, says it
        again when it hears that I wait.

        Raises:
            RemoteProblem: it is not as it has to be.
        """
        group = self._group_of(word)
        mine = [index for index, entry in enumerate(word.entries) if entry.member == self.me]
        if member not in group.members or not mine or word.stage > self.stage:
            raise RemoteProblem(STRANGE)
        check_stage_plan(self.plan, word, group)
        if word.entries[mine[0]].gives and word.holdings[mine[0]] != self._holdings[word.stage]:
            raise RemoteProblem("a stage's plan with another mean than mine")
        waiting = self.waiting
        own = waiting is not None and self._here(word) and 0 <= word.attempt - waiting.attempt <= LEAP
        if own and waiting is not None and not waiting.may_decide(member, self.gone, now):
            return None
        asked = self._invited.get((word.stage, word.group))
        if not own and (asked is None or asked[0] != member or asked[1].attempt != word.attempt):
            return None
        if self.state == FAILED:
            return None
        later = later_plan(self.plan, word, group)
        check_shares(later)
        if own and waiting is not None:
            waiting.attempt, waiting.called = word.attempt, word
        else:
            del self._invited[word.stage, word.group]
        return later, own

    def _here(self, word: Arrived | Underway | Passed | StandIn | StagePlan) -> bool:
        """Whether it is about my group at my stage."""
        return self.state == RUNNING and (word.stage, word.group) == (self.stage, self.number)

    def _group_of(self, word: StandIn | StagePlan) -> Group:
        groups = self.grid.stages[word.stage] if word.stage < self.plan.stages else ()
        if word.group >= len(groups):
            raise RemoteProblem(STRANGE)
        return groups[word.group]

    def _where(self, word: Arrived | StandIn) -> Leaving | Underway | Passed:
        """What to answer to someone that waits, when I do not come now."""
        if self.state == FAILED:
            return Leaving(self.plan.round)
        beyond = isinstance(word, Arrived) and self.stage >= word.stage and not self._here(word)
        kind = Passed if beyond else Underway
        return kind(self.plan.round, word.stage, word.group)
