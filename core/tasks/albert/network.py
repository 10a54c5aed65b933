"""ALBERT in plain torch: the modules, names and arithmetic of transformers' `AlbertForPreTraining` (Lan et al. 2019).

Importing transformers takes longer than building the model does, and its GELU of six operations is slower than torch's
own.  Weights go from one to the other by name; `tests/unit/tasks/test_albert.py` holds both against each other.

Letters of shapes: B samples, T pieces per sample, H numbers of a hidden vector.
"""

# ruff: noqa: N803, N806 - names of arrays end in their shapes; D102 - `forward` is torch's

from typing import Final

import torch
from torch import nn
from torch.nn import functional

from core.tasks.albert.numbers import AlbertNumbers
from core.tasks.tokenizers.unigram import PAD_ID

LAYER_NORM_EPSILON: Final = 1e-12
PARTS: Final = 2
"""Each sample has a first and a second part, in one of two orders."""


class Embeddings(nn.Module):
    """What stands at each place: the piece, the place, and the part."""

    def __init__(self, numbers: AlbertNumbers) -> None:
        super().__init__()
        size = numbers.embedding_size
        self.word_embeddings = nn.Embedding(numbers.vocab_size, size, padding_idx=PAD_ID)
        self.position_embeddings = nn.Embedding(numbers.sequence_length, size)
        self.token_type_embeddings = nn.Embedding(PARTS, size)
        self.LayerNorm = nn.LayerNorm(size, eps=LAYER_NORM_EPSILON)

    def forward(self, pieces_BT: torch.Tensor, types_BT: torch.Tensor) -> torch.Tensor:  # noqa: D102 - torch's
        places = self.position_embeddings.weight[: pieces_BT.shape[1]]
        normed: torch.Tensor = self.LayerNorm(
            self.word_embeddings(pieces_BT) + self.token_type_embeddings(types_BT) + places
        )
        return normed


class Attention(nn.Module):
    """Self-attention with its residual connection."""

    def __init__(self, numbers: AlbertNumbers) -> None:
        super().__init__()
        size = numbers.hidden_size
        self.heads = numbers.heads
        self.query, self.key, self.value, self.dense = (nn.Linear(size, size) for _ in range(4))
        self.LayerNorm = nn.LayerNorm(size, eps=LAYER_NORM_EPSILON)

    def forward(self, hidden_BTH: torch.Tensor, present_B11T: torch.Tensor) -> torch.Tensor:  # noqa: D102 - torch's
        by_head = (*hidden_BTH.shape[:2], self.heads, -1)
        asked, known, told = (f(hidden_BTH).view(by_head).transpose(1, 2) for f in (self.query, self.key, self.value))
        heard = functional.scaled_dot_product_attention(asked, known, told, attn_mask=present_B11T)
        normed: torch.Tensor = self.LayerNorm(hidden_BTH + self.dense(heard.transpose(1, 2).flatten(2)))
        return normed


class Layer(nn.Module):
    """One layer, whose weights serve for all."""

    def __init__(self, numbers: AlbertNumbers) -> None:
        super().__init__()
        self.full_layer_layer_norm = nn.LayerNorm(numbers.hidden_size, eps=LAYER_NORM_EPSILON)
        self.attention = Attention(numbers)
        self.ffn = nn.Linear(numbers.hidden_size, numbers.intermediate_size)
        self.ffn_output = nn.Linear(numbers.intermediate_size, numbers.hidden_size)

    def forward(self, hidden_BTH: torch.Tensor, present_B11T: torch.Tensor) -> torch.Tensor:  # noqa: D102 - torch's
        heard_BTH = self.attention(hidden_BTH, present_B11T)
        inner = functional.gelu(self.ffn(heard_BTH), approximate="tanh")
        normed: torch.Tensor = self.full_layer_layer_norm(self.ffn_output(inner) + heard_BTH)
        return normed


