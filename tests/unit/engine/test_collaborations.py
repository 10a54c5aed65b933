"""The links of the collaborations that this computer has joined."""

import stat
import sys

import pytest

from core.backbone.link import Link
from core.base.manifest import Manifest, sign_manifest
from core.base.problems import BadInput, Damaged, NotTrusted
from core.base.signing import KeyPair
from core.engine.remembered.collaborations import LINKS_MAX, Collaborations
from core.storage.paths import Home


def a_link(number=0, **changes):
    return Link(**{"host": "pot", "port": 4000, "manifest_id": bytes([number]) * 32, "invite": "secret", **changes})


@pytest.fixture
def kept(tmp_path):
    return Collaborations(Home(tmp_path))


def test_the_last_joined_is_the_current_one(kept):
    assert kept.current is None
    assert kept.all() == []
    for link in (a_link(1), a_link(2), a_link(1, host="elsewhere")):
        kept.keep(link)
    assert [each.link for each in kept.all()] == [a_link(1, host="elsewhere"), a_link(2)]
    assert kept.current == a_link(1, host="elsewhere")


@pytest.mark.skipif(sys.platform == "win32", reason="no such modes")
def test_links_are_for_their_owner_only(kept, tmp_path):
    kept.keep(a_link())
    assert stat.S_IMODE((tmp_path / "collaborations.json").stat().st_mode) == 0o600


def test_a_collaboration_is_called_by_its_name_or_id(kept, tmp_path):
    key = KeyPair.generate()
    manifest = Manifest(name="Poems", organiser="Ada", task="albert", authority=key.peer_id.hex())
    link = a_link(manifest_id=manifest.id)
    kept.keep(link, sign_manifest(manifest, key))
    kept.keep(a_link(7))
    assert [each.name for each in kept.all()] == ["07" * 8, "Poems"]
    assert kept.find("Poems").manifest == manifest
    assert kept.find("0707").link == a_link(7)
    assert kept.find("").link == a_link(7)
    with pytest.raises(BadInput, match="No collaboration is called 'Prose'"):
        kept.find("Prose")
    left = kept.leave("Poems")
    assert left.folder == tmp_path / "state" / manifest.id.hex()[:16]
    assert (left.folder / "manifest.json").exists()
    assert [each.link for each in kept.all()] == [a_link(7)]


def test_leaving_without_a_name_leaves_the_current_one(kept):
    with pytest.raises(BadInput, match="has joined no collaboration"):
        kept.leave("")
    kept.keep(a_link(1))
    kept.keep(a_link(2))
    assert kept.leave("").link == a_link(2)
    assert kept.current == a_link(1)


def test_two_with_one_name_are_told_apart_by_id(kept):
    kept.keep(a_link(1))
    kept.keep(a_link(1, manifest_id=b"\1" * 31 + b"\2"))
    with pytest.raises(BadInput, match="Several"):
        kept.find("0101")
    assert kept.find(("01" * 31) + "02").link.manifest_id[-1] == 2


@pytest.mark.parametrize("content", [b"", b"{", b'{"links": ["http://x"]}', b'{"links": 3}', b"x" * 100_000])
def test_damaged_links_are_set_aside_and_told_once(kept, tmp_path, content):
    (tmp_path / "collaborations.json").write_bytes(content)
    with pytest.raises(Damaged, match="was kept as"):
        _ = kept.current
    assert kept.current is None
    (aside,) = tmp_path.iterdir()
    assert aside.read_bytes() == content


def test_the_list_is_bounded(kept):
    for number in range(LINKS_MAX + 1):
        kept.keep(a_link(number))
    assert len(kept.all()) == LINKS_MAX
    assert kept.current == a_link(LINKS_MAX)


def test_a_refusal_is_kept_until_it_is_overcome(kept, tmp_path):
    key = KeyPair.generate()
    manifest = Manifest(name="Poems", organiser="Ada", task="albert", authority=key.peer_id.hex())
    link, signed = a_link(manifest_id=manifest.id), sign_manifest(manifest, key)
    refusal = NotTrusted("Shut out." + "x" * 1000, hint="Ask.")

    def why():
        return [each.refusal and (each.refusal.message[:9], each.refusal.hint) for each in kept.all()]

    kept.note(link, refusal)  # not joined
    assert not (tmp_path / "collaborations.json").exists()
    for end in (lambda: kept.note(link, None), lambda: kept.keep(link, signed)):
        kept.keep(link)
        kept.note(link, refusal)
        kept.keep(link)
        assert why() == [("Shut out.", "Ask.")]
        end()
        assert why() == [None]
    kept.note(link, refusal)
    kept.leave("")
    kept.keep(link)
    assert why() == [None]


def test_as_many_refusals_as_links_can_be_read_again(kept):
    for number in range(LINKS_MAX):
        kept.keep(a_link(number, host="h" * 60))
        kept.note(a_link(number, host="h" * 60), NotTrusted("\1" * 1000, hint="\U0001f600" * 1000))
    assert sum(each.refusal is not None for each in kept.all()) == LINKS_MAX
