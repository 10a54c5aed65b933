"""The demo teaches its model words within three minutes: minutes of both cores, so only when asked for.

POTLUCK_LONG=1 python -m pytest tests/process/test_demo_learns.py
"""

import lzma
import os
from pathlib import Path

import pytest

from tests.process.test_demo import demo

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(
        "POTLUCK_LONG" not in os.environ, reason="It takes minutes, and runs when asked for: POTLUCK_LONG=1."
    ),
]
BOOK = Path(__file__).parents[3] / "shared/data/gutenberg_en/war_and_peace.txt.xz"
EPOCHS = 200
LOSS_SHARE_MAX = 0.7
"""Of the loss that word frequencies alone reach."""
RIGHT_MIN = 1 / 3
TIME_S = 180


@pytest.mark.parametrize("text", ["python-docs", "book"])
def test_demo_learns_words(tmp_path: Path, text: str) -> None:
    words = ["--epochs", str(EPOCHS)]
    if text == "book":
        if not BOOK.is_file():
            pytest.skip("no book is here")
        (tmp_path / "text").mkdir()
        with lzma.open(BOOK) as book:
            (tmp_path / "text" / "book.txt").write_bytes(book.read(2_000_000))
        words += ["--text", str(tmp_path / "text")]
    code, lines, errors = demo(tmp_path / "home", *words)
    assert code == 0, errors
    done = lines[-1]
    assert done["loss_last"] <= LOSS_SHARE_MAX * done["baselines"]["word frequencies"]["loss"]
    assert done["loss_last"] < done["baselines"]["the word before"]["loss"]
    assert done["right"] >= RIGHT_MIN
    assert len(done["filled"]) == 3
    assert done["parameters_max_difference"] == 0
    assert done["seconds"] <= TIME_S
