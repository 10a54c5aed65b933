"""What stands at which address: words and numbers of a view, made into HTML, Atom, JSON and tables.

Every word of a stranger passes through Jinja's escaping, which is always on; no template says `safe`, and none makes a
link of anybody's words.  A name that a template misspells is an error, not an empty place.
"""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import jinja2
import msgspec

import resources
from core.api.numbers import amount, volume
from core.api.site_view import SiteView
from core.site import exports
from core.site.charts import HEIGHT, PLOT, WIDTH, days_chart, loss_chart

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
WATTS: Final = (50, 300)
"""What a computer draws more while it trains, by rule of thumb: a laptop's processor, a graphics card."""


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


class Pages:
    """Makes what is read at each address."""

    def __init__(self) -> None:
        folder = resources.file(FOLDER, "base.html").parent
        self._files = {
            "/site.css": Made(resources.file(FOLDER, "site.css").read_bytes(), "text/css; charset=utf-8"),
            "/icon.svg": Made(resources.file("icons", "potluck.svg").read_bytes(), "image/svg+xml"),
            "/robots.txt": Made(b"User-agent: *\nDisallow: /model/\n", TEXT),
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
            "moment": _moment,
            "iso": _iso,
        }
        self._templates.globals |= {"width": WIDTH, "height": HEIGHT, "plot": PLOT}
        self._made: Mapping[str, Callable[[PageMatter, int], Made]] = {
            "/": self._front,
            "/board": self._board,
            "/model": lambda shown, _: self._page(
                "model.html", shown, copies=exports.copies_of(shown.view, shown.digests)
            ),
            "/news": lambda shown, _: self._page("news.html", shown),
            "/news.atom": lambda shown, _: self._page("news.atom", shown, kind=ATOM),
            "/about": self._about,
            "/metrics": lambda shown, _: Made(exports.metrics(shown.view, shown.served).encode(), METRICS),
            f"{exports.API}/collaboration": lambda shown, _: _json(exports.collaboration_of(shown.view)),
            f"{exports.API}/board": lambda shown, _: _json(exports.board_of(shown.view)),
            f"{exports.API}/curve": lambda shown, _: _json(shown.view.curve),
            f"{exports.API}/days": lambda shown, _: _json(shown.view.days),
            f"{exports.API}/copies": lambda shown, _: _json(exports.copies_of(shown.view, shown.digests)),
            f"{exports.API}/notices": lambda shown, _: _json(shown.view.notices),
            f"{exports.API}/board.csv": lambda shown, _: Made(exports.board_table(shown.view).encode(), CSV),
            f"{exports.API}/days.csv": lambda shown, _: Made(exports.days_table(shown.view).encode(), CSV),
        }

    @property
    def paths(self) -> list[str]:
        """All addresses but those of copies."""
        return [*self._files, *self._made]

    def made(self, path: str, shown: PageMatter, *, page: int = 1) -> Made | None:
        """What is read at an address; None: nothing is.

        Args:
            path: The address.
            shown: What it is made of.
            page: Which page of the board, from 1 on.
        """
        if path in self._files:
            return self._files[path]
        maker = self._made.get(path)
        return None if maker is None else maker(shown, page)

    def error(self, status: int, title: str, says: str, view: SiteView) -> Made:
        """A page that says why there is no other.

        Args:
            status: HTTP's.
            title: In a few words.
            says: What to do.
            view: What is shown.
        """
        shown = PageMatter(view, {}, {})
        return dataclasses.replace(self._page("error.html", shown, title=title, says=says), status=status)

    def _front(self, shown: PageMatter, _: int) -> Made:
        view = shown.view
        today = _date(view.at).date().isoformat()
        charts = [loss_chart(view.curve), days_chart(view.days, today)]
        first = exports.board_of(view)[:FIRST_ROWS]
        return self._page("front.html", shown, charts=charts, people=first)

    def _board(self, shown: PageMatter, page: int) -> Made:
        people = exports.board_of(shown.view)
        pages = max(1, -(-len(people) // ROWS))
        page = min(max(page, 1), pages)
        rows = people[(page - 1) * ROWS : page * ROWS]
        return self._page("board.html", shown, people=rows, page=page, pages=pages)

    def _about(self, shown: PageMatter, _: int) -> Made:
        hours = sum(day.computer_hours for day in shown.view.days)
        energy = [hours * watts / 1000 for watts in WATTS]
        return self._page("about.html", shown, hours=hours, watts=WATTS, energy=energy)

    def _page(self, template: str, shown: PageMatter, *, kind: str = HTML, **more: Any) -> Made:
        here = template.partition(".")[0]
        text = self._templates.get_template(template).render(v=shown.view, here=here, **more)
        return Made(text.encode("utf-8", "replace"), kind)


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
