"""The bytes of a safetensors file, made of tensors by one copy.

The library's own `save` copies every tensor twice and holds Python's lock meanwhile, which keeps training from going on
beside it.  The bytes are the same (`tests/unit/training/test_checkpoint.py`): equal states have equal files, whichever
version of this program wrote them.
"""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import numpy as np
import torch

_NAMES: Final = MappingProxyType(
    {
        torch.int64: "I64",
        torch.float64: "F64",
        torch.float32: "F32",
        torch.int32: "I32",
        torch.bfloat16: "BF16",
        torch.float16: "F16",
        torch.int16: "I16",
        torch.int8: "I8",
        torch.uint8: "U8",
    }
)
"""Types by the format's names, in the order in which the format has them in a file."""
_PLACES: Final = {dtype: place for place, dtype in enumerate(_NAMES)}
_LENGTH_BYTES: Final = 8
_ALIGNMENT: Final = 8


def state_image(tensors: Mapping[str, torch.Tensor], metadata: Mapping[str, str]) -> memoryview:
    """The whole file: the header's length, the header, all tensors.

    Args:
        tensors: By name, on any device.
        metadata: One entry, for the format does not say in which order several stand.
    """
    ordered = sorted(tensors.items(), key=lambda item: (_PLACES[item[1].dtype], item[0]))
    header: dict[str, object] = {"__metadata__": dict(metadata)}
    ends = 0
    spans = []
    for name, tensor in ordered:
        starts, ends = ends, ends + tensor.numel() * tensor.element_size()
        spans.append((starts, ends))
        header[name] = {
            "dtype": _NAMES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [starts, ends],
        }
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    begins = _LENGTH_BYTES + len(text)
    image = np.empty(begins + ends, np.uint8)
    image[:begins] = np.frombuffer(len(text).to_bytes(_LENGTH_BYTES, "little") + text, np.uint8)
    body = torch.from_numpy(image[begins:])
    with torch.no_grad():
        for (_, tensor), (starts, stops) in zip(ordered, spans, strict=True):
            body[starts:stops].view(tensor.dtype).view(tensor.shape).copy_(tensor)
    return image.data
