"""A character-level GPT, which learns the next letter of any text (Radford et al. 2018, in miniature).

Letters of shapes: B samples of T letters each, V letters in the alphabet; the first stands for all that are not in it.
"""

# ruff: noqa: N803, N806 - names of arrays end in their shapes

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from torch import nn

from core.api.score import Score
from core.base.manifest import Manifest, Numbers
from core.base.mixture import ExpertNumbers
from core.base.problems import BadInput, later
from core.base.tasks import TOKENIZERS
from core.tasks.gpt_cutting import COUNTS, Alphabet, GptNumbers, gpt_numbers, read_counts, windows
from core.tasks.neighbour import NEIGHBOUR, Neighbour, read_neighbour
from core.tasks.parameters import START, begun, write_parameters
from core.tasks.start import log_shares, started
from core.tasks.task import Blobs, Evaluation, Losses, ModelCosts, PreparedTask, TensorBatch
from core.tasks.text import GivenText, Progress, read_text, write_blobs
from core.text.order.documents import Document

if TYPE_CHECKING:
    from core.tasks.pretrained import Pretrained

UNKNOWN: Final = "<unk>"
"""How the tokenizer of an exported model calls all letters that are not in the alphabet."""
ALIKE: Final = (
    *("activation_function", "layer_norm_epsilon", "scale_attn_weights"),
    *("scale_attn_by_inverse_layer_idx", "add_cross_attention", "n_inner"),
)
"""What the numbers do not say of a configuration of `transformers`."""
SUMMARY: Final = "A small GPT learns to write, letter by letter, as in"


NUMBERS: Final = GptNumbers
KEPT_WIDTHS: Final = 16
"""Vectors of the model's width that a block keeps of each letter for the backward pass."""


class Gpt(nn.Module):
    """Scores (B, T, V) of the letter after each: the arithmetic of GPT-2, whose library takes seconds to import."""

    def __init__(self, numbers: GptNumbers) -> None:
        super().__init__()
        width, heads = numbers.heads * numbers.head_width, numbers.heads
        self.letters, self.places = nn.Embedding(numbers.alphabet, width), nn.Embedding(numbers.length, width)
        block = nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(block, numbers.layers, nn.LayerNorm(width), enable_nested_tensor=False)
        self.head = nn.Linear(width, numbers.alphabet, bias=False)

    def forward(self, letters_BT: torch.Tensor) -> torch.Tensor:  # noqa: D102 - torch's
        mask_TT = nn.Transformer.generate_square_subsequent_mask(letters_BT.shape[1], device=letters_BT.device)
        places = self.places.weight[: letters_BT.shape[1]]
        x = self.body(self.letters(letters_BT) + places, mask_TT, is_causal=True)
        return self.head(x)  # type: ignore[no-any-return]


