"""What has to hold after a fault, and in the end: each check gives sentences on what does not."""

import re
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from core.cli.volunteer.outcome import parameters_max_difference
from tests.faults.drawing import RULES, Fault
from tests.faults.scene import Computer

NOT_KEPT: Final = "were not kept"
"""What the notice says about steps that a volunteer took, and most others did not go on from."""
WRITING_S: Final = 10.0
"""A temporary file that is so old is not being written."""
_TEMPORARY: Final = re.compile(r"^\..+\.\d+-[0-9a-f]{12}$")


class Words:
    """What all logs of a run and the live notices say."""

    def __init__(self, folder: Path, computers: Sequence[Computer]) -> None:
        self._folder, self._computers = folder, computers
        self._sizes: dict[Path, int] = {}
        self._notices: dict[str, int] = {}

    def mark(self) -> None:
        """What is said from now on is new."""
        self._sizes = {path: path.stat().st_size for path in self._folder.rglob("*.log")}
        self._notices = {each.name: len(each.observer.notices) for each in self._computers}

    def new(self) -> str:
        logs = [path.read_bytes()[self._sizes.get(path, 0) :] for path in self._folder.rglob("*.log")]
        notices = [each.observer.notices[self._notices.get(each.name, 0) :] for each in self._computers]
        return "\n".join(
            [*(log.decode(errors="replace") for log in logs), *(text for each in notices for text in each)]
        )


def explained(fault: Fault, words: str) -> list[str]:
    """A notice or a log says what happened."""
    rule = RULES[fault.kind]
    if not rule.told or fault.lasts_s < rule.told_from_s or re.search(rule.told, words):
        return []
    return [f"nothing says {rule.told!r} about it"]


def no_traceback(folder: Path) -> list[str]:
    return [
        f"{path.relative_to(folder)} has a traceback"
        for path in folder.rglob("*.log")
        if "Traceback" in path.read_text(errors="replace")
    ]


def no_temporary_file(folder: Path) -> list[str]:
    """What a killed program was writing is gone once it runs again."""
    young = time.time() - WRITING_S  # noqa: TID251 - as the file system has it
    return [
        f"the temporary file {path.name} is left"
        for path in folder.rglob(".*")
        if _TEMPORARY.match(path.name) and path.lstat().st_mtime < young
    ]


def kept_on_disk(computers: Iterable[Computer], acknowledged: dict[str, int]) -> list[str]:
    """Each volunteer has on disk the epoch at which it said to be."""
    return [
        f"{each.name} was at epoch {acknowledged[each.name]}, and has epoch {each.epoch_on_disk} on disk"
        for each in computers
        if each.epoch_on_disk < acknowledged[each.name]
    ]


def steps_back_are_told(computers: Iterable[Computer]) -> list[str]:
    """No volunteer goes back to an earlier epoch without a notice."""
    return [
        f"{each.name} went back from epoch to epoch {each.observer.steps_back}, and did not say so as often"
        for each in computers
        if len(each.observer.steps_back) > sum(NOT_KEPT in text for text in each.observer.notices)
    ]


def one_history(computers: Sequence[Computer], epoch: int) -> list[str]:
    """All hold the same state of an epoch: its lineage and its digest stand in its file's name."""
    files = [sorted(each.states.glob(f"state-{epoch:08}-*.safetensors")) for each in computers]
    if any(len(found) != 1 for found in files):
        return [f"epoch {epoch}: {[[path.name for path in found] for found in files]}"]
    difference = parameters_max_difference([path for (path,) in files])
    names = {path.name for (path,) in files}
    same_bytes = len({path.read_bytes() for (path,) in files}) == 1
    return [] if len(names) == 1 and same_bytes and difference == 0 else [f"{sorted(names)} differ by {difference}"]


def boards_agree(computers: Iterable[Computer]) -> bool:
    """Whether all are at one epoch, with the same samples and epochs for each peer on their leaderboards."""
    last = [each.observer.last for each in computers]
    boards = [
        (news.epoch, sorted((row.peer, row.samples, row.epochs) for row in news.leaderboard)) for news in last if news
    ]
    return all(board == boards[0] for board in boards)
