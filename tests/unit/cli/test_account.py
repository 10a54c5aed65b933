"""`potluck account` says which computers a person has, and warns about the link."""

import json

import pytest

from core.__main__ import main
from core.api.account import WAYS_OUT, AccountAct, AccountView, AccountWish, DeviceView
from core.backbone.kept_pass import FILE
from core.backbone.link import parse_link
from core.engine.remembered.collaborations import Collaborations
from core.storage.paths import Home

ID = "ab" * 32
DEVICES = (
    DeviceView("desk", "ab" * 32, 1_700_000_000.0, is_me=True, ended=False),
    DeviceView("", "cd" * 32, 1_700_000_000.0, is_me=False, ended=True),
)


@pytest.fixture
def answers(monkeypatch):
    """What the engine answers, by what is asked."""
    asked = []
    views = {
        AccountAct.LIST: AccountView("Ada", DEVICES),
        AccountAct.ADD: AccountView("Ada", DEVICES, "potluck://host:1/ab#secret", 1_700_003_600.0),
        AccountAct.END: AccountView("Ada", DEVICES, told=False),
        AccountAct.SIGN_OUT: AccountView("Ada", DEVICES, collaboration=ID),
        AccountAct.TAKE_OUT: AccountView("Ada", DEVICES, collaboration=ID),
    }

    def call(_home, method, params, **_):
        asked.append((method, AccountWish(**params)))
        return views[AccountAct(params["act"])]

    monkeypatch.setattr("core.cli.volunteer.account.call_once", call)
    return asked


def test_account_lists_its_computers(answers, capsys):
    assert main(["account"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "Ada: 2 of 10 computers."
    assert said[1].startswith("  desk (this computer): abababababababab, since 2023-11-1")
    assert said[2].startswith("  a computer (ended): cdcdcdcdcdcdcdcd")
    assert answers == [("account", AccountWish(act="list", who=""))]


def test_account_add_warns_about_its_link(answers, capsys):
    assert main(["account", "add"]) == 0
    said = capsys.readouterr().out
    assert "potluck://host:1/ab#secret" in said
    assert "Send it to nobody" in said
    assert main(["account", "add", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["link"].endswith("#secret")


def test_account_end_says_what_it_cannot_do(answers, capsys):
    assert main(["account", "end", "laptop"]) == 0
    said = capsys.readouterr().out
    assert "up to 4 days" in said
    assert "Peers are not told" in said
    assert answers[-1][1].who == "laptop"


@pytest.mark.parametrize("act", WAYS_OUT)
def test_account_way_out_leaves_no_pass_and_no_link(answers, capsys, tmp_path, act):
    home = Home(tmp_path)
    Collaborations(home).keep(parse_link(f"potluck://127.0.0.1:1/{ID}#secret"))
    kept = home.state(ID) / FILE
    kept.parent.mkdir(parents=True)
    kept.write_text("{}")
    assert main(["account", act, "--home", str(tmp_path)]) == 2, "nobody is there to be asked"
    assert not answers
    assert kept.exists()
    assert main(["account", act, "--yes", "--home", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines() == [WAYS_OUT[act][1]]
    assert answers == [("account", AccountWish(act=act))]
    assert not kept.exists()
    assert Collaborations(home).all() == []
