"""Moderators go back to a copy that the disk has changed since: the backbone says so, and goes on with all else."""

import asyncio
from pathlib import Path

from core.backbone.moderators.audit_log import AuditLog
from tests.process.swarm import collaboration, found
from tests.process.test_moderators import founder, sees
from tests.unit.backbone.test_going_back import with_copies

SENTENCE = "is not what was written"


def test_damaged_copy_is_told_and_holds_up_nothing(tmp_path: Path) -> None:
    charter = found(tmp_path, target_samples=64)
    with_copies(charter.folder, charter.manifest)

    async def run() -> None:
        assert (await founder(charter, "go-back", "1"))["done"]
        first = next((charter.folder / "states").glob("000001-*"))
        first.write_bytes(first.read_bytes()[:-1] + b"!")
        async with collaboration(charter, tmp_path) as swarm:
            assert swarm.backbone is not None
            log = tmp_path / "backbone.log"

            async def told() -> str:
                return await asyncio.to_thread(log.read_text)

            await sees(told, lambda text: SENTENCE in text)

            async def audited() -> str:
                return " ".join(line.words for line in AuditLog(charter.folder, charter.manifest.id).newest)

            assert (await founder(charter, "notice", "--words", "hello"))["done"]
            await sees(audited, lambda words: "hello" in words)
            assert (await told()).count(SENTENCE) == 1

    asyncio.run(run())
