"""The coroutines that a host runs beside its callbacks: calls to peers, punches, and look-ups of names."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class BackgroundTasks:
    """One group of tasks, which ends as a whole: when it is stopped, or by a mistake in one of them."""

    def __init__(self) -> None:
        self.running: set[asyncio.Task[Any]] = set()
        self._group = asyncio.TaskGroup()
        self._stopped = asyncio.Event()
        self._error: Exception | None = None
        self._open = False

    def spawn(self, coroutine: Coroutine[Any, Any, T]) -> asyncio.Task[T] | None:
        """Run a coroutine in the group; None: the group has not begun, or is about to end."""
        if not self._open:
            coroutine.close()
            return None
        task = self._group.create_task(coroutine)
        self.running.add(task)
        task.add_done_callback(self.running.discard)
        return task

    def stop(self, error: Exception | None = None) -> None:
        """Begin nothing more and cancel all tasks; `run` raises the error, if there is one."""
        if not self._stopped.is_set():
            self._open = False
            self._error = error
            self._stopped.set()

    async def run(self, begun: asyncio.Future[None], ending: Callable[[], None]) -> None:
        """Keep the group until it is stopped.

        Args:
            begun: Done when the group takes coroutines.
            ending: Called before the first task is cancelled, however the group ends.

        Raises:
            ExceptionGroup: a mistake of this program ended it.
        """
        async with self._group:
            self._open = True
            begun.set_result(None)
            try:
                await self._stopped.wait()
                if self._error is not None:
                    raise self._error
            finally:
                self._open = False
                ending()
            for task in self.running:
                task.cancel()
