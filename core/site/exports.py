"""The same numbers for programs: JSON with its description (OpenAPI), tables (CSV), and Prometheus' text."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from string import hexdigits
from typing import Any, Final

import msgspec

from core.api.site_view import ACCOUNT_BYTES, SiteDay, SiteEnd, SiteNotice, SitePerson, SiteText, SiteView
from core.api.snapshot import CurvePoint
from core.api.version import VERSION
from core.site.history import PersonDay
from core.site.teams import Choices

API: Final = "/api/v1"
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
"""A table program takes a cell that begins so for a formula."""


class PublicCollaboration(msgspec.Struct, frozen=True, kw_only=True):
    """What is learned, who looks after it, and how it stands now."""

    id: str
    name: str
    summary: str
    organiser: str
    moderators: tuple[str, ...]
    threshold: int
    """Number of moderators who have to agree."""
    open_to_newcomers: bool
    link: str
    """Without an invitation."""
    at: float
    """When the backbone looked, Unix seconds."""
    computers: int
    samples_per_s: float
    epoch: int
    last_epoch: int | None
    target_samples: int
    """Samples of one epoch."""
    samples: int
    end: SiteEnd | None
    """The moderators have paused it, or ended it; null: everybody trains."""
    texts: tuple[SiteText, ...]


class BoardPerson(msgspec.Struct, frozen=True):
    """Somebody whose samples have been counted."""

    rank: int
    name: str
    """Empty: the moderators have shut this person out."""
    samples: int
    share: float
    """Part of all samples, 0 to 1."""
    epochs: int
    reduced: int
    """Numbers of means that this person's computers made for all."""
    account: str
    """The person's page stands under it, in hex; empty: the moderators have shut this person out."""
    computers: int
    """Computers whose samples have been counted."""


class PublicPerson(BoardPerson, frozen=True):
    """Somebody whose samples have been counted, and what this person gave by day."""

    team: int | None
    """Number of this person's team; null: there is none."""
    days: tuple[PersonDay, ...]
    """The first one first; the one without a date is what was given before the others."""


class PublicTeam(msgspec.Struct, frozen=True):
    """People who give together, whose samples have been counted."""

    rank: int
    number: int
    name: str
    founder: str
    """Name of who looks after it; empty: this person has given nothing yet, or is shut out."""
    people: int
    samples: int
    share: float
    """Part of all samples, 0 to 1."""


class PublicTeamAndPeople(PublicTeam, frozen=True):
    """A team with those of its members who are shown."""

    members: tuple[BoardPerson, ...]
    """Those whose samples have been counted, who gave most first."""


class CopyOffer(msgspec.Struct, frozen=True):
    """A copy of the model that can be downloaded."""

    number: int
    epoch: int
    at: float
    size_bytes: int
    loss: float | None
    """On held-out text; null: it was not measured."""
    sha256: str
    """Digest of the whole file; empty: it is not computed yet."""
    path: str


def collaboration_of(view: SiteView) -> PublicCollaboration:
    """The collaboration of a view, without its people, days and copies."""
    names = PublicCollaboration.__struct_fields__
    return PublicCollaboration(**{name: getattr(view, name) for name in names})


def board_of(view: SiteView, first: int = 0, last: int | None = None) -> list[BoardPerson]:
    """People, who gave most first.

    Args:
        view: What is shown.
        first: Place of the first one, from 0 on.
        last: Place behind the last one; None: all.
    """
    return [_row(one, view) for one in view.people[first:last]]


def person_of(view: SiteView, account: str) -> BoardPerson | None:
    """Somebody's row; None: nobody with counted samples has this account, or the moderators have shut them out.

    Args:
        view: What is shown.
        account: In hex.
    """
    if len(account) != 2 * ACCOUNT_BYTES or any(letter not in hexdigits for letter in account):
        return None
    wanted = bytes.fromhex(account)
    found = next((one for one in view.people if one.account == wanted), None)
    return None if found is None or not found.name else _row(found, view)


def teams_of(view: SiteView, choices: Choices) -> list[PublicTeam]:
    """Teams with members whose samples have been counted and who are not shut out, who gave most first.

    Args:
        view: What is shown.
        choices: Who is in which team.
    """
    people, sums = Counter[int](), Counter[int]()
    founders = {team.founder: "" for team in choices.teams.values()}
    for one in view.people:
        number = choices.team_of.get(one.account)
        if one.name and number is not None and number in choices.teams:
            people[number] += 1
            sums[number] += one.samples
        if one.account in founders:
            founders[one.account] = one.name
    total = max(view.samples, 1)
    return [
        PublicTeam(
            rank, team.number, team.name, founders[team.founder], people[team.number], given, min(1, given / total)
        )
        for rank, (team, given) in enumerate(
            ((choices.teams[number], given) for number, given in sums.most_common()), start=1
        )
    ]


def members_of(view: SiteView, choices: Choices, number: int) -> list[BoardPerson]:
    """The members of a team who are shown, who gave most first.

    Args:
        view: What is shown.
        choices: Who is in which team.
        number: The team's.
    """
    return [_row(one, view) for one in view.people if one.name and choices.team_of.get(one.account) == number]


def copies_of(view: SiteView, digests: Mapping[str, str]) -> list[CopyOffer]:
    """The copies, the last one first.

    Args:
        view: What is shown.
        digests: SHA-256 in hex, by the name of the file, as far as known.
    """
    return [
        CopyOffer(
            one.number, one.epoch, one.at, one.size_bytes, one.loss, digests.get(one.file, ""), f"/model/{one.number}"
        )
        for one in view.copies
    ]


