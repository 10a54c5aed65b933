import json

import pytest

from tests.bench.program import main


@pytest.mark.long
def test_reading_is_measured_beside_datasets(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["data", "--megabytes", "1", "--turns", "1", "--vocab", "2000", "--no-worker", "--json"]
    assert main(command) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["text_bytes"] >= 1_000_000
    assert found["tokens"] > 150_000
    assert found["cached_over_first"]["median"] >= 10
    assert found["first_over_datasets"]["median"] > 1
    assert found["large_need"] == pytest.approx(400e12 / (6 * 302e6 + 12 * 24 * 1024 * 512), rel=0.01)
