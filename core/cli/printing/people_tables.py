"""People as moderators see them, in aligned columns."""

from collections.abc import Sequence

from core.api.moderation import PartsView, PersonView
from core.api.numbers import amount
from core.base.problems import printable
from core.cli.printing.tables import columns

PARTS = ("Norm", "Cosine", "Clipped", "Dropped", "Seen in")
NOTE = """Norm and cosine compare somebody's parts with the others', where they were averaged here.  Few samples alone
make a part long, and its direction unlike the others'.  They prove nothing by themselves."""


def parts_text(people: Sequence[tuple[str, PartsView | None]], nobody: str) -> str:
    """How far the parts of each person lie from the others', furthest first.

    Args:
        people: Names, and what was seen of each.
        nobody: Said where nothing was.
    """
    seen = [(name, parts) for name, parts in people if parts is not None]
    if not seen:
        return nobody
    seen.sort(key=lambda one: (one[1].cosine, one[0]))
    return (
        columns([("Name", *PARTS), *((printable(name), *_parts(parts)) for name, parts in seen)], left={0})
        + f"\n{NOTE}"
    )


def people_text(people: Sequence[PersonView], nobody: str) -> str:
    """Who takes part, what they gave, and how far their parts lie.

    Args:
        people: In the order in which they are shown.
        nobody: Said where nobody's parts were seen.
    """
    rows: list[tuple[str, ...]] = [("Name", "Here", "Samples", "Share", "Computers", *PARTS)]
    rows += [
        (
            printable(one.name) + (" (shut out)" if one.shut_out else ""),
            "here" if one.here else "",
            amount(one.samples),
            f"{one.share:.1%}",
            amount(one.computers),
            *_parts(one.parts),
        )
        for one in people
    ]
    return columns(rows, left={0, 1}) + "\n" + (NOTE if any(one.parts for one in people) else nobody)


def _parts(parts: PartsView | None) -> tuple[str, ...]:
    if parts is None:
        return ("",) * len(PARTS)
    rounds = "1 round" if parts.rounds == 1 else f"{amount(parts.rounds)} rounds"
    return (
        f"{parts.ratio:.2f}",
        f"{parts.cosine:.2f}",
        f"{parts.clipped:.0%}",
        amount(parts.dropped),
        f"{100 * parts.numbers:.2g} % of the numbers, {rounds}",
    )
