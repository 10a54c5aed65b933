import math

import msgspec
import pytest

from core.base.problems import WireProblem
from core.swarm.words.progress import decode_report, encode_report
from tests.unit.swarm.stage import report_of


@pytest.mark.parametrize(
    "change",
    [
        {"time": math.nan},
        {"time": math.inf},
        {"time": -1.0},
        {"samples": -1},
        {"samples_per_s": math.nan},
        {"samples_per_s": math.inf},
        {"heldout_loss": math.nan},
        {"heldout_loss": -math.inf},
        {"epoch": 2**60},
        {"digest": b"short"},
        {"role": "r" * 13},
        {"host": "h" * 61},
        {"port": 70_000},
    ],
)
def test_what_is_no_report_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(WireProblem):
        decode_report(encode_report(msgspec.structs.replace(report_of(time=1000.0), **change)))


def test_texts_hold_nothing_that_cannot_be_printed() -> None:
    report = report_of(time=1000.0, role="v\0", activity="é\x1b[2J\u202e\n")
    read = decode_report(encode_report(report))
    assert (read.role, read.activity) == ("v?", "é?[2J??")


def test_a_whole_report_fits_a_record() -> None:
    report = report_of(time=1e9 + 0.5, role="x" * 12, activity="y" * 16, host="z" * 60, port=65535)
    assert len(encode_report(report)) <= 512
    assert decode_report(encode_report(report)) == report
