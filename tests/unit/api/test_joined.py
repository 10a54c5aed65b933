"""What is said while no engine runs: why, and the command that leads on."""

import msgspec

from core.api.joined import KeptLinks, KeptRefusal, absence, kept_links, without_screen

SHUT_OUT = KeptRefusal("Shut out.", "Ask the organiser.")


def keep(home, *links, refused=()):
    kept = KeptLinks(list(links), dict.fromkeys(refused, SHUT_OUT))
    (home / "collaborations.json").write_bytes(msgspec.json.encode(kept))


def test_absence_tells_the_refusal_only_where_no_other_is_left(tmp_path):
    assert absence("stopped", tmp_path).reason == "stopped"
    keep(tmp_path, "a", "b", refused="a")
    assert absence("killed", tmp_path).reason == "killed"
    keep(tmp_path, "a", "b", refused="ab")
    verdict = absence("stopped", tmp_path)
    assert (verdict.reason, verdict.args) == ("refused", {"why": "Shut out. Ask the organiser."})


def test_damaged_links_are_told_from_none(tmp_path):
    assert kept_links(tmp_path) == KeptLinks()
    (tmp_path / "collaborations.json").write_text("{")
    assert kept_links(tmp_path) is None
    assert absence("stopped", tmp_path).reason == "stopped"
    assert without_screen(tmp_path) == "potluck engine"


def test_the_command_that_leads_on_follows_from_the_home(tmp_path):
    assert without_screen(tmp_path).startswith("potluck join LINK, or")
    (tmp_path / "embedded").mkdir()
    assert without_screen(tmp_path) == "potluck demo --headless"
    keep(tmp_path, "a")
    assert without_screen(tmp_path) == "potluck engine"
