"""What stands at which address: words and numbers of a view, made into HTML, Atom, JSON and tables.

Every word of a stranger passes through Jinja's escaping, which is always on; no template says `safe`, and none makes a
link of anybody's words.  A name that a template misspells is an error, not an empty place.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import jinja2
import msgspec

import resources
from core.api.numbers import amount, volume
from core.api.site_view import SiteDay, SiteView
from core.site import exports
from core.site.charts import HEIGHT, PLOT, WIDTH, days_chart, loss_chart
from core.site.history import Account, PersonDay
from core.site.teams import NO_CHOICES, Choices
from core.site.try_model import TEXT_LETTERS_MAX, ModelWords

FOLDER: Final = "site"
HTML: Final = "text/html; charset=utf-8"
TEXT: Final = "text/plain; charset=utf-8"
JSON: Final = "application/json"
CSV: Final = "text/csv; charset=utf-8"
ATOM: Final = "application/atom+xml; charset=utf-8"
METRICS: Final = "text/plain; version=0.0.4; charset=utf-8"
ROWS: Final = 100
"""People on one page of the board."""
FIRST_ROWS: Final = 5
"""People on the front page."""
BLANKS_SHOWN: Final = 3
"""Blanks of a visitor's text whose words are shown."""
WATTS: Final = (50, 300)
"""What a computer draws more while it trains, by rule of thumb: a laptop's processor, a graphics card."""
PRICES: Final = (0.1, 0.4)
"""Price of a kilowatt hour at home by rule of thumb, in euros or US dollars, which is about the same."""


@dataclass(frozen=True, slots=True)
class Made:
    """What is answered: its bytes, type and status."""

    body: bytes
    kind: str
    """Its media type."""
    status: int = 200


@dataclass(frozen=True, slots=True)
class PageMatter:
    """What answers are made of.

    Attributes:
        view: What the backbone has sent last.
        digests: SHA-256 of copies in hex, by file, as far as known.
        served: Number of answers since the start, by status.
    """

    view: SiteView
    digests: Mapping[str, str]
    served: Mapping[int, int]
    sent_bytes: int = 0
    """What this page has sent since its start."""
    can_try: bool = False
    """Whether this computer can ask a model."""
    days: Sequence[PersonDay] | None = None
    """What the person gave whose page is made, the first day first; None: it is not written down."""
    choices: Choices = NO_CHOICES
    """Teams and their members."""


