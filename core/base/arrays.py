"""numpy as `np`, loaded when something computes with it: an engine that rests and a backbone hold 10 MiB less.

Modules that such a process loads, too, take `np` from here, and the types of arrays for the type checker only.
"""

import importlib
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

loading: Callable[[], AbstractContextManager[object]] = nullcontext
"""What surrounds the loading of numpy: the program has it load for one thread (`core.system.one_thread`)."""

if TYPE_CHECKING:
    import numpy as np
else:

    class _Numpy:
        """Has each attribute of numpy from its first use on."""

        def __getattr__(self, name: str) -> Any:
            with loading():
                value = getattr(importlib.import_module("numpy"), name)
            setattr(self, name, value)
            return value

    np = _Numpy()

__all__ = ["np"]