def board_table(view: SiteView) -> str:
    """All people as CSV, who gave most first."""
    rows = (
        (one.rank, one.name, one.samples, f"{one.share:.6f}", one.epochs, one.reduced, one.account, one.computers)
        for one in board_of(view)
    )
    return _table(("rank", "name", "samples", "share", "epochs", "reduced", "account", "computers"), rows)


def days_table(view: SiteView) -> str:
    """All days as CSV, the first one first."""
    rows = (
        (day.day, day.samples, day.epochs, day.computers, f"{day.computer_hours:.2f}", day.traffic_bytes)
        for day in view.days
    )
    return _table(("day", "samples", "epochs", "computers", "computer_hours", "traffic_bytes"), rows)


def metrics(view: SiteView, served: Mapping[int, int], sent_bytes: int) -> str:
    """Prometheus' text, version 0.0.4.

    Args:
        view: What is shown.
        served: Number of answers since the start, by status.
        sent_bytes: Bytes of these answers.
    """
    newest = next((point.loss_heldout for point in reversed(view.curve) if point.loss_heldout is not None), None)
    gauges: dict[str, tuple[str, float | None]] = {
        "computers": ("Computers that are here.", view.computers),
        "samples_per_second": ("Their joint speed.", view.samples_per_s),
        "epoch": ("Epoch of the swarm.", view.epoch),
        "samples": ("Samples counted in the newest copy of the model.", view.samples),
        "people": ("People whose samples were counted.", len(view.people)),
        "copies": ("Copies of the model that are kept.", len(view.copies)),
        "heldout_loss": ("The newest known loss on held-out text.", newest),
        "seen_seconds": ("When the backbone looked last, Unix seconds.", view.at),
    }
    lines: list[str] = []
    for name, (says, value) in gauges.items():
        if value is not None:
            lines += [f"# HELP potluck_{name} {says}", f"# TYPE potluck_{name} gauge", f"potluck_{name} {value!r}"]
    lines += ["# HELP potluck_site_answers_total Answers of the page.", "# TYPE potluck_site_answers_total counter"]
    lines += [f'potluck_site_answers_total{{status="{status}"}} {count}' for status, count in sorted(served.items())]
    lines += ["# HELP potluck_site_sent_bytes_total Bytes of them.", "# TYPE potluck_site_sent_bytes_total counter"]
    lines += [f"potluck_site_sent_bytes_total {sent_bytes}"]
    return "\n".join(lines) + "\n"


_ANSWERS: Final[Mapping[str, tuple[Any, str]]] = {
    "collaboration": (PublicCollaboration, "What is learned, who looks after it, and how it stands now"),
    "board": (list[BoardPerson], "People whose samples have been counted, who gave most first"),
    "curve": (list[CurvePoint], "Losses by epoch, the first one first"),
    "days": (list[SiteDay], "Samples by day of UTC, the first one first"),
    "teams": (list[PublicTeam], "Teams with members whose samples have been counted, who gave most first"),
    "copies": (list[CopyOffer], "Copies of the model, the last one first"),
    "notices": (list[SiteNotice], "What the moderators say to all, the last one first"),
}
_TABLES: Final = ("board", "days")
_OF_ONE: Final[Mapping[str, tuple[Any, str]]] = {
    "board/{account}": (PublicPerson, "Somebody whose samples have been counted, with what this person gave by day"),
    "teams/{number}": (PublicTeamAndPeople, "A team with its members"),
}
"""Addresses with a part that names one of several, and what stands there."""


def openapi() -> dict[str, Any]:
    """The description of the API (OpenAPI 3.1)."""
    answers = {**_ANSWERS, **_OF_ONE}
    types = [of for of, _ in answers.values()]
    schemas, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    paths = {
        f"{API}/{name}": _path(name, says, {"application/json": {"schema": schema}})
        for (name, (_, says)), schema in zip(answers.items(), schemas, strict=True)
    }
    for name in _TABLES:
        says = f"{_ANSWERS[name][1]}, as a table"
        paths[f"{API}/{name}.csv"] = _path(f"{name}_table", says, {"text/csv": {"schema": {"type": "string"}}})
    info = {"title": "A Potluck collaboration", "version": VERSION, "description": "Read only, for everybody."}
    return {"openapi": "3.1.0", "info": info, "paths": paths, "components": {"schemas": components}}


def _path(name: str, says: str, content: dict[str, Any]) -> dict[str, Any]:
    unchanged = {"description": "Not modified, where If-None-Match names what the client has"}
    responses = {"200": {"description": says, "content": content}, "304": unchanged}
    parts = [
        {"name": part, "in": "path", "required": True, "schema": {"type": "string"}}
        for part in re.findall(r"{(\w+)}", name)
    ]
    if parts:
        responses["404"] = {"description": "There is none"}
    called = re.sub(r"\W+", "_", name).strip("_")
    return {"get": {"operationId": called, "summary": says, "parameters": parts, "responses": responses}}


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    made = io.StringIO()
    writer = csv.writer(made)
    writer.writerow(head)
    for row in rows:
        writer.writerow([_cell(each) for each in row])
    return made.getvalue()


def _row(one: SitePerson, view: SiteView) -> BoardPerson:
    share = min(1.0, one.samples / max(view.samples, 1))
    account = one.account.hex() if one.name else ""
    computers = sum(samples > 0 for samples in one.computers)
    return BoardPerson(one.rank, one.name, one.samples, share, one.epochs, one.reduced, account, computers)


def _cell(value: object) -> object:
    """A cell that no table program takes for a formula."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
