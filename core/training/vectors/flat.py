"""A model's parameters as one vector, so that peers can average them and files can hold them.

Letter of shapes: N numbers in all parameters together, in the order of `named_parameters`.
"""

# ruff: noqa: N803 - names of arrays end in their shapes

from collections.abc import Iterable
from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True)
class Span:
    """One parameter's place in the vector."""

    name: str
    start: int
    shape: tuple[int, ...]

    @property
    def numel(self) -> int:
        """The parameter's length in the flat vector, which follows from its shape."""
        return torch.Size(self.shape).numel()

    @property
    def stop(self) -> int:
        """The place in the vector after the parameter's last number."""
        return self.start + self.numel

    @property
    def decays(self) -> bool:
        """Whether weight decay applies: to matrices, not to biases and layer norms."""
        return len(self.shape) > 1

    def of(self, vector_N: torch.Tensor) -> torch.Tensor:
        """This parameter's numbers as a view of the vector, in the parameter's shape."""
        return vector_N[self.start : self.stop].view(self.shape)


class FlatParameters:
    """Binds a model to two vectors: its parameters and their gradients become views of them.

    Args:
        model: All its parameters are float32 on one device.
    """

    def __init__(self, model: torch.nn.Module) -> None:
        named = [(name, parameter) for name, parameter in model.named_parameters() if parameter.requires_grad]
        if not named or any(parameter.dtype != torch.float32 for _, parameter in named):
            raise ValueError("a model has parameters, and all are float32")
        spans, start = [], 0
        for name, parameter in named:
            spans.append(Span(name, start, tuple(parameter.shape)))
            start += parameter.numel()
        self.numel = start
        self.spans = tuple(spans)
        self.values_N = torch.empty(start, device=named[0][1].device)
        self.gradients_N = torch.zeros_like(self.values_N)
        fixed = (parameter for parameter in model.parameters() if not parameter.requires_grad)
        self._memory = (self.values_N, self.gradients_N, *fixed, *model.buffers())
        """All that the model holds on its device."""
        self._parameters = [parameter for _, parameter in named]
        for span, parameter in zip(spans, self._parameters, strict=True):
            span.of(self.values_N).copy_(parameter.detach())
        self._bind()

    def move(self, device: str) -> None:
        """Have the model on another device; those who hold the vectors hold the same ones there.

        Raises:
            RuntimeError: it has no room, and the model can be used nowhere now.
        """
        for parameter in self._parameters:
            parameter.grad = None
        move(self._memory, device)
        self._bind()

    def _bind(self) -> None:
        for span, parameter in zip(self.spans, self._parameters, strict=True):
            parameter.data = span.of(self.values_N)
            parameter.grad = span.of(self.gradients_N)


def move(tensors: Iterable[torch.Tensor], device: str) -> None:
    """Have the numbers of tensors in another device's memory; views of them are to be made anew.

    Raises:
        RuntimeError: it has no room for them.
    """
    for tensor in tensors:
        tensor.data = tensor.data.to(device, copy=True)
