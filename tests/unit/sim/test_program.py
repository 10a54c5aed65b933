"""From words to simulations."""

import importlib
import types

import pytest

from tests.sim.program import main


@pytest.mark.parametrize(
    ("words", "module"),
    [
        ("swarm --seeds 3", "swarm.seeds_program"),
        ("rounds --deaths 0.1", "rounds_program"),
        ("paper --only table1", "paper_program"),
    ],
)
def test_simulation_is_run_by_its_module(monkeypatch, words, module):
    modules = {f"tests.sim.{module}": types.SimpleNamespace(run=lambda _args: 7)}
    monkeypatch.setattr(importlib, "import_module", modules.__getitem__)
    assert main(words.split()) == 7


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("shards --hours x", "--hours cannot be 'x': simulated, at most (default: 3)."),
        ("attacks --peers x", "--peers cannot be 'x': honest and hostile (default: 250)."),
        ("nat --peers 3", "At least 20 peers, "),
    ],
)
def test_wrong_words_are_a_sentence(capsys, words, said):
    assert main(words.split()) == 2
    assert said in capsys.readouterr().err
