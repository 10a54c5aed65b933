"""What the page is told follows from what the backbone knows, and fits its frame."""

from pathlib import Path

import msgspec

from core.api.site_view import PEOPLE_MAX, SiteEnd, SitePerson
from core.api.snapshot import CurvePoint
from core.authority.decisions import Announcement, End, EndState, Newcomers
from core.backbone.admission_log import ADMITTED, AdmissionLog, Admitted, Newcomer
from core.backbone.kept_states import STATES, note_loss
from core.base.data_source import DataSource
from core.base.ids import short
from core.base.names import BACKBONE_NAME
from core.base.state_header import state_file_name
from core.ledger.credits import OTHERS
from tests.unit.backbone.site_desk import NOW, desk, key


def test_new_collaboration_has_nothing_but_its_name(tmp_path: Path) -> None:
    shown = desk(tmp_path, "Ada").view()
    assert (shown.name, shown.organiser, shown.moderators, shown.threshold) == ("Letters", "Ada", ("the founder",), 1)
    assert (shown.computers, shown.samples_per_s, shown.epoch) == (3, 12.5, 7)
    assert (shown.people, shown.copies, shown.curve, shown.notices) == ((), (), (), ())
    assert shown.link.startswith("potluck://potluck.example.org:40002/")
    assert shown.link.endswith("?also=10.0.0.1:40002")
    assert shown.open_to_newcomers


def test_name_is_shown_after_the_first_counted_sample(tmp_path: Path) -> None:
    here = desk(tmp_path, "Ada", "Ben")
    assert here.view().people == ()
    here.gave({key(0): 9, key(1): 30, key(2): 0, OTHERS: 5, key(77): 6})
    shown = here.view()
    assert shown.people[0] == SitePerson(1, "Ada", 30, 1, 0, here.log.accounts.of(key(1)), (30,))
    assert len(shown.people) == 2
    assert (shown.samples, shown.people[1].samples) == (50, 6)


def test_who_is_shut_out_is_not_named(tmp_path: Path) -> None:
    here = desk(tmp_path, "Ada", "Ben")
    here.gave({key(1): 30, key(2): 20})
    assert [one.name for one in here.view().people] == ["Ada", "Ben"]
    here.decide(revoked=(key(1),))
    assert [one.name for one in here.view().people] == ["", "Ben"]


def test_person_has_one_row_for_all_computers(tmp_path: Path) -> None:
    here = desk(tmp_path, "Ada", "Ben")
    account = here.log.accounts.of(key(1))
    here.log.enter(Newcomer(key(3), "Ada"), invitation="", now=NOW, account=account)
    here.gave({key(1): 30, key(2): 40, key(3): 20})
    assert [(one.rank, one.name, one.samples) for one in here.view().people] == [(1, "Ada", 50), (2, "Ben", 40)]
    assert [(one.account, one.computers) for one in here.view().people] == [
        (account, (30, 20)),
        (here.log.accounts.of(key(2)), (40,)),
    ]
    here.decide(revoked=(key(3), key(1)))
    assert [(one.rank, one.name, one.samples) for one in here.view().people] == [(1, "", 50), (2, "Ben", 40)]


def test_name_goes_with_the_account_that_is_taken_out(tmp_path: Path) -> None:
    here = desk(tmp_path, "Ada")
    here.gave({key(1): 30})
    assert [one.name for one in here.view().people] == ["Ada"]
    here.log.end(key(1), by=key(1), now=NOW, nameless=True)
    assert [one.name for one in here.view().people] == [short(key(1))]


def test_members_of_the_collaboration_before_are_shown(tmp_path: Path) -> None:
    """`potluck found --go-on` lets them in without an invitation."""
    here = desk(tmp_path)
    here.log.enter(Newcomer(key(5), "Ada"), invitation="", now=NOW)
    here.gave({key(0): 9, key(5): 30})
    assert [one.name for one in here.view().people] == ["Ada"]


