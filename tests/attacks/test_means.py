"""One liar of four, as reducer and as sender: the others' model learns on, and without the defence it is spoiled."""

import asyncio
import sys
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Final

import pytest

from core.api.snapshot import Snapshot
from core.base.manifest import AveragingNumbers
from core.storage.paths import Home
from core.storage.settings import Settings, save_settings
from tests.attacks.liar import LIED, MULTIPLIED
from tests.process.swarm import CORE, Collaboration, Volunteer, collaboration, found
from tests.process.test_rules import losses

pytestmark = [pytest.mark.process, pytest.mark.long]
FRIENDS: Final = AveragingNumbers(chunk_numel=512)
STRANGERS: Final = AveragingNumbers(chunk_numel=512, aggregator="centered_clip", weight_share=0.02)
"""As `found` writes it."""
LINE_BYTES_S: Final = 1e6
"""Upload of the honest members: the liar has the better line, and makes means like others or more of them."""
SPOILED: Final = 1.5
"""Times its least loss that a model has which is being spoiled; honest ones came to 1.2 times where it is small."""
ROUNDS: Final = 20
"""Number of rounds at least: a model that is kept has learned by then."""
LEARNED: Final = 0.8
"""Part of its first loss that a model comes to at least in as many rounds as it takes to spoil the other one."""


def join(swarm: Collaboration, name: str, program: Sequence[str]) -> Volunteer:
    """An honest member."""
    home = Home(swarm.folder / name)
    home.create()
    save_settings(home.settings_file, Settings(upload_bytes_s=LINE_BYTES_S))
    return swarm.join(name, program=program)


def is_spoiled(news: Snapshot) -> bool:
    """Whether the model has forgotten much of what it had learned."""
    seen = losses(news)
    return any(now > SPOILED * least for now, least in zip(seen, accumulate(seen, min), strict=True))


@pytest.mark.parametrize(
    ("lie", "defence", "averaging"),
    [("mean", "guard", FRIENDS), ("sign", "proof", STRANGERS), ("turn", "clip", STRANGERS)],
    ids=["mean", "sign", "turn"],
)
def test_one_liar_of_four_spoils_nobodys_model(
    tmp_path: Path, lie: str, defence: str, averaging: AveragingNumbers
) -> None:
    """Two collaborations one after the other, the first without the defence."""
    liar = (sys.executable, "-m", "tests.attacks.liar", lie)
    undefended = (sys.executable, "-m", "tests.attacks.undefended", defence)

    async def run(program: Sequence[str], rounds: int | None) -> Snapshot:
        """With so many rounds, or as many as it takes to spoil the model; how it ends."""
        folder = tmp_path / ("spoiled" if rounds is None else "kept")
        charter = found(folder, target_samples=1024, evaluate_every=1, averaging=averaging)
        async with collaboration(charter, folder, program=program) as swarm:
            honest = [join(swarm, name, program) for name in ("ada", "bob", "eve")]
            await asyncio.gather(*(one.until(lambda news: news.epoch >= 3) for one in honest))
            swarm.join("mallory", program=liar)
            reached = is_spoiled if rounds is None else lambda news: news.epoch >= rounds
            return await honest[0].until(reached, timeout_s=600.0)

    spoiled = asyncio.run(run(undefended, None))
    kept = asyncio.run(run(CORE, max(ROUNDS, spoiled.epoch)))
    assert not is_spoiled(kept)
    assert losses(kept)[-1] < LEARNED * losses(kept)[0]
    for last in (kept, spoiled):
        [row] = [row for row in last.leaderboard if row.name == "mallory"]
        assert row.rounds
    logs = [(tmp_path / each / "mallory.log").read_text() for each in ("kept", "spoiled")]
    assert all((LIED in log) == (lie in MULTIPLIED) for log in logs), "it was asked for means"
