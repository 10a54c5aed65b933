from pathlib import Path

import msgspec
import pytest

from core.backbone import charter as charters
from core.backbone.invitations import DAY_S, first_invitation
from core.base.content import digest
from core.base.manifest import AveragingNumbers, Manifest, sign_manifest
from core.base.problems import BadInput, Damaged, NotTrusted
from core.base.usual_link import LINK_DAYS, LINK_USES
from core.net.clock import Clock


def make(folder: Path) -> charters.Charter:
    authority = charters.new_authority()
    source = folder / "source.txt"
    source.write_bytes(b"tokens")
    blobs = charters.keep_blobs(folder / "charter", {"tokenizer": source})
    manifest = Manifest(
        name="n", organiser="o", task="albert", blobs=blobs, authority=authority.peer_id.hex(), target_samples=8
    )
    return charters.found(folder / "charter", manifest, authority)


def test_a_charter_is_read_as_it_was_written(tmp_path: Path) -> None:
    made = make(tmp_path)
    read = charters.load_charter(tmp_path / "charter")
    assert read.manifest == made.manifest
    assert read.invite == made.invite
    assert read.authority.seed == made.authority.seed
    (hexed,) = read.manifest.blobs.values()
    assert digest((read.blobs / hexed).read_bytes()).hex() == hexed


def test_the_key_and_the_invitation_are_for_their_owner_only(tmp_path: Path) -> None:
    made = make(tmp_path)
    for name in (charters.AUTHORITY, charters.INVITATIONS):
        assert (made.folder / name).stat().st_mode & 0o077 == 0


def test_a_changed_manifest_is_not_trusted(tmp_path: Path) -> None:
    made = make(tmp_path)
    text = made.manifest_path.read_text()
    made.manifest_path.write_text(text.replace('"target_samples": 8', '"target_samples": 9'))
    with pytest.raises(NotTrusted, match="signature is wrong"):
        charters.load_charter(made.folder)


@pytest.mark.parametrize(
    ("averaging", "known"),
    [(AveragingNumbers(codec="morse"), "adaptive"), (AveragingNumbers(aggregator="morse"), "mean")],
)
def test_an_unknown_codec_or_aggregator_is_refused(tmp_path: Path, averaging: AveragingNumbers, known: str) -> None:
    made = make(tmp_path)
    other = msgspec.structs.replace(made.manifest, averaging=averaging)
    with pytest.raises(BadInput, match="'morse'"):
        charters.found(tmp_path / "other", other, made.authority)
    assert not (tmp_path / "other").exists()
    made.manifest_path.write_bytes(sign_manifest(other, made.authority))
    with pytest.raises(BadInput, match="'morse'") as caught:
        charters.load_charter(made.folder)
    assert known in caught.value.hint


@pytest.mark.parametrize(
    "averaging",
    [
        AveragingNumbers(trimmed_share=0.2),
        *(
            AveragingNumbers(aggregator={"name": "centered_clip", **numbers})
            for numbers in ({"clip": 0}, {"clip": float("nan")}, {"clip": "1"}, {"trim": 0.2})
        ),
        AveragingNumbers(aggregator={"name": "trimmed_mean", "trim": 0.5}),
    ],
)
def test_numbers_that_an_aggregator_does_not_take_are_refused(tmp_path: Path, averaging: AveragingNumbers) -> None:
    made = make(tmp_path)
    other = msgspec.structs.replace(made.manifest, averaging=averaging)
    with pytest.raises(BadInput, match="does not take"):
        charters.found(tmp_path / "other", other, made.authority)


def test_garbage_is_no_manifest(tmp_path: Path) -> None:
    made = make(tmp_path)
    made.manifest_path.write_bytes(b"\xff{]")
    with pytest.raises(BadInput, match="not a manifest"):
        charters.load_charter(made.folder)


@pytest.mark.parametrize("name", [charters.AUTHORITY, charters.INVITATIONS, charters.MANIFEST])
def test_a_missing_file_is_damage(tmp_path: Path, name: str) -> None:
    made = make(tmp_path)
    (made.folder / name).unlink()
    with pytest.raises(Damaged):
        charters.load_charter(made.folder)


def test_first_link_ends_by_uses_and_by_time(tmp_path: Path) -> None:
    (first,) = make(tmp_path).invitations
    now = Clock().now()
    assert first.uses_max == LINK_USES
    assert not first.has_expired(now + (LINK_DAYS - 1) * DAY_S)
    assert first.has_expired(now + (LINK_DAYS + 1) * DAY_S)
    asked = first_invitation(now, uses=0, days=0)
    assert (asked.uses_max, asked.expires) == (None, None)


def test_charter_with_the_one_earlier_invitation_is_read(tmp_path: Path) -> None:
    made = make(tmp_path)
    (made.folder / charters.INVITATIONS).unlink()
    (made.folder / charters.EARLIER_INVITATION).write_text("long-known\n")
    assert charters.load_charter(made.folder).invite == "long-known"


def test_a_folder_that_holds_no_collaboration_is_the_persons_mistake(tmp_path: Path) -> None:
    for folder, said in ((tmp_path / "nowhere", "There is no folder"), (tmp_path, "holds no collaboration")):
        with pytest.raises(BadInput, match=said) as caught:
            charters.load_charter(folder)
        assert "manifest.json" in caught.value.hint
        assert "Errno" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    made = make(tmp_path)
    (made.folder / charters.INVITATIONS).unlink()
    with pytest.raises(Damaged, match=r"invitations\.json: No such file") as caught:
        charters.load_charter(made.folder)
    assert "Errno" not in str(caught.value)


def test_a_short_key_is_damage(tmp_path: Path) -> None:
    made = make(tmp_path)
    (made.folder / charters.AUTHORITY).write_bytes(b"short")
    with pytest.raises(Damaged):
        charters.load_charter(made.folder)
