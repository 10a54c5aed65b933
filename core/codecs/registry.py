"""How numbers look on the wire: one registry, one contract test suite.

A new codec is a module with a subclass of `Codec`, and one line in `CODECS`.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from core.base.problems import unknown_name
from core.codecs.adaptive import Adaptive
from core.codecs.b8 import Dynamic8
from core.codecs.codec import Codec, Raw
from core.codecs.halves import Bf16, Fp16
from core.codecs.topk import TopK
from core.codecs.uniform import Uniform4, Uniform8

CODECS: Final[Mapping[str, Codec]] = MappingProxyType(
    {"raw": Raw(), "fp16": Fp16(), "bf16": Bf16(), "u8": Uniform8(), "b8": Dynamic8(), "q4": Uniform4(), "topk": TopK()}
)
"""Every codec that treats all numbers alike, by the name that a manifest gives it."""
ADAPTIVE: Final = "adaptive"
"""The one that must know the sizes of the tensors."""
CODEC_NAMES: Final = (*CODECS, ADAPTIVE)
"""Every name that a manifest may give."""
FEEDBACK: Final = frozenset({"q4", "topk"})
"""Codecs so coarse that what a round loses is carried on to the next (`core.averaging.feedback`)."""


def codec_of(name: str, layout: Sequence[int] = ()) -> Codec:
    """The codec of that name for a vector of tensors of these sizes, in order.

    Raises:
        ValueError: there is no such codec, or it needs a layout and has none.
    """
    if name == ADAPTIVE:
        return Adaptive(layout)
    if name not in CODECS:
        raise ValueError(f"no codec is called {name!r}")
    return CODECS[name]


def number_bytes(name: str) -> float:
    """About how many bytes a number takes at most in the codec of that name, in tensors of more than 2^16 numbers.

    Raises:
        ValueError: there is no such codec.
    """
    many = 1 << 20
    return codec_of(name, (many,)).max_bytes(many) / many


def check_codec(name: str) -> None:
    """Refuse the codec of a manifest that this version does not have.

    Raises:
        BadInput: no codec has that name.
    """
    if name not in CODEC_NAMES:
        raise unknown_name("codec", name, CODEC_NAMES)
