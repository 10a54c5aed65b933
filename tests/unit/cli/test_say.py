"""A problem's words may be a stranger's: a backbone's refusal, an organiser's name."""

import json

from core.base.problems import UserProblem
from core.cli.printing.say import say_problem


def test_problem_of_a_stranger_does_not_move_the_cursor(capsys):
    say_problem(UserProblem("\x1b]0;pwned\x07No.\x1b[2J", hint="You take part\rin it."), json=True)
    out, err = capsys.readouterr()
    assert "\x1b" not in err
    assert "\r" not in err
    assert "\x07" not in err
    assert err.count("\n") == 1
    assert "\x1b" not in json.loads(out)["message"]
