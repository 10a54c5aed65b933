"""The model: ALBERT (`core.tasks.albert.network`) with one of two starts.

By `init = "paper"` it starts as ALBERT of `transformers` does: normal numbers of standard deviation 0.02, zeros for
biases and for the vector of padding.

By `init = "quick"` few and large steps already teach it something, and two things differ from that.  A constant, the
logarithm of each piece's frequency, is added to what the model says, so that it starts with the knowledge of a unigram
model.  And the first attention heads look at neighbours from the beginning: positions are pairs of cosine and sine, and
head h asks for the position that is OFFSETS[h] further on.

Every number of the start comes from integers and single roundings, so it has the same bits on every computer.
"""

# ruff: noqa: N803, N806 - names of arrays end in their shapes

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import torch
from torch import nn

from core.tasks.albert.network import Network
from core.tasks.albert.numbers import AlbertNumbers
from core.tasks.start import start_evenly, start_normally
from core.tasks.tokenizers.unigram import PAD_ID

OFFSETS: Final = (1, -1, 2, -2, 3, -3)
"""Where the first heads look at first; at most all but one of the heads."""
GRID: Final = 4096
"""Cosines are rounded to this grid, because computers do not agree on their last digits."""
PAPER_SPREAD: Final = 0.02


class PretrainedAlbert(nn.Module):
    """Both heads of ALBERT on top of its body, computing word scores only where they are asked for.

    Args:
        numbers: The sizes.
        log_frequencies_V: Natural logarithms of the pieces' frequencies, float32; or zeros (`added`).
    """

    def __init__(self, numbers: AlbertNumbers, log_frequencies_V: torch.Tensor) -> None:
        super().__init__()
        self.network = Network(numbers)
        self.log_frequencies_V: torch.Tensor
        self.register_buffer("log_frequencies_V", log_frequencies_V, persistent=False)

    def forward(
        self,
        pieces_BT: torch.Tensor,
        types_BT: torch.Tensor,
        present_BT: torch.Tensor,
        places_M: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Scores of words at the places, of shape (M, V), and scores of the parts' order, of shape (B, 2)."""
        network = self.network
        hidden_BTH = network.albert(pieces_BT, types_BT, present_BT)
        words_MV = network.words(hidden_BTH.flatten(0, 1)[places_M]) + self.log_frequencies_V
        return words_MV, network.order(hidden_BTH)


def build(numbers: AlbertNumbers, log_frequencies_V: torch.Tensor, *, seed: int) -> PretrainedAlbert:
    """A new model on the CPU; the same seed gives the same bits everywhere."""
    with torch.random.fork_rng(devices=[]):  # on the device "meta" nothing would be drawn, but torch's compiler loaded
        model = PretrainedAlbert(numbers, log_frequencies_V)
    model.log_frequencies_V = added(numbers, log_frequencies_V)
    generator = np.random.Generator(np.random.PCG64(seed))
    with torch.no_grad():
        if numbers.init == "paper":
            for name, parameter in model.named_parameters():
                start_normally(name, parameter, spread=PAPER_SPREAD, generator=generator)
            model.network.albert.embeddings.word_embeddings.weight[PAD_ID].zero_()
            return model
        for name, parameter in model.named_parameters():
            start_evenly(name, parameter, spread=_spread(name, numbers), generator=generator)
        look_at_neighbours(model, numbers)
    return model


def added(numbers: AlbertNumbers, log_frequencies_V: torch.Tensor) -> torch.Tensor:
    """What the model adds to the scores of words, shape (V,): nothing, where it starts as in the paper."""
    return torch.zeros_like(log_frequencies_V) if numbers.init == "paper" else log_frequencies_V


def look_at_neighbours(model: PretrainedAlbert, numbers: AlbertNumbers) -> None:
    """Give positions and attention their start; see the module's docstring."""
    body = model.network.albert
    size = numbers.hidden_size // numbers.heads
    pairs = min(size, numbers.embedding_size) // 2
    frequencies = [math.pi * (pair + 0.5) / pairs for pair in range(pairs)]
    positions_TE = torch.zeros(numbers.sequence_length, numbers.embedding_size)
    for t in range(numbers.sequence_length):
        for pair, frequency in enumerate(frequencies):
            positions_TE[t, 2 * pair] = _grid(math.cos(frequency * t))
            positions_TE[t, 2 * pair + 1] = _grid(math.sin(frequency * t))
    body.embeddings.position_embeddings.weight.copy_(positions_TE * numbers.embedding_spread)
    body.encoder.embedding_hidden_mapping_in.weight.copy_(torch.eye(numbers.hidden_size, numbers.embedding_size))
    attention = body.encoder.layer.attention
    for head, offset in enumerate(OFFSETS[: numbers.heads - 1]):
        for pair, frequency in enumerate(frequencies):
            x, y = head * size + 2 * pair, 2 * pair
            cos, sin = _grid(math.cos(frequency * offset)), _grid(math.sin(frequency * offset))
            attention.query.weight[x : x + 2, y : y + 2] += torch.tensor([[cos, -sin], [sin, cos]])
            attention.key.weight[x : x + 2, y : y + 2] += torch.eye(2)


def log_frequencies(counts: Sequence[int]) -> torch.Tensor:
    """Natural logarithms of the pieces' frequencies, shape (V,), float32; of a piece never seen, as if seen once."""
    smoothed_V = np.asarray(counts, dtype=np.float64) + 1.0
    return torch.from_numpy(np.log(smoothed_V / smoothed_V.sum()).astype(np.float32))


def _spread(name: str, numbers: AlbertNumbers) -> float:
    if "word_embeddings" in name:
        return numbers.embedding_spread
    if "attention.value" in name or "attention.dense" in name:
        return numbers.value_spread
    if "attention.query" in name or "attention.key" in name:
        return numbers.query_spread
    return numbers.spread


def _grid(value: float) -> float:
    return round(value * GRID) / GRID
