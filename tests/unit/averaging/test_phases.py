"""The end of a round as a table, and the page that shows it."""

from pathlib import Path

import pytest

from core.averaging.commit.phases import COORDINATOR, MEMBER, OVER, Cue, Phase, Standing, Transitions

PAGE = Path(__file__).parents[3] / "docs" / "protocols" / "rounds.md"


def diagram(transitions: Transitions) -> str:
    """The table as a Mermaid state diagram."""
    names = {phase: phase.value.replace(" ", "_") for phase in Phase}
    lines = [f"    {names[a]} --> {names[b]}: {cue}" for (a, cue), b in transitions.items()]
    return "\n".join(["stateDiagram-v2", *lines])


@pytest.mark.parametrize("transitions", [MEMBER, COORDINATOR], ids=["member", "coordinator"])
def test_page_shows_the_table_as_it_is(transitions: Transitions) -> None:
    assert f"```mermaid\n{diagram(transitions)}\n```" in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("transitions", "first"),
    [(MEMBER, Phase.COLLECTING), (COORDINATOR, Phase.COLLECTING), (COORDINATOR, Phase.TAKING_OVER)],
    ids=["member", "coordinator", "successor"],
)
def test_every_phase_leads_to_an_end(transitions: Transitions, first: Phase) -> None:
    reached = {first}
    while more := {after for (before, _), after in transitions.items() if before in reached} - reached:
        reached |= more
    assert {Phase.COMMITTED, Phase.ABORTED} <= reached & OVER
    for phase in reached - OVER:
        left = {phase}
        while more := {after for (before, _), after in transitions.items() if before in left} - left:
            left |= more
        assert left & OVER


def test_member_commits_nothing_after_it_has_aborted() -> None:
    standing = Standing(MEMBER, Phase.COLLECTING)
    assert standing.advance(Cue.ABORT)
    assert not standing.advance(Cue.COMMIT)
    assert standing.phase is Phase.ABORTED


def test_member_in_doubt_settles_when_it_hears_a_commit() -> None:
    standing = Standing(MEMBER, Phase.COLLECTING)
    assert [standing.advance(cue) for cue in (Cue.COMPLETE, Cue.PREPARE, Cue.ABORT, Cue.COMMIT)] == [True] * 4
    assert standing.phase is Phase.SETTLED
