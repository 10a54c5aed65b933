"""How numbers look on the wire: one registry, one contract test suite.

A new codec is a module with a class that satisfies `Codec`, and one line in `CODECS`.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from core.averaging.codecs.codec import Codec
from core.averaging.codecs.fp16 import Fp16
from core.averaging.codecs.raw import Raw

CODECS: Final[Mapping[str, Codec]] = MappingProxyType({"raw": Raw(), "fp16": Fp16()})
"""Every codec by the name that a manifest gives it."""

__all__ = ["CODECS", "Codec"]
