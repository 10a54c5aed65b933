"""Words that the command line cannot understand: one sentence says what is wrong, and where to look."""

import json

import pytest

from core.__main__ import main


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("data", "potluck data needs WHAT: inspect, cut, verify, login. See: potluck data --help"),
        ("tokenizer", "potluck tokenizer needs WHAT: train. See: potluck tokenizer --help"),
        ("export", "potluck export needs DIR: where to write it. See: potluck export --help"),
        ("data cut", "potluck data cut needs SOURCE: "),
        ("data cut", "; also --out. See: potluck data cut --help"),
        ("revoke --charter", "--charter needs a value: the collaboration's manifest, keys and files."),
        ("exprot DIR", "potluck does not know 'exprot'. Did you mean export? See: potluck --help"),
        ("data look", "potluck data does not know 'look'. It knows: inspect, cut, verify, login."),
        ("startup always", "potluck startup does not know 'always'. It knows: no, window, engine, links, no-links."),
        ("demo --pers 3", "potluck demo does not know '--pers'. Did you mean --peers? See: potluck demo --help"),
        ("status now", "potluck status does not know 'now'."),
        ("demo --peers 99", "--peers: 99 is not between 1 and 16. See: potluck demo --help"),
        ("demo --peers", "--peers needs a value: volunteers (default: 3)."),
        ("demo --headless=yes", "--headless takes no value."),
        ("invite --charter x --list --withdraw y", "--list and --withdraw do not go together."),
        ("demo --e 3 --he", "--he could mean any of these: --help, --headless."),
    ],
)
def test_wrong_words_get_a_sentence_and_exit_code_2(capsys: pytest.CaptureFixture[str], words: str, said: str) -> None:
    assert main(words.split()) == 2
    out, err = capsys.readouterr()
    assert said in err
    assert err.startswith("potluck: ")
    assert (out, err.count("\n")) == ("", 1)
    assert "usage" not in err


def test_wrong_words_are_a_problem_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--json"]) == 2
    told = json.loads(capsys.readouterr().out)
    assert (told["event"], told["code"], told["hint"]) == ("problem", "bad_input", "See: potluck export --help")


@pytest.mark.parametrize("words", ["--help", "data --help", "data cut --help"])
def test_help_is_printed_as_ever(capsys: pytest.CaptureFixture[str], words: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words.split())
    assert ended.value.code == 0
    assert "usage: potluck" in capsys.readouterr().out
