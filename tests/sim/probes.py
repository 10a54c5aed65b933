"""How much memory a machine holds on to."""

import gc
import sys
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

_SHARED = (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType)


def reachable_bytes(root: Any) -> int:
    """Bytes of everything that `root` refers to; code, classes and what closures see do not count."""
    seen = {id(root)}
    stack = [root]
    total = 0
    while stack:
        item = stack.pop()
        total += sys.getsizeof(item)
        if isinstance(item, np.ndarray | bytes | str | int | float):
            continue
        for other in gc.get_referents(item):
            if id(other) not in seen and not isinstance(other, _SHARED):
                seen.add(id(other))
                stack.append(other)
    return total
