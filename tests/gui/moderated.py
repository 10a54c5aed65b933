"""A collaboration with three moderators, as the window and its tests see it."""

from core.api.moderation import (
    CopiesView,
    CopyView,
    DecisionChange,
    DrillView,
    EndView,
    HoldView,
    ModerationAct,
    ModerationView,
    ModeratorView,
    PartsView,
    PeopleView,
    PersonView,
    ProposalView,
)


def moderation() -> ModerationView:
    """Three moderators, of whom this person is one; a proposal that waits for them, and one that they have signed."""
    people = (("Ada", False), ("Bob", True), ("Cleo", False))
    ban = DecisionChange(ModerationAct.BAN, "Eve", "ee" * 32)
    back = DecisionChange(ModerationAct.GO_BACK, "ab12cd34", count=1200)
    shared = {"at": 1_795_600_000.0, "until": 1_796_800_000.0, "missing": 1}
    return ModerationView(
        moderates=True,
        moderators=tuple(ModeratorView(name, name[0].lower() * 64, is_me) for name, is_me in people),
        threshold=2,
        newcomers="closed",
        banned=3,
        notices=("The backbone moves on Monday; nothing is to be done.",),
        holds=(HoldView("Mallory", "aa" * 32, 1_795_900_000.0, "sends noise"),),
        proposals=(
            ProposalView(
                "6c844cc1",
                "Ada",
                changes=(ban, back),
                words="Noise since Sunday.",
                signed=("Ada",),
                signed_here=False,
                **shared,
            ),
            ProposalView(
                "9d1f0a2b",
                "Bob",
                changes=(DecisionChange(ModerationAct.ADD, "Dora"),),
                words="",
                signed=("Bob",),
                signed_here=True,
                **shared,
            ),
        ),
        drill=DrillView("Ada", 1_795_000_000.0, ("Bob", "Cleo"), is_late=True, waits_here=True),
        end=EndView("paused", "The server moves on Monday.", ""),
    )


def people() -> PeopleView:
    """Four people: one far from the others, one whose parts were not seen here, and one who is shut out."""
    parts = {
        "Ada": PartsView(41, 0.031, 0.97, 0.62, 0.0, 0),
        "Bob": PartsView(40, 0.030, 1.04, 0.59, 0.01, 0),
        "Eve": PartsView(12, 0.031, 7.9, -0.44, 0.93, 3),
    }
    gave = {"Ada": 400_000, "Bob": 250_000, "Dora": 90_000, "Eve": 30_000}
    return PeopleView(
        tuple(
            PersonView(
                name=name,
                key=name[0].lower() * 64,
                here=name != "Eve",
                samples=samples,
                share=samples / sum(gave.values()),
                shut_out=name == "Eve",
                computers=1 + (name == "Ada"),
                parts=parts.get(name),
            )
            for name, samples in gave.items()
        )
    )


def copies() -> CopiesView:
    """Three copies, to the first of which all have gone back."""
    came = 1_795_600_000.0
    losses = ((1, 1100, 4.31), (2, 1200, 4.12), (3, 1300, None))
    return CopiesView(
        tuple(CopyView(number, epoch, came + 9000 * number, loss, chosen=number == 1) for number, epoch, loss in losses)
    )
