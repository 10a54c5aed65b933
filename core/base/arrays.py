"""numpy as `np`, loaded when something computes with it: an engine that rests and a backbone hold 10 MiB less.

Modules that such a process loads, too, take `np` from here, and the types of arrays for the type checker only.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
else:

    class _Numpy:
        """Has each attribute of numpy from its first use on."""

        def __getattr__(self, name: str) -> Any:
            value = getattr(importlib.import_module("numpy"), name)
            setattr(self, name, value)
            return value

    np = _Numpy()

__all__ = ["np"]
