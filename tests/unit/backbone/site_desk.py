"""A charter with people, as the page of its collaboration is told of it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from core.api.site_view import LENGTH_BYTES, VIEW_BYTES_MAX, SiteView
from core.api.snapshot import CurvePoint
from core.authority.changes import new_decisions
from core.authority.records import AuthorityRecords
from core.backbone import charter as charters
from core.backbone.account_desk import AccountDesk
from core.backbone.admission_log import AdmissionLog, Newcomer
from core.backbone.desk_messages import CollaborationNow
from core.backbone.moderators.moderator_desk import ModeratorDesk
from core.backbone.people import People
from core.backbone.remembered import Ports, write_ports
from core.backbone.site_facts import SiteFacts, SiteSources
from core.backbone.ways.tickets import Tickets
from core.base.ids import PeerId
from core.base.manifest import Manifest
from core.ledger.ledger import Ledger, LedgerRow

NOW = 1_795_676_400.0


def key(number: int) -> PeerId:
    return PeerId((number + 1).to_bytes(32, "big"))


@dataclass
class Desk:
    """A charter with who was let in, and its page."""

    charter: charters.Charter
    log: AdmissionLog
    people: People
    authority: AuthorityRecords
    facts: SiteFacts
    tickets: Tickets
    moderators: ModeratorDesk

    def view(self, now: float = NOW) -> SiteView:
        data = self.facts.frame(now)
        assert int.from_bytes(data[:LENGTH_BYTES], "big") == len(data) - LENGTH_BYTES <= VIEW_BYTES_MAX
        return msgspec.msgpack.decode(data[LENGTH_BYTES:], type=SiteView)

    def gave(self, samples: dict[PeerId, int], epoch: int = 1, points: tuple[CurvePoint, ...] = ()) -> None:
        rows = {peer: LedgerRow(count, 1, 1, 0) for peer, count in samples.items()}
        self.people.board.hold(Ledger(rows, points).to_bytes(), epoch)

    def decide(self, **changes: Any) -> None:
        self.authority.take(new_decisions(self.authority, self.charter.authority, NOW, **changes), NOW)


def desk(folder: Path, *names: str, **changes: Any) -> Desk:
    authority = charters.new_authority()
    fields = {"name": "Letters", "organiser": "Ada", "task": "gpt", "target_samples": 8, **changes}
    charter = charters.found(folder / "charter", Manifest(authority=authority.peer_id.hex(), **fields), authority)
    write_ports(charter.folder, Ports(40_001, 40_002, "potluck.example.org", ("10.0.0.1",)))
    log = AdmissionLog(charter.folder)
    for number, name in enumerate(("Backbone", *names)):
        log.enter(Newcomer(key(number), name), invitation="abc" if number else "", now=NOW)
    people = People(charter, log)
    records = AuthorityRecords(charter.manifest.authority_id, charter.manifest.id)
    kept = charters.CharterRecords(charter)
    tickets = Tickets(log, kept, AccountDesk(charter, log, kept, lambda: PeerId(bytes(32))))
    moderators = ModeratorDesk(charter, kept, lambda: PeerId(bytes(32)))
    moderators.pages.people = people
    here = CollaborationNow(3, 12.5, 7)
    sources = SiteSources(charter, people, records, lambda: here, tickets, moderators.pages)
    return Desk(charter, log, people, records, SiteFacts(sources), tickets, moderators)
