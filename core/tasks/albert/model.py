"""The model: `AlbertForPreTraining` of transformers, started so that few and large steps already teach it something.

Two things differ from the usual start.  A constant, the logarithm of each piece's frequency, is added to what the model
says, so that it starts with the knowledge of a unigram model.  And the first attention heads look at neighbours from
the beginning: positions are pairs of cosine and sine, and head h asks for the position that is OFFSETS[h] further on.

Every number of the start comes from integers and single roundings, so it has the same bits on every computer.
"""

# ruff: noqa: N803, N806 - names of arrays end in their shapes

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import torch
from torch import nn
from transformers.models.albert.configuration_albert import AlbertConfig
from transformers.models.albert.modeling_albert import AlbertForPreTraining

from core.tasks.albert.numbers import AlbertNumbers
from core.tasks.start import start_evenly
from core.tasks.tokenizers.unigram import BEGIN_ID, END_ID, PAD_ID

OFFSETS: Final = (1, -1, 2, -2, 3, -3)
"""Where the first heads look at first; at most all but one of the heads."""
GRID: Final = 4096
"""Cosines are rounded to this grid, because computers do not agree on their last digits."""


class PretrainedAlbert(nn.Module):
    """Both heads of ALBERT on top of its body, computing word scores only where they are asked for.

    Args:
        numbers: The sizes.
        log_frequencies_V: Natural logarithms of the pieces' frequencies, float32.
    """

    def __init__(self, numbers: AlbertNumbers, log_frequencies_V: torch.Tensor) -> None:
        super().__init__()
        self.network = AlbertForPreTraining(config_of(numbers))
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
        body = network.albert(input_ids=pieces_BT, token_type_ids=types_BT, attention_mask=present_BT)
        hidden_MH = body.last_hidden_state.flatten(0, 1)[places_M]
        words_MV = network.predictions(hidden_MH) + self.log_frequencies_V
        return words_MV, network.sop_classifier(body.pooler_output)


def build(numbers: AlbertNumbers, log_frequencies_V: torch.Tensor, *, seed: int) -> PretrainedAlbert:
    """A new model on the CPU; the same seed gives the same bits everywhere."""
    with torch.device("meta"):
        model = PretrainedAlbert(numbers, log_frequencies_V)
    model.to_empty(device="cpu")
    model.network.tie_weights()
    model.log_frequencies_V = log_frequencies_V
    generator = np.random.Generator(np.random.PCG64(seed))
    body = model.network.albert
    body.embeddings.position_ids = torch.arange(numbers.sequence_length)[None]
    body.embeddings.token_type_ids = torch.zeros(1, numbers.sequence_length, dtype=torch.long)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            start_evenly(name, parameter, spread=_spread(name, numbers), generator=generator)
        look_at_neighbours(model, numbers)
    return model


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
    attention = body.encoder.albert_layer_groups[0].albert_layers[0].attention
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


def config_of(numbers: AlbertNumbers) -> AlbertConfig:
    """What `transformers` calls these sizes."""
    return AlbertConfig(
        vocab_size=numbers.vocab_size,
        embedding_size=numbers.embedding_size,
        hidden_size=numbers.hidden_size,
        intermediate_size=numbers.intermediate_size,
        num_hidden_layers=numbers.layers,
        num_attention_heads=numbers.heads,
        max_position_embeddings=numbers.sequence_length,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        classifier_dropout_prob=0.0,
        pad_token_id=PAD_ID,
        bos_token_id=BEGIN_ID,
        eos_token_id=END_ID,
        attn_implementation="sdpa",
    )


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
