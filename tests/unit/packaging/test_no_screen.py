"""What setting up says first where no window can open."""

import pytest


@pytest.mark.parametrize(("words", "screen", "told"), [("run", 0, 1), ("run", 1, 0), ("run --headless", 0, 0)])
def test_missing_screen_is_told_first(parts, monkeypatch, capsys, words, screen, told):
    def ends(_):
        raise parts.bootstrap.SetupProblem("No Python.")

    monkeypatch.setattr(parts.bootstrap, "has_screen", lambda _: bool(screen))
    monkeypatch.setattr(parts.bootstrap.environment, "make_venv", ends)
    assert parts.bootstrap.main(words.split()) == 2
    assert capsys.readouterr().err.startswith("There is no screen here") == bool(told)
