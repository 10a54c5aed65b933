"""The table of experts, as people read it."""

from core.api.reports import ExpertPlaceView, ExpertsView
from core.cli.engine.experts import lines

KNOWN = (
    ExpertPlaceView(layer=1, place=(0, 0), hosts=("Ada", "Bob"), copies=3, saved=1000, rows=120),
    ExpertPlaceView(layer=1, place=(0, 1), hosts=(), copies=1, saved=400),
    ExpertPlaceView(layer=2, place=(3, 1), hosts=("\x1b[31mEve", *"abcd"), copies=0),
)
SEEN = ExpertsView(layers=2, places=8, time=1030.0, answered=940, known=KNOWN)


def test_table_has_layers_and_places():
    told = list(lines(SEEN))
    assert "940 requests" in told[0]
    assert [line.split() for line in told[2:4]] == [
        ["1", "1", "of", "8", "2", "of", "8", "10", "minutes", "120"],
        ["2", "1", "of", "8", "0", "of", "8", "-", "0"],
    ]
    assert told[4].startswith("14 of the experts live nowhere.")
    assert told[7].split() == ["1:", "0-0", "Ada,", "Bob", "30", "seconds", "3", "120"]
    assert told[8].split() == ["1:", "0-1", "nobody", "10", "minutes", "1", "0"]
    assert "and 2 more" in told[9]
    assert "\x1b" not in "".join(told)


def test_many_places_are_listed_when_asked_for():
    many = tuple(ExpertPlaceView(layer=1, place=(n,), hosts=("Ada",), copies=0) for n in range(300))
    seen = ExpertsView(layers=1, places=300, known=many)
    assert len(list(lines(seen))) == 4
    assert len(list(lines(seen, every=True))) == 305


def test_model_without_experts_is_told():
    (told,) = lines(ExpertsView())
    assert "has no experts" in told
