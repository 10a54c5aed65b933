"""The model that knows only the piece before, against counting by hand."""

import json
import math
from pathlib import Path

import pytest

from core.api.score import Score
from core.base.content import digest
from core.base.problems import BadInput
from core.tasks.neighbour import NEIGHBOUR, Neighbour, read_neighbour
from core.tasks.task import Blobs

TEXTS = [[0, 1, 0, 1, 0, 2], [1, 0, 3]]
COUNTS = [4, 3, 1, 1, 0]


def test_shares_after_a_piece_are_those_of_witten_and_bell() -> None:
    """0 was followed by 1, 1, 2 and 3: four times, by three different pieces."""
    model = Neighbour(TEXTS, COUNTS)
    plain = [count + 1 for count in COUNTS]
    expected = [(met + 3 * own / sum(plain)) / (4 + 3) for met, own in zip((0, 2, 1, 1, 0), plain, strict=True)]
    assert [model.share(0, piece) for piece in range(5)] == pytest.approx(expected)
    assert math.fsum(expected) == pytest.approx(1)


def test_an_unknown_piece_leaves_the_frequencies() -> None:
    model = Neighbour(TEXTS, COUNTS)
    assert [model.share(4, piece) for piece in range(5)] == pytest.approx([5 / 14, 4 / 14, 2 / 14, 2 / 14, 1 / 14])
    assert model.guess(4) == 0


def test_guesses_are_the_most_probable_of_all_pieces() -> None:
    model = Neighbour(TEXTS, COUNTS)
    for before in range(5):
        assert model.guess(before) == max(range(5), key=lambda piece: model.share(before, piece))
    score = model.score([(0, 1), (0, 2), (1, 0), (4, 3)])
    assert score.right == 0.5
    losses = [-math.log(model.share(*pair)) for pair in [(0, 1), (0, 2), (1, 0), (4, 3)]]
    assert score.loss == pytest.approx(sum(losses) / 4)


@pytest.mark.parametrize(
    ("content", "score"),
    [
        ({"loss": 5, "right": 0.2}, Score(5.0, 0.2)),
        *((bad, None) for bad in ({"loss": -1}, {"loss": 1e9}, [], {"loss": 5, "right": 1.5}, {"right": 0.5})),
    ],
)
def test_an_organiser_s_score_is_bounded(tmp_path: Path, content: object, score: Score | None) -> None:
    data = json.dumps(content).encode()
    (tmp_path / digest(data).hex()).write_bytes(data)
    blobs = Blobs(tmp_path, {NEIGHBOUR: digest(data).hex()})
    if score is None:
        with pytest.raises(BadInput):
            read_neighbour(blobs)
    else:
        assert read_neighbour(blobs) == score
    assert read_neighbour(Blobs(tmp_path, {})) is None
