"""What a parent makes of the lines of a child, with real children."""

import asyncio
import logging
import os
import sys

import pytest

from core.base.problems import BadInput, WorkerProblem
from core.system.reports import answer, reports

ODD = ['{"event": "weather", "code": 1}', "Fetching: 100%", "[1, 2]", '{"no": "event"}']


def child(*lines: str, code: int = 0) -> list[str]:
    return [sys.executable, "-c", f"import sys\nfor line in {lines!r}: print(line)\nsys.exit({code})"]


def test_what_a_parent_does_not_know_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    shares: list[float] = []
    command = child(*ODD, '{"event": "progress", "share": 0.5}', *ODD, '{"event": "done", "found": 3}')
    with caplog.at_level(logging.WARNING):
        found = asyncio.run(answer(command, ["done"], progress=lambda line: shares.append(line["share"])))
    assert (found["found"], shares) == (3, [0.5])
    assert [record.getMessage() for record in caplog.records] == [f"A part of Potluck says: {line}" for line in 2 * ODD]


def test_an_end_without_an_answer_is_a_problem() -> None:
    with pytest.raises(WorkerProblem, match="without an answer"):
        asyncio.run(answer(child(*ODD), ["done"]))
    with pytest.raises(WorkerProblem, match="code 3"):
        asyncio.run(answer(child(code=3), ["done"]))
    with pytest.raises(BadInput, match="No"):
        asyncio.run(answer(child('{"event": "problem", "code": "bad_input", "message": "No.", "hint": ""}'), ["done"]))


def test_child_that_lingers_ends_with_who_waits_for_it() -> None:
    """A parent that is told to end waits for nobody, and leaves nobody behind."""
    script = 'import os, time\nprint(\'{"event": "done", "pid": %d}\' % os.getpid(), flush=True)\ntime.sleep(60)'

    async def run() -> int:
        found, ending = [], asyncio.Event()

        async def ask() -> None:
            async with reports([sys.executable, "-c", script], ["done"]) as said:
                found.append((await anext(said))["pid"])
                ending.set()

        task = asyncio.create_task(ask())
        await ending.wait()
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return found[0]

    with pytest.raises(ProcessLookupError):
        os.kill(asyncio.run(run()), 0)
