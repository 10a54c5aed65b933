"""A backup of a collaboration under load, restored beside it at another port."""

import asyncio
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from core.backbone.admission_log import AdmissionLog
from core.backbone.charter import load_charter
from core.backbone.remembered import read_ports
from tests.process.crowd import Crowd
from tests.process.small_disk import fill, small_disk
from tests.process.swarm import CORE, ENVIRONMENT, Collaboration, collaboration, end, found

pytestmark = pytest.mark.process
JOINS, BEFORE, AT_ONCE = 200, 40, 8


def run(*words: object, said: str = "") -> dict[str, object]:
    command = [*CORE, *map(str, words), "--json"]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, input=said, env=ENVIRONMENT, timeout=120
    )
    assert done.stdout, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_backup_under_load_is_restored_at_another_port(tmp_path: Path) -> None:
    charter, file, there = found(tmp_path, target_samples=64), tmp_path / "kept.zip", tmp_path / "again"

    async def join_all(crowd: Crowd, until: int) -> None:
        async def join() -> None:
            while len(crowd.acknowledged) < until:
                await crowd.join_one()
                assert not crowd.refused, crowd.refused

        async with asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(join())

    async def go_through() -> None:
        async with collaboration(charter, tmp_path):
            invited = await asyncio.to_thread(run, "invite", "--charter", charter.folder, "--uses", "0")
            crowd = Crowd.at(str(invited["link"]))
            joining = asyncio.create_task(join_all(crowd, JOINS))
            await crowd.has(BEFORE)
            early = dict(crowd.acknowledged)
            backed = await asyncio.to_thread(run, "backup", charter.folder, file)
            assert not joining.done()
            await joining
            assert backed["event"] == "backed_up"
            assert (await asyncio.to_thread(run, "restore", file, there))["event"] == "restored"
            second = Collaboration(tmp_path / "second", load_charter(there))
            second.folder.mkdir()
            second.start_backbone("--desk-port", "0")
            try:
                assert read_ports(there).desk != read_ports(charter.folder).desk
                log = AdmissionLog(there)
                assert {name: log.keys_of(name) for name in early} == {
                    name: [key.peer_id] for name, key in early.items()
                }
                assert [one.secret for one in load_charter(there).invitations] == [
                    one.secret for one in charter.invitations
                ]
                again = Crowd.at(second.link)
                name, key = next(iter(early.items()))
                assert await again.ask(key, name, "", 0) is not None, "a member renews without an invitation"
                assert await again.ask(key, name, again.link.invite, 1) is not None
            finally:
                await asyncio.to_thread(second.close)

    asyncio.run(go_through())
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.long
def test_two_backbones_with_one_key_say_so(tmp_path: Path) -> None:
    charter, other = found(tmp_path, target_samples=64), tmp_path / "second"

    async def go_through() -> None:
        async with collaboration(charter, tmp_path) as first:
            helper = first.join("helper", "--helper")
            await helper.until(lambda news: news.always_on == 1)
            assert first.backbone is not None
            await asyncio.to_thread(end, first.backbone)  # it keeps where the helper is
            await asyncio.to_thread(shutil.copytree, charter.folder, other / "charter")
            second = Collaboration(other, load_charter(other / "charter"))
            first.start_backbone()
            second.start_backbone()
            try:
                async with asyncio.timeout(120):
                    while not await asyncio.to_thread(said_twice, tmp_path, other):  # noqa: ASYNC110 - files tell
                        await asyncio.sleep(0.5)
            finally:
                await asyncio.to_thread(second.close)

    asyncio.run(go_through())


def said_twice(*folders: Path) -> bool:
    return all("another backbone runs with the key" in (each / "backbone.log").read_text() for each in folders)


def test_full_disk_leaves_the_earlier_backup(tmp_path: Path) -> None:
    charter = found(tmp_path, target_samples=64)
    with small_disk(tmp_path / "disk", mib=8) as mounted:
        if not mounted:
            pytest.skip("needs the right to mount a file system")
        file = tmp_path / "disk" / "kept.zip"
        run("backup", charter.folder, file)
        whole = file.read_bytes()
        fill(tmp_path / "disk" / "ballast")
        said = run("backup", charter.folder, file)
        assert said["code"] == "no_space"
        assert "MB are free" in str(said["message"])
        assert file.read_bytes() == whole
        assert {path.name for path in file.parent.iterdir()} == {"kept.zip", "ballast"}
