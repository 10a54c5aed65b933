"""A character-level GPT whose feed-forward blocks are experts: attention stays in the trunk (Lepikhin et al. 2020).

Each letter is a row of its own, and is given to experts by what stands before it alone; a gate that chose by a whole
sample would tell a letter which letters follow.

Letters of shapes: B samples of T letters each, V letters in the alphabet, W numbers of a letter, R = B * T rows.
"""

# ruff: noqa: N803, N806 - names of arrays end in their shapes

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import msgspec
import torch
from torch import nn

from core.api.score import Score
from core.base.manifest import Manifest, Numbers
from core.base.mixture import ExpertNumbers
from core.base.problems import BadInput
from core.experts.messages import check_micro_batch
from core.tasks.experts.gate import Gate
from core.tasks.gpt import CharacterGpt, prepare
from core.tasks.gpt_cutting import GptNumbers, gpt_numbers, read_counts
from core.tasks.start import started
from core.tasks.task import Blobs, Evaluation, Losses, ModelCosts, TensorBatch
from core.text.order.documents import Document

if TYPE_CHECKING:
    from core.tasks.pretrained import Pretrained
    from core.tasks.task import PreparedTask

__all__ = ["NUMBERS", "SUMMARY", "costs", "open_task", "prepare", "prepare_from", "trunk"]
SUMMARY: Final = "A mixture of experts learns to write, letter by letter, as in"
NUMBERS: Final = GptNumbers
TASK: Final = "gpt-experts"


