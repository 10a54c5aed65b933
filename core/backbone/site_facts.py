"""What a backbone tells the page of its collaboration: what it knows anyway, without keys and addresses of people."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from core.api.site_view import (
    COMPUTERS_MAX,
    COPIES_MAX,
    CURVE_MAX,
    LENGTH_BYTES,
    LINK_LETTERS,
    MOMENT_MAX,
    NAME_LETTERS,
    PEOPLE_MAX,
    VIEW_BYTES_MAX,
    WORDS_LETTERS,
    SiteCopy,
    SiteEnd,
    SiteNotice,
    SitePerson,
    SiteText,
    SiteView,
)
from core.authority.decisions import Decisions, EndState
from core.authority.records import AuthorityRecords
from core.backbone.charter import Charter
from core.backbone.desk_messages import CollaborationNow
from core.backbone.kept_states import STATES, kept_copies, losses_of
from core.backbone.link import link_to
from core.backbone.moderators.moderator_desk import PageDesk
from core.backbone.people import People
from core.backbone.remembered import read_ports
from core.backbone.ways.tickets import Tickets
from core.base.data_source import MEMBERS, PYTHON_DOCS, DataSource
from core.base.ids import PeerId, short
from core.base.names import BACKBONE_NAME
from core.base.problems import printable
from core.base.site.channel import DeskAct, DeskAnswer, DeskAsk
from core.base.site.ways import WaysIn
from core.base.tasks import BLANKS
from core.ledger.credits import COUNT_MAX, OTHERS
from core.ledger.ledger import Ledger, LedgerRow
from core.ledger.site_days import SiteDays
from core.system.child_process import own_command, trains


@dataclass(frozen=True, slots=True)
class SiteSources:
    """Where a backbone looks for what its page shows.

    Attributes:
        charter: The collaboration.
        people: Names, and who gave how much.
        authority: What moderators have said.
        here: Tells what goes on.
        tickets: Let in who has signed in at the page.
        moderators: Answers the page about moderators.
        traffic: Tells how many bytes this backbone has sent and received since its start.
    """

    charter: Charter
    people: People
    authority: AuthorityRecords
    here: Callable[[], CollaborationNow]
    tickets: Tickets
    moderators: PageDesk
    traffic: Callable[[], int] = lambda: 0


class SiteFacts:
    """Makes views of a collaboration.

    Args:
        sources: Where it looks.
    """

    def __init__(self, sources: SiteSources) -> None:
        self._sources = sources
        self._folder = sources.charter.folder
        self._days = SiteDays(self._folder)
        self._people: tuple[SitePerson, ...] = ()
        self._samples = 0
        self._seen: tuple[Ledger, int, frozenset[PeerId]] | None = None
        """From what `people` was made."""
        ports = read_ports(self._folder)
        link = link_to(ports.hosts or ("127.0.0.1",), ports.desk, sources.charter.manifest.id, "")
        self._link = str(link).removesuffix("#")

    @property
    def folder(self) -> Path:
        """The charter's folder, in which the page's database lies."""
        return self._folder

    @property
    def copies(self) -> Path:
        """The folder of copies of the model."""
        return self._folder / STATES

    @property
    def model_command(self) -> list[str]:
        """What asks a copy of the model, up to the copy; empty: this computer lacks what loads one."""
        if not trains():
            return []
        charter = self._sources.charter
        where = ("--manifest", str(charter.manifest_path), "--blobs", str(charter.blobs))
        return [*own_command("use-model", "core.training.programs.use"), *where]

    def opened(self, ways: WaysIn | None) -> None:
        """Tell where people sign in from now on.

        Args:
            ways: Of the page; None: nobody signs in.
        """
        self._sources.tickets.site = "" if ways is None or not ways.told else ways.address
        self._sources.tickets.page = self._sources.moderators.address = "" if ways is None else ways.address

    async def answer(self, ask: DeskAsk, now: float) -> DeskAnswer:
        """Answer the page.

        Args:
            ask: As it came.
            now: Unix seconds.
        """
        of_people = ask.act in {DeskAct.TICKET, DeskAct.DEVICES, DeskAct.END}
        return await (self._sources.tickets if of_people else self._sources.moderators).answer(ask, now)

    def close(self) -> None:
        """Write down what the days came to."""
        self._days.save()

    def frame(self, now: float) -> bytes:
        """The view of this moment, behind its length, as the page's process reads it.

        Args:
            now: Unix seconds.
        """
        view = self._view(now)
        data = msgspec.msgpack.encode(view)
        while len(data) > VIEW_BYTES_MAX and view.people:
            view = msgspec.structs.replace(view, people=view.people[: len(view.people) // 2])
            data = msgspec.msgpack.encode(view)
        return len(data).to_bytes(LENGTH_BYTES, "big") + data

    def _view(self, now: float) -> SiteView:
        manifest, records, here = self._sources.charter.manifest, self._sources.authority, self._sources.here()
        copies = self._copies()
        self._count(copies, now)
        self._days.looked(here.computers, now, self._sources.traffic())
        return SiteView(
            at=now,
            id=manifest.id.hex(),
            name=_shown(manifest.name),
            summary=_shown(manifest.summary, WORDS_LETTERS),
            organiser=_shown(manifest.organiser_named.get("organiser", "")),
            fills_blanks=manifest.task in BLANKS,
            moderators=tuple(_shown(one.name) for one in records.roles.moderators),
            threshold=records.roles.threshold,
            open_to_newcomers=records.decisions.lets_in,
            link=self._link,
            computers=here.computers,
            samples_per_s=here.samples_per_s,
            epoch=here.epoch,
            last_epoch=manifest.last_epoch,
            target_samples=manifest.target_samples,
            samples=self._samples,
            origin=self._sources.people.origin.hex(),
            curve=tuple(self._sources.people.board.curve[-CURVE_MAX:]),
            people=self._people,
            days=self._days.days,
            copies=copies,
            notices=tuple(
                SiteNotice(_moment(one.at), _moment(one.until), _shown(one.words, WORDS_LETTERS))
                for one in sorted(records.decisions.notices, key=lambda one: one.at, reverse=True)
                if now < one.until
            ),
            end=_end(records.decisions),
            texts=tuple(map(_text, manifest.sources)),
        )

    def _count(self, copies: tuple[SiteCopy, ...], now: float) -> None:
        """Make the board anew where another copy, another name or another decision has come."""
        of, board, log = self._sources, self._sources.people.board, self._sources.people.log
        shut_out = of.authority.shut_out(now)
        seen = (board.ledger, len(log.lines), shut_out)
        if self._seen is not None and seen[0] is self._seen[0] and seen[1:] == self._seen[1:]:
            return
        if self._seen is None or board.ledger is not self._seen[0]:
            self._samples = min(sum(row.samples for row in board.ledger.rows.values()), COUNT_MAX)
            self._days.counted(self._samples, copies[0].epoch if copies else 0, now)
        self._seen = seen
        self._people = tuple(self._ranked(shut_out | log.revocations.keys.keys()))

    def _ranked(self, shut_out: Collection[PeerId]) -> Iterator[SitePerson]:
        """People with counted samples, each with all their computers, who gave most first; equal ones share a rank."""
        log, rows, given = self._sources.people.log, self._sources.people.board.ledger.rows, dict[PeerId, LedgerRow]()
        for peer, row in rows.items():
            first = next(iter(log.accounts.keys(log.accounts.of(peer))), peer)
            given[first] = given.get(first, LedgerRow()) + row
        backbones = {OTHERS, *log.keys_of(BACKBONE_NAME)}
        counted = [(peer, row) for peer, row in given.items() if row.samples and peer not in backbones]
        rank, before = 0, -1
        ordered = sorted(counted, key=lambda one: (-one[1].samples, -one[1].reduced, one[0]))
        for place, (peer, row) in enumerate(ordered[:PEOPLE_MAX], start=1):
            if row.samples != before:
                rank, before = place, row.samples
            account = log.accounts.of(peer)
            name = "" if log.accounts.among(account, shut_out) else _shown(log.name_of(peer) or short(peer))
            keys = log.accounts.keys(account)[:COMPUTERS_MAX] or (peer,)
            computers = tuple(rows[key].samples if key in rows else 0 for key in keys)
            yield SitePerson(rank, name, row.samples, row.epochs, row.reduced, account, computers)

    def _copies(self) -> tuple[SiteCopy, ...]:
        """The copies that lie in the charter, the last one first."""
        losses: Mapping[int, float] = losses_of(self.copies)
        found = []
        for copy in reversed(kept_copies(self.copies)[-COPIES_MAX:]):
            try:
                stat = copy.path.stat()
            except OSError:
                continue  # a newer one has just taken its place
            loss = losses.get(copy.number)
            found.append(SiteCopy(copy.number, copy.epoch, stat.st_mtime, stat.st_size, loss, copy.path.name))
        return tuple(found)


def _end(decided: Decisions) -> SiteEnd | None:
    if (end := decided.end) is None:
        return None
    words, link = _shown(end.words, WORDS_LETTERS), _shown(end.successor, LINK_LETTERS)
    return SiteEnd(_moment(decided.number), end.state is EndState.PAUSED, words, link)


def _moment(second: int) -> float:
    """A second that moderators name, who may name any, as a page shows it."""
    return min(float(second), MOMENT_MAX)


def _text(source: DataSource) -> SiteText:
    """A source of text, without the path of anybody's folder."""
    if source.address == PYTHON_DOCS:
        name = "The documentation that comes with Python"
    elif source.address == MEMBERS or source.path:
        name = "Texts that the organiser has collected"
    else:
        name = source.address
    return SiteText(_shown(name), _shown(source.licence, 200), _shown(source.credit, WORDS_LETTERS))


def _shown(text: str, letters: int = NAME_LETTERS) -> str:
    """Words of a stranger without what could turn the direction of a line or break a document, and not too long."""
    kept = printable(text)
    return kept if len(kept) <= letters else f"{kept[: letters - 1]}…"