class CharacterGpt:
    """The task of one collaboration; `counts` says of each letter how often it stands in the text for training."""

    loss_name: ClassVar = "next-letter loss"
    loss_unit: ClassVar = later("nats")
    guesses: ClassVar = later("letters")

    def __init__(
        self,
        numbers: GptNumbers,
        *,
        counts: dict[str, int],
        held_out: list[Document],
        blobs: Blobs | None = None,
    ) -> None:
        self.numbers = numbers
        self._blobs = blobs
        neighbour = None if blobs is None else read_neighbour(blobs)
        self._simple = {} if neighbour is None else {later("the letter before"): neighbour}
        self._letters = list(counts)
        self._alphabet = Alphabet(self._letters, numbers.alphabet)
        self._logs_V = log_shares(list(counts.values()))
        found = list(islice(windows(held_out, self._alphabet, numbers.length), numbers.held_out))
        if not found:
            raise BadInput("The held-out text does not fit the numbers.", hint="Ask the organiser.")
        self._held_out = torch.from_numpy(np.stack(found)).long()

    @property
    def sample_tokens(self) -> int:
        """Letters of a sample."""
        return self.numbers.length

    def model(self, seed: int) -> Gpt:
        """A new model, which knows how frequent each letter is: the first number that the head reads begins as 1.

        Where the manifest names a start, the model begins with that.
        """
        model = started(Gpt(self.numbers), seed=seed)
        last = model.body.norm
        assert isinstance(last, nn.LayerNorm)
        with torch.no_grad():
            last.weight[0], last.bias[0], model.head.weight[:, 0] = 0, 1, self._logs_V
        return begun(model, self._blobs)

    @property
    def micro_batch(self) -> int:
        """Samples of a batch that suit a small computer, by the manifest."""
        return self.numbers.micro_batch

    @property
    def sample_bytes(self) -> int:
        """What is kept of one sample for the backward pass (`costs`)."""
        return costs(msgspec.to_builtins(self.numbers)).activation_bytes

    def layers(self, model: nn.Module) -> Sequence[nn.Module]:
        """The blocks."""
        assert isinstance(model, Gpt)
        return list(model.body.layers)

    def batch(self, rows_BR: NDArray[Any], seeds_B: NDArray[np.uint64]) -> TensorBatch:  # noqa: ARG002 - see below
        """The windows as they are, for nothing is drawn for them."""
        return TensorBatch(torch.from_numpy(rows_BR.astype(np.int64)))

    def loss(self, model: nn.Module, batch: TensorBatch) -> Losses:
        """The mean over all letters but each sample's first."""
        loss = nn.functional.cross_entropy(*self._guessed(model, batch.rows))
        return Losses(objective=loss, reported=loss.detach())

    def evaluate(self, model: nn.Module) -> Evaluation:
        """The same loss on the held-out text, and that of the letters' frequencies at the same places."""
        loss, right, meant_M = 0.0, 0, self._held_out[:, 1:].flatten()
        with torch.no_grad():
            for rows in torch.split(self._held_out, self.numbers.micro_batch):
                scores_MV, letters_M = self._guessed(model, rows)
                loss += nn.functional.cross_entropy(scores_MV, letters_M, reduction="sum").item()
                right += int((scores_MV.argmax(1) == letters_M).sum().item())
        return Evaluation(Score(loss / len(meant_M), right / len(meant_M)), self._baselines())

    def _baselines(self) -> dict[str, Score]:
        """What models reach that know only how frequent letters are, or only the letter before."""
        meant_M = self._held_out[:, 1:].flatten()
        plain = -self._logs_V[meant_M].mean(dtype=torch.float64).item()
        often = (meant_M == self._logs_V.argmax()).double().mean().item()
        return {later("letter frequencies"): Score(plain, often), **self._simple}

    def _guessed(self, model: nn.Module, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Scores (M, V) of all letters but each sample's first, and these letters."""
        letters = rows.to(next(model.parameters()).device)
        return model(letters[:, :-1]).flatten(0, 1).float(), letters[:, 1:].flatten()

    def pretrained(self, model: nn.Module) -> "Pretrained":
        """A copy of a model as GPT-2, with a tokenizer that cuts text into letters."""
        from transformers.models.gpt2.modeling_gpt2 import GPT2LMHeadModel  # noqa: PLC0415 - takes seconds
        from transformers.tokenization_utils_tokenizers import PreTrainedTokenizerFast  # noqa: PLC0415

        from core.tasks.pretrained import Pretrained  # noqa: PLC0415

        assert isinstance(model, Gpt)
        network = GPT2LMHeadModel(_config(self.numbers)).eval()
        with torch.no_grad():
            for theirs, ours in _paired(network, model, self.numbers):
                theirs.copy_(ours)
        tokenizer = PreTrainedTokenizerFast(
            tokenizer_object=_tokenizer(self._letters),
            unk_token=UNKNOWN,
            model_max_length=self.numbers.length,
            model_input_names=["input_ids", "attention_mask"],  # GPT-2 would add what stands for a text's part
        )
        return Pretrained(
            network=network, tokenizer=tokenizer, auto_class="AutoModelForCausalLM", pipeline="text-generation"
        )


def prepare(numbers: Numbers, text: GivenText, out_dir: Path, *, progress: Progress) -> PreparedTask:
    """Count the letters of the training text, the most frequent of which become the alphabet."""
    read = gpt_numbers(numbers)
    if text.tokenizer != TOKENIZERS[0]:
        raise BadInput("The task gpt reads letters, and takes no tokenizer.", hint="Leave tokenizer out of the recipe.")
    train, held_out = read_text(text, progress)
    counted = _letters(train)
    known = dict(counted.most_common(read.alphabet - 1))
    counts = {"": counted.total() - sum(known.values()), **known}
    read = msgspec.structs.replace(read, alphabet=len(counts))
    return PreparedTask(numbers=msgspec.to_builtins(read), blobs=_write(out_dir, read, counts, train, held_out))


def prepare_from(start: Path, numbers: Numbers, text: GivenText, out_dir: Path, *, progress: Progress) -> PreparedTask:
    """Go on from a GPT-2 of letters as `transformers` has it, with its sizes and its alphabet."""
    from transformers.models.gpt2.modeling_gpt2 import GPT2LMHeadModel  # noqa: PLC0415 - takes seconds

    from core.tasks.pretrained import check_alike, read_pretrained  # noqa: PLC0415

    network, tokenizer = read_pretrained(start, GPT2LMHeadModel)
    config = network.config
    sizes = {"alphabet": config.vocab_size, "length": config.n_positions, "heads": config.n_head}
    sizes |= {"head_width": config.n_embd // config.n_head, "layers": config.n_layer}
    read = gpt_numbers({**numbers, **sizes})
    check_alike(config, _config(read), ALIKE)
    unknown, *letters = [letter for _, letter in sorted((n, letter) for letter, n in tokenizer.get_vocab().items())]
    if unknown != UNKNOWN or any(len(letter) != 1 for letter in letters) or len(letters) + 1 != read.alphabet:
        raise BadInput("The model's vocabulary is not letters.", hint="Begin with a model that Potluck has exported.")
    train, held_out = read_text(text, progress)
    counted = _letters(train)
    known = {letter: counted[letter] for letter in letters}
    blobs = _write(out_dir, read, {"": counted.total() - sum(known.values()), **known}, train, held_out)
    model = Gpt(read)
    with torch.no_grad():
        for theirs, ours in _paired(network, model, read):
            ours.copy_(theirs)
    blobs[START] = out_dir / f"{START}.safetensors"
    write_parameters(blobs[START], model)
    return PreparedTask(numbers=msgspec.to_builtins(read), blobs=blobs)


def costs(numbers: Numbers, experts: ExpertNumbers | None = None) -> ModelCosts:  # noqa: ARG001 - it has none
    """Parameters are those of embeddings, blocks, last norm and head."""
    n = gpt_numbers(numbers)
    width = n.heads * n.head_width
    block = 12 * width**2 + 13 * width
    parameters = (2 * n.alphabet + n.length) * width + n.layers * block + 2 * width
    kept = n.layers * (KEPT_WIDTHS * width + n.heads + 4) + 2 * width + n.alphabet
    return ModelCosts(parameters=parameters, activation_bytes=4 * n.length * kept)


def open_task(manifest: Manifest, blobs: Blobs) -> CharacterGpt:
    """The task of numbers and blobs as `prepare` has made them; a stranger may have changed them."""
    numbers, held_out = gpt_numbers(manifest.numbers), blobs.decode("held_out", list[Document])
    return CharacterGpt(numbers, counts=read_counts(blobs), held_out=held_out, blobs=blobs)


def _letters(found: list[Document]) -> Counter[str]:
    return Counter(letter for document in found for sentence in document for letter in sentence)


def _write(
    folder: Path, numbers: GptNumbers, counts: dict[str, int], train: list[Document], held_out: list[Document]
) -> dict[str, Path]:
    """The blobs of a text, with what a model reaches at the held-out places that knows only the letter before."""
    alphabet, length = Alphabet(list(counts), numbers.alphabet), numbers.length
    held = islice(windows(held_out, alphabet, length), numbers.held_out)
    asked = [pair for window in held for pair in pairwise(window.tolist())]
    if not asked:
        raise BadInput("The held-out text is too short to measure with.", hint="Give more text.")
    learned = (window.tolist() for window in windows(train, alphabet, length))
    neighbour = Neighbour(learned, list(counts.values())).score(asked)
    return write_blobs(folder, {COUNTS: counts, "held_out": held_out, NEIGHBOUR: msgspec.to_builtins(neighbour)})


def _config(numbers: GptNumbers) -> Any:
    """What `transformers` calls a model's sizes."""
    from transformers.models.gpt2.configuration_gpt2 import GPT2Config  # noqa: PLC0415 - takes seconds

    return GPT2Config(
        vocab_size=numbers.alphabet,
        n_positions=numbers.length,
        n_embd=numbers.heads * numbers.head_width,
        n_layer=numbers.layers,
        n_head=numbers.heads,
        activation_function="gelu",
        embd_pdrop=0.0,
        resid_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=0,
        tie_word_embeddings=False,
    )


def _paired(network: nn.Module, model: Gpt, numbers: GptNumbers) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Each parameter of a GPT-2, and a view of ours in its shape: it multiplies by the transposed matrices."""
    theirs, ours = dict(network.named_parameters()), dict(model.named_parameters())
    yield theirs["transformer.wte.weight"], ours["letters.weight"]
    yield theirs["transformer.wpe.weight"], ours["places.weight"]
    yield theirs["lm_head.weight"], ours["head.weight"]
    inner = {"attn.c_attn": "self_attn.in_proj_", "attn.c_proj": "self_attn.out_proj."}
    inner |= {"mlp.c_fc": "linear1.", "mlp.c_proj": "linear2.", "ln_1": "norm1.", "ln_2": "norm2."}
    named = {"transformer.ln_f": "body.norm."}
    for layer in range(numbers.layers):
        named |= {f"transformer.h.{layer}.{one}": f"body.layers.{layer}.{other}" for one, other in inner.items()}
    for one, other in named.items():
        weight = ours[f"{other}weight"]
        yield theirs[f"{one}.weight"], weight.T if weight.ndim > 1 else weight
        yield theirs[f"{one}.bias"], ours[f"{other}bias"]


def _tokenizer(alphabet: Sequence[str]) -> Tokenizer:
    """Cuts text into letters, each of which has its place in the alphabet as its number."""
    letters = {letter: place for place, letter in enumerate(alphabet) if place}
    tokenizer = Tokenizer(models.WordLevel({UNKNOWN: 0, **letters}, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    tokenizer.decoder = decoders.Fuse()
    return tokenizer
