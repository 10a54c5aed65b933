"""The tables: who is here, the leaderboard, and people as moderators see them."""

from PySide6.QtCore import QObject

from app.models.keyed_table import Column, KeyedTable
from app.words import text
from core.api.moderation import PersonView
from core.api.snapshot import BACKBONE, Activity, LeaderboardRow, PeerView

ACTIVITY_ICONS = frozenset(
    ("starting", "joining", "waiting", "catching_up", "training", "averaging", "paused", "finished", "problem")
)


def peers_table(parent: QObject | None = None) -> KeyedTable[PeerView]:
    """Make the table of the peers that are here."""
    tr = text.tr
    return KeyedTable[PeerView](
        [
            Column(title=tr("Name"), show=_peer_name, icon=_role_icon, explain=_peer_whole),
            Column(title=tr("Doing"), show=lambda row: text.activity(row.activity), icon=_peer_icon, letters=14),
            Column(title=tr("Samples/s"), show=_peer_speed, numeric=True, letters=10),
            Column(title=tr("Role"), show=lambda row: text.role(row.role), letters=10),
        ],
        key=lambda row: (row.peer, row.role, row.is_me),
        mine=lambda row: row.is_me,
        parent=parent,
    )


def leaderboard_table(parent: QObject | None = None) -> KeyedTable[LeaderboardRow]:
    """Make the table of all peers' contributions."""
    tr = text.tr
    return KeyedTable[LeaderboardRow](
        [
            Column(title=tr("Rank"), show=lambda row: text.count(row.rank), numeric=True, letters=6),
            Column(title=tr("Name"), show=_standing_name, explain=_standing_whole, letters=24),
            Column(title=tr("Samples"), show=lambda row: text.count(row.samples), numeric=True, letters=14),
            Column(title=tr("Share"), show=lambda row: text.percent(row.share), numeric=True, letters=8),
            Column(title=tr("Last 7 days"), show=_week, numeric=True, bar=lambda row: row.week),
        ],
        key=lambda row: (row.peer, row.is_me),
        mine=lambda row: row.is_me,
        parent=parent,
    )


def people_table(parent: QObject | None = None) -> KeyedTable[PersonView]:
    """Make the table of people, with what their parts were like where this computer averaged them."""
    tr = text.tr
    return KeyedTable[PersonView](
        [
            Column(title=tr("Name"), show=_person_name, explain=_person_whole, letters=18),
            Column(title=tr("Norm"), show=lambda row: _of_parts(row, "ratio"), numeric=True, letters=7),
            Column(title=tr("Cosine"), show=lambda row: _of_parts(row, "cosine"), numeric=True, letters=8),
            Column(title=tr("Samples"), show=lambda row: text.count(row.samples), numeric=True, letters=11),
            Column(title=tr("Seen in"), show=_person_seen),
        ],
        key=lambda row: row.key,
        mine=lambda _: False,
        parent=parent,
    )


def _person_name(row: PersonView) -> str:
    return text.tr("{name} (shut out)", row.name) if row.shut_out else row.name


def _of_parts(row: PersonView, field: str) -> str:
    return text.NOTHING if row.parts is None else text.decimal(f"{getattr(row.parts, field):.2f}")


def _person_seen(row: PersonView) -> str:
    if row.parts is None:
        return text.NOTHING
    return text.tr("{share} of the numbers, {rounds} rounds").format(
        share=text.percent(row.parts.numbers), rounds=text.count(row.parts.rounds)
    )


def _person_whole(row: PersonView) -> str:
    said = text.tr("{name}, key {key}, {computers} computers, {share} of all samples").format(
        name=_person_name(row), key=row.key[:8], computers=text.count(row.computers), share=text.percent(row.share)
    )
    if row.parts is None:
        return said
    parts = text.tr("parts clipped: {clipped}; dropped: {dropped}").format(
        clipped=text.percent(row.parts.clipped), dropped=text.count(row.parts.dropped)
    )
    return f"{said}; {parts}"


def _peer_name(row: PeerView) -> str:
    return text.name(row.name, row.peer, row.is_me)


def _peer_whole(row: PeerView) -> str:
    sentence = text.tr("{name}, {role}, peer {peer}, at step {epoch}, {samples} samples in this one")
    return sentence.format(
        name=_peer_name(row),
        role=text.role(row.role),
        peer=row.peer,
        epoch=text.count(row.epoch),
        samples=text.count(row.samples_pending),
    )


def _peer_speed(row: PeerView) -> str:
    return text.NOTHING if row.role == BACKBONE or row.samples_per_s == 0 else text.per_second(row.samples_per_s)


def _role_icon(row: PeerView) -> str:
    return "backbone" if row.role == BACKBONE else "volunteer"


def _peer_icon(row: PeerView) -> str:
    if row.activity == Activity.HELPING:
        return "averaging"
    return row.activity if row.activity in ACTIVITY_ICONS else "waiting"


def _standing_name(row: LeaderboardRow) -> str:
    named = text.name(row.name, row.peer, row.is_me)
    return text.tr("{name} (shut out)", named) if row.revoked else named


def _standing_whole(row: LeaderboardRow) -> str:
    sentence = text.tr("{name}, peer {peer}, part of {epochs} steps")
    parts = [sentence.format(name=_standing_name(row), peer=row.peer, epochs=text.count(row.epochs))]
    if row.rounds:
        averaged = text.tr("averaged {numbers} numbers for everybody in {rounds} rounds")
        parts.append(averaged.format(numbers=text.count(row.reduced), rounds=text.count(row.rounds)))
    if row.relayed_bytes:
        passed_on = text.tr("passed on {size} for computers that cannot be called")
        parts.append(passed_on.format(size=text.size(row.relayed_bytes)))
    return ", ".join(parts)


def _week(row: LeaderboardRow) -> str:
    return text.percent(row.week) if row.week else text.NOTHING
