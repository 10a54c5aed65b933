"""What moderators did stands in a chain, and a moderator's computer notices another past."""

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest

from core.authority.audit import AuditLine
from core.authority.changes import banned, new_holds
from core.authority.holds import HeldPerson
from core.backbone.admission_log import Newcomer
from core.backbone.desk_messages import AUDIT_LINES_MAX
from core.backbone.invitations import Invitation, new_invitation
from core.backbone.moderators import audit_log
from core.backbone.moderators.audit_log import ACTOR_DAILY, AUDIT, AuditHeads, AuditLog, AuditWatch
from core.base.ids import PeerId, account_of, short
from core.system.atomic_files import append_synced
from tests.unit.backbone.site_desk import NOW, Desk, desk, key

DESK = PeerId(bytes(32))
MANIFEST = bytes(32)


def watch(of: Desk, invitations: Callable[[], Sequence[Invitation]] = tuple) -> AuditWatch:
    log = AuditLog(of.charter.folder, of.charter.manifest.id)
    return AuditWatch(log, of.authority, of.log, invitations)


def said(of: AuditWatch) -> list[tuple[str, str, str]]:
    return [(line.actor, line.act, line.words) for line in of.log.after(0)]


def test_what_holds_and_what_one_did_alone_is_written_once(tmp_path: Path) -> None:
    of = desk(tmp_path, "Ada", "Eve")
    invitation, made = new_invitation(uses_max=3), list[Invitation]()
    watched = watch(of, lambda: made)
    made.append(invitation)
    of.decide(**banned(of.authority.decisions, [key(2)], NOW), words="noise")
    watched.look(NOW)
    held = [HeldPerson(key(1), int(NOW) + 900, "asks too much")]
    of.authority.take(new_holds(of.authority, of.charter.authority, NOW, hold=held, release=[key(1)]), NOW)
    of.log.enter(Newcomer(key(7), "", device="laptop"), invitation="", now=NOW, account=account_of(key(1)))
    of.log.end(key(7), by=key(1), now=NOW)
    made.clear()
    watched.look(NOW)
    lines = [
        ("the founder", "decisions", "shuts out Eve (noise)"),
        ("the server", "invitation made", "3 computers"),
        ("the founder", "holds", "Ada asks too much"),
        ("the server", "invitation withdrawn", ""),
        (f"Ada ({short(key(7))})", "computer ended", ""),
    ]
    assert said(watched) == lines
    again = watch(of, lambda: made)
    again.look(NOW + 60)
    assert said(again) == lines, "a backbone that starts again writes nothing twice"
    assert again.log.broken is None


def test_many_ended_computers_are_written_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of, written = desk(tmp_path), list[bytes]()
    watched = watch(of)
    watched.look(NOW)
    for letter in b"abc":
        ended = PeerId(bytes([letter]) * 32)
        of.log.enter(Newcomer(ended, chr(letter)), invitation="", now=NOW)
        of.log.end(ended, by=ended, now=NOW)

    def append(path: Path, data: bytes) -> None:
        written.append(data)
        append_synced(path, data)

    monkeypatch.setattr(audit_log, "append_synced", append)
    watched.look(NOW)
    assert len(written) == 1
    assert len(said(watched)) == 3
    assert watch(of).log.broken is None


def test_no_moderator_fills_the_chain(tmp_path: Path) -> None:
    log = AuditLog(tmp_path, MANIFEST)
    for number in range(ACTOR_DAILY + 50):
        log.append("Eve", "holds", str(number), words="\x1b[2J" * 400, now=NOW)
    log.append("Ada", "decisions", "one", now=NOW)
    assert log.count == ACTOR_DAILY + 1
    assert len(log.after(0)) == AUDIT_LINES_MAX
    assert all(len(line.words) <= 500 and "\x1b" not in line.words for line in log.after(0))
    log.append("Eve", "holds", "tomorrow", now=NOW + 86_400)
    assert log.count == ACTOR_DAILY + 2


def kept(folder: Path, count: int, *, changed: int = 0) -> list[AuditLine]:
    """A chain that is whole in itself, whose line `changed` says something else."""
    (folder / AUDIT).unlink(missing_ok=True)
    log = AuditLog(folder, MANIFEST)
    for number in range(1, count + 1):
        log.append("Ada", "decisions", str(number), words="another" if number == changed else "", now=NOW)
    assert AuditLog(folder, MANIFEST).broken is None
    return log.after(0)


@pytest.mark.parametrize(
    ("count", "changed", "found"), [(8, 0, None), (12, 0, None), (8, 3, 8), (12, 8, 8), (12, 9, None), (5, 0, 8)]
)
def test_rewritten_past_is_noticed_by_who_saw_it(tmp_path: Path, count: int, changed: int, found: int | None) -> None:
    """The keeper of the chain writes all of it anew, from the changed line on, or without the last ones."""
    path = tmp_path / "heads.json"
    lines = kept(tmp_path, 8)
    heads = AuditHeads(path, MANIFEST)
    assert heads.first_changed(DESK, lines, 8) is None
    heads.remember(DESK, lines, NOW)
    lines = kept(tmp_path, count, changed=changed)
    assert AuditHeads(path, MANIFEST).first_changed(DESK, lines, count) == found
    assert AuditHeads(path, MANIFEST).first_changed(PeerId(b"1" * 32), lines, count) is None, "another backbone's"


def test_line_that_is_changed_alone_breaks_the_chain(tmp_path: Path) -> None:
    lines = kept(tmp_path, 4)
    lines[1] = msgspec.structs.replace(lines[1], actor="Ben")
    (tmp_path / AUDIT).write_bytes(b"\n".join(map(msgspec.json.encode, lines)))
    assert AuditLog(tmp_path, MANIFEST).broken == 3
    assert AuditHeads(tmp_path / "heads.json", MANIFEST).first_changed(DESK, lines, 4) == 3
    assert AuditHeads(tmp_path / "heads.json", MANIFEST).first_changed(DESK, kept(tmp_path, 4)[:3], 4) == 4
    assert AuditHeads(tmp_path / "heads.json", b"1" * 32).first_changed(DESK, kept(tmp_path, 4), 4) == 1


def test_half_a_line_is_passed_over(tmp_path: Path) -> None:
    whole = kept(tmp_path, 3)
    with (tmp_path / AUDIT).open("ab") as file:
        file.write(b'\n{"n":4,"at"')
    log = AuditLog(tmp_path, MANIFEST)
    log.append("Ada", "decisions", "4", now=NOW)
    assert [line.n for line in AuditLog(tmp_path, MANIFEST).after(0)] == [1, 2, 3, 4]
    assert AuditLog(tmp_path, MANIFEST).broken is None
    assert log.after(0)[:3] == whole