class LayerGroup(nn.Module):
    """The one group of layers, a module of its own because its name is part of each parameter's."""

    def __init__(self, numbers: AlbertNumbers) -> None:
        super().__init__()
        self.albert_layers = nn.ModuleList([Layer(numbers)])


class Encoder(nn.Module):
    """The one layer, passed again and again."""

    def __init__(self, numbers: AlbertNumbers) -> None:
        super().__init__()
        self.layers = numbers.layers
        self.embedding_hidden_mapping_in = nn.Linear(numbers.embedding_size, numbers.hidden_size)
        self.albert_layer_groups = nn.ModuleList([LayerGroup(numbers)])

    @property
    def layer(self) -> Layer:
        """The layer whose weights serve for all."""
        group = self.albert_layer_groups[0]
        assert isinstance(group, LayerGroup)
        layer = group.albert_layers[0]
        assert isinstance(layer, Layer)
        return layer

    def forward(self, embedded: torch.Tensor, present_BT: torch.Tensor) -> torch.Tensor:  # noqa: D102 - torch's
        hidden_BTH: torch.Tensor = self.embedding_hidden_mapping_in(embedded)
        for _ in range(self.layers):
            hidden_BTH = self.layer(hidden_BTH, present_BT[:, None, None, :])
        return hidden_BTH


class Body(nn.Module):
    """Everything below the two heads."""

    def __init__(self, numbers: AlbertNumbers) -> None:
        super().__init__()
        self.embeddings = Embeddings(numbers)
        self.encoder = Encoder(numbers)
        self.pooler = nn.Linear(numbers.hidden_size, numbers.hidden_size)

    def forward(  # noqa: D102 - torch's
        self, pieces_BT: torch.Tensor, types_BT: torch.Tensor, present_BT: torch.Tensor
    ) -> torch.Tensor:
        hidden_BTH: torch.Tensor = self.encoder(self.embeddings(pieces_BT, types_BT), present_BT)
        return hidden_BTH


class WordHead(nn.Module):
    """Scores of words; their matrix is that of the word embeddings, which `forward` is given."""

    def __init__(self, numbers: AlbertNumbers) -> None:
        super().__init__()
        self.LayerNorm = nn.LayerNorm(numbers.embedding_size, eps=LAYER_NORM_EPSILON)
        self.bias = nn.Parameter(torch.zeros(numbers.vocab_size))
        self.dense = nn.Linear(numbers.hidden_size, numbers.embedding_size)

    def forward(self, hidden: torch.Tensor, words: torch.Tensor) -> torch.Tensor:  # noqa: D102 - torch's
        inner = self.LayerNorm(functional.gelu(self.dense(hidden), approximate="tanh"))
        return functional.linear(inner, words, self.bias)


class OrderHead(nn.Module):
    """Scores of the parts' order."""

    def __init__(self, numbers: AlbertNumbers) -> None:
        super().__init__()
        self.classifier = nn.Linear(numbers.hidden_size, PARTS)

    def forward(self, pooled_BH: torch.Tensor) -> torch.Tensor:  # noqa: D102 - torch's
        scores: torch.Tensor = self.classifier(pooled_BH)
        return scores


class Network(nn.Module):
    """ALBERT with both heads."""

    def __init__(self, numbers: AlbertNumbers) -> None:
        super().__init__()
        self.albert = Body(numbers)
        self.predictions = WordHead(numbers)
        self.sop_classifier = OrderHead(numbers)

    def words(self, hidden: torch.Tensor) -> torch.Tensor:
        """Scores of all words, from hidden vectors."""
        scores: torch.Tensor = self.predictions(hidden, self.albert.embeddings.word_embeddings.weight)
        return scores

    def order(self, hidden_BTH: torch.Tensor) -> torch.Tensor:
        """Scores of both orders, of shape (B, 2)."""
        scores: torch.Tensor = self.sop_classifier(torch.tanh(self.albert.pooler(hidden_BTH[:, 0])))
        return scores