def test_words_of_moderators_are_shown_until_they_end(tmp_path: Path) -> None:
    here = desk(tmp_path)
    said = [
        Announcement(int(NOW) - at, int(NOW) + 10 * at, words) for at, words in ((60, "first"), (30, "then\x00\u202e"))
    ]
    here.decide(notices=tuple(said), newcomers=Newcomers.CLOSED)
    shown = here.view()
    assert [one.words for one in shown.notices] == ["then  ", "first"]
    assert not shown.open_to_newcomers
    assert [one.words for one in here.view(NOW + 400).notices] == ["first"]
    assert here.view(NOW + 700).notices == ()


def test_notice_without_an_end_is_shown(tmp_path: Path) -> None:
    here = desk(tmp_path)
    here.decide(notices=(Announcement(int(NOW), 2**53 - 1, "for ever"),))
    assert [one.words for one in here.view().notices] == ["for ever"]


def test_end_is_shown_with_its_words_and_successor(tmp_path: Path) -> None:
    here = desk(tmp_path)
    assert here.view().end is None
    here.decide(end=End(state=EndState.PAUSED, words="Until\u202e Monday"))
    assert here.view().end == SiteEnd(NOW, paused=True, words="Until  Monday", successor="")
    here.decide(end=End(state=EndState.CLOSED, successor="potluck://elsewhere.example"))
    end = here.view().end
    assert end is not None
    assert (end.paused, end.words, end.successor) == (False, "", "potluck://elsewhere.example")
    assert not here.view().open_to_newcomers


def test_copies_are_listed_with_their_losses(tmp_path: Path) -> None:
    here = desk(tmp_path)
    folder = here.charter.folder / STATES
    folder.mkdir()
    for number in (1, 2, 3):
        (folder / f"{number:06d}-{state_file_name(10 * number, bytes(32), bytes(32))}").write_bytes(b"x" * number)
    for name in ("chosen", "losses.json.tmp", "refused.safetensors", "x-state-00000001-00000000.safetensors"):
        (folder / name).write_bytes(b"")
    note_loss(folder, 2, 3.5)
    shown = here.view().copies
    assert [(one.number, one.epoch, one.size_bytes, one.loss) for one in shown] == [
        (3, 30, 3, None),
        (2, 20, 2, 3.5),
        (1, 10, 1, None),
    ]


def test_days_and_curve_come_from_the_ledger(tmp_path: Path) -> None:
    here = desk(tmp_path, "Ada")
    here.view()
    here.gave({key(1): 30}, 3, (CurvePoint(1, 4.0, 5.0),))
    shown = here.view()
    assert [(day.day, day.samples, day.computers) for day in shown.days] == [("2026-11-26", 30, 3)]
    assert shown.curve == (CurvePoint(1, 4.0, 5.0),)


def test_sources_are_named_without_folders(tmp_path: Path) -> None:
    data = (
        DataSource(address="/home/ada/secret/books", licence="CC0"),
        DataSource(address="https://example.org/" + "x" * 200, credit="Ben\n\x1b[31m"),
        DataSource(),
    )
    shown = desk(tmp_path, data=data, summary="s" * 1000).view()
    assert [one.source for one in shown.texts][::2] == [
        "Texts that the organiser has collected",
        "The documentation that comes with Python",
    ]
    assert len(shown.texts[1].source) == 80
    assert shown.texts[1].credit == "Ben  [31m"
    assert "secret" not in repr(shown)


def test_frame_stays_within_its_bound_whoever_comes(tmp_path: Path) -> None:
    here = desk(tmp_path)
    lines = [
        Admitted(key=key(number).hex(), name="ক" * 40 if number else BACKBONE_NAME, invitation="", at=NOW)
        for number in range(PEOPLE_MAX)
    ]
    (here.charter.folder / ADMITTED).write_bytes(b"\n".join(map(msgspec.json.encode, lines)))
    here.people.log = AdmissionLog(here.charter.folder)
    here.gave({key(number): 2**50 - number for number in range(PEOPLE_MAX)})
    shown = here.view()
    assert len(shown.people) == (PEOPLE_MAX - 1) // 2  # all of them do not fit
    assert shown.people[0].samples == 2**50 - 1
    assert shown.samples == 2**53