class Pages:
    """Makes what is read at each address."""

    def __init__(self) -> None:
        self.signs_in = False
        """Whether people sign in here; the owner of the pages may set it."""
        folder = resources.file(FOLDER, "base.html").parent
        self._files = {
            "/site.css": Made(resources.file(FOLDER, "site.css").read_bytes(), "text/css; charset=utf-8"),
            "/icon.svg": Made(resources.file("icons", "potluck.svg").read_bytes(), "image/svg+xml"),
            "/robots.txt": Made(b"User-agent: *\nDisallow: /model/\nDisallow: /m/\n", TEXT),
            "/openapi.json": Made(msgspec.json.encode(exports.openapi()), JSON),
        }
        self._templates = jinja2.Environment(
            loader=jinja2.FileSystemLoader(folder),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            auto_reload=False,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters |= {
            "amount": _amount,
            "volume": volume,
            "percent": _percent,
            "rough": lambda number: _amount(number, 0 if number >= 10 else 1),
            "moment": _moment,
            "iso": _iso,
        }
        self._templates.globals |= {"signs_in": lambda: self.signs_in, "width": WIDTH, "height": HEIGHT, "plot": PLOT}
        self._of_one: Mapping[str, Callable[[PageMatter, str], Made | None]] = {
            "/board": self._person,
            "/teams": self._team,
            f"{exports.API}/board": lambda shown, account: self._person(shown, account, as_json=True),
            f"{exports.API}/teams": lambda shown, number: self._team(shown, number, as_json=True),
        }
        self._made: Mapping[str, Callable[[PageMatter, int], Made]] = {
            "/": self._front,
            "/board": self._board,
            "/teams": lambda shown, _: self.page(
                "teams.html", shown, teams=exports.teams_of(shown.view, shown.choices)
            ),
            "/model": lambda shown, _: self.page(
                "model.html", shown, copies=exports.copies_of(shown.view, shown.digests)
            ),
            "/try": lambda shown, _: self.tried(shown),
            "/news": lambda shown, _: self.page("news.html", shown),
            "/news.atom": lambda shown, _: self.page("news.atom", shown, kind=ATOM),
            "/about": self._about,
            "/metrics": lambda shown, _: Made(_metrics(shown), METRICS),
            f"{exports.API}/collaboration": lambda shown, _: _json(exports.collaboration_of(shown.view)),
            f"{exports.API}/board": lambda shown, _: _json(exports.board_of(shown.view)),
            f"{exports.API}/teams": lambda shown, _: _json(exports.teams_of(shown.view, shown.choices)),
            f"{exports.API}/curve": lambda shown, _: _json(shown.view.curve),
            f"{exports.API}/days": lambda shown, _: _json(shown.view.days),
            f"{exports.API}/copies": lambda shown, _: _json(exports.copies_of(shown.view, shown.digests)),
            f"{exports.API}/notices": lambda shown, _: _json(shown.view.notices),
            f"{exports.API}/board.csv": lambda shown, _: Made(exports.board_table(shown.view).encode(), CSV),
            f"{exports.API}/days.csv": lambda shown, _: Made(exports.days_table(shown.view).encode(), CSV),
        }

    @property
    def paths(self) -> list[str]:
        """All addresses but those of copies and of one of several."""
        return [*self._files, *self._made]

    @property
    def several(self) -> list[str]:
        """Addresses behind each of which one of several is named."""
        return list(self._of_one)

    def account_in(self, path: str, view: SiteView) -> Account | None:
        """Whose page an address is; None: nobody's who is shown.

        Args:
            path: The address.
            view: What is shown.
        """
        several, _, account = path.rpartition("/")
        if several not in {"/board", f"{exports.API}/board"} or exports.person_of(view, account) is None:
            return None
        return bytes.fromhex(account)

    def made(self, path: str, shown: PageMatter, *, page: int = 1) -> Made | None:
        """What is read at an address; None: nothing is.

        Args:
            path: The address.
            shown: What it is made of.
            page: Which page of the board, from 1 to `board_pages`.
        """
        if path in self._files:
            return self._files[path]
        if path in self._made:
            return self._made[path](shown, page)
        several, _, one = path.rpartition("/")
        maker = self._of_one.get(several)
        return None if maker is None else maker(shown, one)

    def error(self, status: int, title: str, says: str, view: SiteView) -> Made:
        """A page that says why there is no other.

        Args:
            status: HTTP's.
            title: In a few words.
            says: What to do.
            view: What is shown.
        """
        shown = PageMatter(view, {}, {})
        return dataclasses.replace(self.page("error.html", shown, title=title, says=says), status=status)

    def tried(
        self, shown: PageMatter, asked: str = "", answer: ModelWords | None = None, problem: str = "", status: int = 200
    ) -> Made:
        """The page on which the model can be tried.

        Args:
            shown: What it is made of.
            asked: A visitor's text.
            answer: What the model says of it; None: nothing was asked, or there is a problem.
            problem: Why there is no answer, as a sentence.
            status: HTTP's.
        """
        can_try = shown.can_try and bool(shown.view.copies)
        said = {"can_try": can_try, "letters": TEXT_LETTERS_MAX, "blanks": BLANKS_SHOWN, "asked": asked}
        made = self.page("try.html", shown, answer=answer, problem=problem, said=said)
        return dataclasses.replace(made, status=status)

    def _front(self, shown: PageMatter, _: int) -> Made:
        view = shown.view
        today = _date(view.at).date().isoformat()
        charts = [loss_chart(view.curve), days_chart(view.days, today)]
        first = exports.board_of(view, 0, FIRST_ROWS)
        return self.page("front.html", shown, charts=charts, people=first)

    def _board(self, shown: PageMatter, page: int) -> Made:
        pages = board_pages(shown.view)
        rows = exports.board_of(shown.view, (page - 1) * ROWS, page * ROWS)
        return self.page("board.html", shown, people=rows, page=page, pages=pages)

    def _person(self, shown: PageMatter, account: str, *, as_json: bool = False) -> Made | None:
        person = exports.person_of(shown.view, account)
        if person is None:
            return None
        days, team = tuple(shown.days or ()), shown.choices.team_of.get(bytes.fromhex(account))
        if as_json:
            return _json(exports.PublicPerson(**msgspec.structs.asdict(person), team=team, days=days))
        dated, today = [SiteDay(row.day, row.samples) for row in days if row.day], _date(shown.view.at).date()
        chart = days_chart(dated, today.isoformat()) if any(day.samples for day in dated) else None
        undone = sum(row.undone for row in days)
        of = None if team is None else shown.choices.teams.get(team)
        return self.page("person.html", shown, person=person, chart=chart, undone=undone, team=of)

    def _team(self, shown: PageMatter, number: str, *, as_json: bool = False) -> Made | None:
        team = next((one for one in exports.teams_of(shown.view, shown.choices) if str(one.number) == number), None)
        if team is None:
            return None
        members = tuple(exports.members_of(shown.view, shown.choices, team.number))
        if as_json:
            return _json(exports.PublicTeamAndPeople(**msgspec.structs.asdict(team), members=members))
        return self.page("team.html", shown, team=team, people=members[:ROWS])

    def _about(self, shown: PageMatter, _: int) -> Made:
        days = shown.view.days
        hours = sum(day.computer_hours for day in days)
        traffic = sum(day.traffic_bytes for day in days)
        energy = [hours * watts / 1000 for watts in WATTS]
        rules = {"watts": WATTS, "prices": PRICES, "traffic": traffic, "sent": shown.sent_bytes}
        cost = [kwh * price for kwh, price in zip(energy, PRICES, strict=True)]
        return self.page("about.html", shown, hours=hours, energy=energy, cost=cost, rules=rules)

    def page(self, template: str, shown: PageMatter, *, kind: str = HTML, **more: Any) -> Made:
        """A page of a template.

        Args:
            template: Its file.
            shown: What it is made of.
            kind: Its media type.
            more: Further words and numbers.
        """
        here = template.partition(".")[0]
        text = self._templates.get_template(template).render(v=shown.view, here=here, **more)
        return Made(text.encode("utf-8", "replace"), kind)


def board_pages(view: SiteView) -> int:
    """Number of pages of the board."""
    return max(1, -(-len(view.people) // ROWS))


def _metrics(shown: PageMatter) -> bytes:
    return exports.metrics(shown.view, shown.served, shown.sent_bytes).encode()


def _json(value: object) -> Made:
    return Made(msgspec.json.encode(value), JSON)


def _amount(number: float, decimals: int = 0) -> str:
    """A number with narrow spaces that no line breaks at."""
    return amount(number, decimals=decimals).replace(" ", "\u202f")


def _percent(share: float) -> str:
    """A share as people read it; what is not nothing does not look so."""
    return "< 0.1\u202f%" if 0 < share < 0.0005 else f"{100 * share:.1f}\u202f%"


def _date(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)


def _moment(at: float) -> str:
    """A moment as people read it, in UTC."""
    when = _date(at)
    return f"{when.day} {when:%b %Y, %H:%M} UTC"


def _iso(at: float) -> str:
    return f"{_date(at):%Y-%m-%dT%H:%M:%SZ}"
