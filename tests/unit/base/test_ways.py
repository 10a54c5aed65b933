"""What an organiser writes about ways in: each mistake is a sentence with the key and the bound."""

import os
from pathlib import Path

import pytest

from core.backbone.ways.ways_file import WaysFile, read_ways
from core.base.problems import BadInput
from core.base.site.ways import LISTED_MAX, WAYS, parse_ways

GOOD = """
address = "https://potluck.example.org"
[passphrase]
admit = "anybody"
[github]
client_id = "abc"
client_secret = "s"
admit = "listed"
list = "people.txt"
[oidc.huggingface]
title = "Hugging Face"
issuer = "https://huggingface.co"
client_id = "def"
admit = "listed"
organisations = ["bigscience"]
"""
CLIENT = 'client_id = "a"'


def parsed(text: str, people: str = "Ada\n# Ben\n 17 # carl\n\n"):
    return parse_ways(text, lambda _: people)


def test_ways_are_read_with_their_lists():
    ways = parsed(GOOD)
    assert ways.clients["github"].listed == ("Ada", "17")
    assert ways.told == ("name and passphrase (anybody)", "GitHub (listed)", "Hugging Face (listed)")


def test_address_alone_is_for_moderators():
    assert not parsed('address = "https://a.org"').told


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the file: Object missing required field `address`"),
        ("address = 3", "address: Expected `str`, got `int`"),
        ("address =", "cannot be read"),
        ('address = "http://a.org"\n[passphrase]', "address: it has to begin with https"),
        ('address = "a.org"\n[passphrase]', "address: 'a.org' is not an address"),
        ('address = "https://a.org:x"\n[passphrase]', "is not an address"),
        ('address = "https://a.org/x"\n[passphrase]', "nothing may stand behind"),
        ('address = "https://u:p@a.org"\n[passphrase]', "is not an address"),
        ('address = "https://a.org"\n[passphrases]', "unknown field `passphrases`"),
        ('address = "https://a.org"\n[passphrase]\nadmit = "all"', "passphrase.admit: Invalid enum value 'all'"),
        ('address = "https://a.org"\n[passphrase]\nadmit = "listed"', "passphrase.admit: anybody can take"),
        ('address = "https://a.org"\n[github]', "github: Object missing required field `client_id`"),
        (f'address = "https://a.org"\n[github]\n{CLIENT}\nadmit = "listed"', "github.admit: 'listed', and a list"),
        (f'address = "https://a.org"\n[github]\n{CLIENT}\nlist = "x"', "github.admit: 'listed', and a list"),
        (f'address = "https://a.org"\n[github]\n{CLIENT}\nlisted = ["x"]', "github.listed: names stand in a file"),
        (f'address = "https://a.org"\n[github]\n{CLIENT}\nsite = "http://x.org"', "github.site: it has to begin"),
        (
            f'address = "https://a.org"\n[github]\n{CLIENT}\nadmit = "listed"\nlist = "../authority.key"',
            "github.list: '../authority.key' is not the name of a file beside",
        ),
        (f'address = "https://a.org"\n[oidc.x]\n{CLIENT}', "missing required field `issuer`"),
        (f'address = "https://a.org"\n[oidc.X]\n{CLIENT}\nissuer = "https://b.org"', "matching regex"),
        (f'address = "https://a.org"\n[oidc.github]\n{CLIENT}\nissuer = "https://b.org"', "are those of other ways"),
        (
            f'address = "https://a.org"\n[oidc.x]\n{CLIENT}\nissuer = "https://b.org"\nscopes = ["email"]',
            "oidc.x.scopes: 'openid' is missing",
        ),
        (
            f'address = "https://a.org"\n[oidc.x]\n{CLIENT}\nissuer = "https://b.org"\nmatch = "email"',
            "oidc.x.match: a list is compared with 'sub' or 'preferred_username'",
        ),
        (
            f'address = "https://a.org"\n[oidc.x]\n{CLIENT}\nissuer = "https://b.org"\nmatch = "preferred_username"',
            "oidc.x.match: it says what a list is compared with, and there is no list",
        ),
        (
            'address = "https://a.org"' + "".join(f'\n[oidc.{x}]\n{CLIENT}\nissuer = "https://b.org"' for x in "xy"),
            "two of them have one issuer",
        ),
    ],
)
def test_mistake_is_a_sentence_with_its_place(text: str, says: str):
    with pytest.raises(BadInput) as raised:
        parsed(text)
    assert says in raised.value.message
    assert raised.value.message.startswith(WAYS)
    assert raised.value.hint


@pytest.mark.parametrize("said", ["https://Potluck.Example.ORG", "HTTPS://potluck.example.org:443"])
def test_address_is_as_browsers_say_it(said: str):
    assert parsed(GOOD.replace("https://potluck.example.org", said)).address == "https://potluck.example.org"
    assert parsed('address = "http://[::1]:80"\n[passphrase]').address == "http://[::1]"
    assert parsed('address = "https://a.org:8443"\n[passphrase]').address == "https://a.org:8443"


def test_list_has_a_bound():
    with pytest.raises(BadInput, match=f"more than {LISTED_MAX} lines"):
        parsed(GOOD, "x\n" * (LISTED_MAX + 1))
    with pytest.raises(BadInput, match="more than 255 letters"):
        parsed(GOOD, "x" * 256)


def test_secrets_are_nobody_elses(tmp_path: Path):
    assert read_ways(tmp_path) is None
    (tmp_path / WAYS).write_text(GOOD)
    with pytest.raises(BadInput, match=r"no file people\.txt beside it"):
        read_ways(tmp_path)
    (tmp_path / "people.txt").write_text("ada")
    (tmp_path / WAYS).chmod(0o644)
    if os.name == "posix":
        with pytest.raises(BadInput, match="can read the secrets"):
            read_ways(tmp_path)
    (tmp_path / WAYS).chmod(0o600)
    assert read_ways(tmp_path) is not None


def test_mistake_in_a_change_leaves_the_ways_as_they_were(tmp_path: Path):
    (tmp_path / WAYS).write_text(GOOD)
    (tmp_path / WAYS).chmod(0o600)
    (tmp_path / "people.txt").write_text("ada")
    file = WaysFile(tmp_path)
    assert [file.changed(), file.changed()] == [True, False]
    before = file.ways
    (tmp_path / "people.txt").write_text("ada\nben")
    assert file.changed()
    assert file.ways is not None
    assert file.ways != before
    (tmp_path / WAYS).write_text("address =")
    assert not file.changed()
    assert file.problem is not None
    assert file.ways.clients["github"].listed == ("ada", "ben")
    (tmp_path / WAYS).unlink()
    assert file.changed()
    assert (file.ways, file.problem) == (None, None)
