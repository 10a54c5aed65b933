"""One trainer floods a host of a simulated town; `python -m tests.attacks.mixture` has the other attacks."""

from pathlib import Path

from core.experts.messages import ROWS_MAX
from tests.attacks.mixture.flood import wait


def test_flood_at_most_doubles_the_wait_of_others(tmp_path: Path) -> None:
    calm = wait(tmp_path / "calm", seed=0, rows=0)
    assert wait(tmp_path / "flood", seed=0, rows=512) <= 2 * calm
    assert wait(tmp_path / "undefended", seed=0, rows=512, rows_max=ROWS_MAX) > 3 * calm, "batches are long"