class CausalAttention(nn.Module):
    """A letter looks at those before it; what comes of it is added to what goes in."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.heads = nn.MultiheadAttention(width, heads, batch_first=True)

    def forward(self, x_BTW: torch.Tensor) -> torch.Tensor:
        mask_TT = nn.Transformer.generate_square_subsequent_mask(x_BTW.shape[1], device=x_BTW.device)
        y_BTW = self.norm(x_BTW)
        return x_BTW + self.heads(y_BTW, y_BTW, y_BTW, need_weights=False, attn_mask=mask_TT, is_causal=True)[0]  # type: ignore[no-any-return]


class GptTrunk(nn.Module):
    """All of the model but its experts, which have their places in `gates` (`core.tasks.experts.stages.Stages`).

    Args:
        numbers: The task's.
        experts: Sizes of the mixture.
    """

    def __init__(self, numbers: GptNumbers, experts: ExpertNumbers) -> None:
        super().__init__()
        width = experts.width
        self.letters, self.places = nn.Embedding(numbers.alphabet, width), nn.Embedding(numbers.length, width)
        self.attention = nn.ModuleList(CausalAttention(width, numbers.heads) for _ in range(experts.layers))
        self.gates = nn.ModuleList(Gate(width, experts.grid) for _ in range(experts.layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, numbers.alphabet, bias=False)

    def first(self, batch: TensorBatch) -> torch.Tensor:
        """What goes into the first layer of experts, (B, T, W), by all letters but each sample's last."""
        return self.enter(batch.rows[:, :-1].to(self.head.weight.device))

    def enter(self, inputs: torch.Tensor) -> torch.Tensor:
        """The same of letters (B, T), at most as many as a sample has."""
        return self.attention[0](self.letters(inputs) + self.places.weight[: inputs.shape[1]])  # type: ignore[no-any-return]

    def gate(self, layer: int, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The normalised letters (R, W), and their scores."""
        return self.gates[layer](x.flatten(0, 1))  # type: ignore[no-any-return]

    def after(self, layer: int, x: torch.Tensor, mixed_RW: torch.Tensor) -> torch.Tensor:
        """What goes into the next layer: the experts' answers are added, and attention comes before the next ones."""
        x = x + mixed_RW.view_as(x)
        return self.attention[layer + 1](x) if layer + 1 < len(self.attention) else x

    def scores(self, x: torch.Tensor) -> torch.Tensor:
        """Scores (B, T, V) of the letter after each."""
        return self.head(self.norm(x)).float()  # type: ignore[no-any-return]

    def last(self, x: torch.Tensor, batch: TensorBatch) -> Losses:
        """The cross entropy, a mean over the letters."""
        meant = batch.rows[:, 1:].flatten().to(x.device)
        loss = nn.functional.cross_entropy(self.scores(x).flatten(0, 1), meant)
        return Losses(objective=loss, reported=loss.detach())

    def alone(self, inputs: torch.Tensor) -> torch.Tensor:
        """What comes out of the last layer where all experts answer zeros."""
        x = self.enter(inputs)
        for layer in range(len(self.attention)):
            x = self.after(layer, x, torch.zeros_like(x))
        return x


class MixtureGpt(CharacterGpt):
    """The task of one collaboration; its arguments are those of `CharacterGpt`, and the sizes of the mixture."""

    def __init__(
        self,
        numbers: GptNumbers,
        experts: ExpertNumbers,
        *,
        counts: dict[str, int],
        held_out: list[Document],
        blobs: Blobs,
    ) -> None:
        super().__init__(numbers, counts=counts, held_out=held_out, blobs=blobs)
        self._experts = experts
        self.held_out = tuple(map(TensorBatch, torch.split(self._held_out, numbers.micro_batch)))

    @property
    def vocabulary(self) -> Sequence[str]:
        """The letters, in the order of their numbers; the first one stands for all others."""
        return self._letters

    @property
    def sample_bytes(self) -> int:
        """What is kept of one sample while experts answer (`costs`)."""
        return costs(msgspec.to_builtins(self.numbers), self._experts).activation_bytes

    def model(self, seed: int) -> GptTrunk:  # type: ignore[override]
        """A new trunk, which knows how frequent each letter is: the first number that the head reads begins as 1."""
        model = started(GptTrunk(self.numbers, self._experts), seed=seed)
        with torch.no_grad():
            model.norm.weight[0], model.norm.bias[0], model.head.weight[:, 0] = 0, 1, self._logs_V
        return model

    def layers(self, model: nn.Module) -> Sequence[nn.Module]:  # noqa: ARG002 - flights keep what goes into each
        """None: flights keep no more than what goes into each layer as it is."""
        return ()

    def stages(self, model: nn.Module) -> GptTrunk:
        """The trunk, which has its stages as methods."""
        assert isinstance(model, GptTrunk)
        return model

    def _guessed(self, model: nn.Module, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """What the trunk says alone."""
        letters, stages = rows.to(next(model.parameters()).device), self.stages(model)
        return stages.scores(stages.alone(letters[:, :-1])).flatten(0, 1), letters[:, 1:].flatten()

    def measured(self, model: nn.Module, found: Sequence[torch.Tensor]) -> Evaluation:
        """The loss on the held-out text, and that of the letters' frequencies."""
        with torch.no_grad():
            scores_MV = torch.cat([self.stages(model).scores(x).flatten(0, 1).cpu() for x in found])
        meant_M = self._held_out[:, 1:].flatten()
        loss = nn.functional.cross_entropy(scores_MV, meant_M).item()
        right = (scores_MV.argmax(1) == meant_M).double().mean().item()
        return Evaluation(Score(loss, right), self._baselines())

    def pretrained(self, model: nn.Module) -> "Pretrained":  # noqa: ARG002 - there is none
        """Refuse: `transformers` has no such model.

        Raises:
            BadInput: always.
        """
        raise _unlike()


def prepare_from(*_given: object, **_named: object) -> "PreparedTask":
    """Refuse: there is no model of `transformers` to begin with.

    Raises:
        BadInput: always.
    """
    raise _unlike()


def costs(numbers: Numbers, experts: ExpertNumbers | None = None) -> ModelCosts:
    """What the trunk takes: experts lie elsewhere.  Kept is what goes into each layer, and all answers."""
    n, m = _checked(numbers, experts)
    width, heads = m.width, sum(m.grid)
    layer = 4 * width**2 + 6 * width + 2 * width + (width + 1) * heads
    parameters = (2 * n.alphabet + n.length) * width + m.layers * layer + 2 * width
    return ModelCosts(parameters=parameters, activation_bytes=4 * n.length * m.layers * width * (2 + m.top + m.spare))


def trunk(numbers: Numbers, experts: ExpertNumbers) -> GptTrunk:
    """A trunk with any parameters, for those that were written to a file."""
    return GptTrunk(*_checked(numbers, experts))


def open_task(manifest: Manifest, blobs: Blobs) -> MixtureGpt:
    """The task of numbers and blobs as `prepare` has made them; a stranger may have changed them."""
    numbers, experts = _checked(manifest.numbers, manifest.mixture)
    held_out = blobs.decode("held_out", list[Document])
    return MixtureGpt(numbers, experts, counts=read_counts(blobs), held_out=held_out, blobs=blobs)


def _checked(numbers: Numbers, experts: ExpertNumbers | None) -> tuple[GptNumbers, ExpertNumbers]:
    """Both tables, which name some sizes twice.

    Raises:
        BadInput: one is missing or out of its range, or they do not agree.
    """
    if experts is None:
        raise BadInput("The task {task} needs a table [experts].", TASK)
    read = gpt_numbers(numbers)
    width = read.heads * read.head_width
    if (width, read.layers) != (experts.width, experts.layers):
        message = "[experts] must have width {width} and {layers} layers, as [model] has, not {other} and {others}."
        raise BadInput(message, width, read.layers, experts.width, experts.layers)
    check_micro_batch(experts, micro_batch=read.micro_batch, rows=read.length)
    return read, experts


def _unlike() -> BadInput:
    return BadInput("The task {task} has no model that transformers knows.", TASK)
