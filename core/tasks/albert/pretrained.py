"""This task's model as plain ALBERT of `transformers`, and back.

The model adds the logarithms of the pieces' frequencies to its scores.  Plain ALBERT adds nothing but its bias, so on
the way out they are folded into that, and on the way in taken out of it again: the scores stay the same.
"""

import json
from pathlib import Path
from typing import Final

import msgspec
import torch
from tokenizers import Tokenizer
from transformers.models.albert.configuration_albert import AlbertConfig
from transformers.models.albert.modeling_albert import AlbertForPreTraining
from transformers.tokenization_utils_tokenizers import PreTrainedTokenizerFast

from core.base.manifest import Numbers
from core.base.problems import BadInput
from core.base.tasks import TOKENIZERS
from core.tasks.albert.model import PretrainedAlbert, added, log_frequencies
from core.tasks.albert.numbers import AlbertNumbers, albert_numbers
from core.tasks.albert.prepare import UNIGRAM, contents_of
from core.tasks.parameters import START, write_parameters
from core.tasks.pretrained import Pretrained, check_alike, read_pretrained
from core.tasks.task import PreparedTask
from core.tasks.text import GivenText, Progress, read_text, write_blobs
from core.tasks.tokenizers.unigram import BEGIN, BEGIN_ID, END, END_ID, MASK, PAD, PAD_ID, UNKNOWN, read_unigram

ALIKE: Final = (
    *("hidden_act", "num_hidden_groups", "inner_group_num", "layer_norm_eps", "type_vocab_size"),
    "tie_word_embeddings",
)
"""What the manifest's numbers do not say of a configuration."""
MAY_LACK: Final = ("sop_classifier.", "albert.pooler.")
"""The published checkpoints of ALBERT come without the head that judges the order of sentences."""


def pretrained(model: PretrainedAlbert, numbers: AlbertNumbers, tokenizer: Tokenizer) -> Pretrained:
    """A copy of the model as plain ALBERT.

    Args:
        model: Stays as it is.
        numbers: Its sizes.
        tokenizer: Tokenizer of the same vocabulary.
    """
    network = AlbertForPreTraining(albert_config(numbers)).eval()
    lacking, unknown = network.load_state_dict(model.network.state_dict(), strict=False)
    assert not unknown
    assert set(lacking) == set(network.all_tied_weights_keys)
    with torch.no_grad():
        network.predictions.bias += model.log_frequencies_V
    plain = PreTrainedTokenizerFast(
        tokenizer_object=_with_blanks(tokenizer),
        model_max_length=numbers.sequence_length,
        pad_token=PAD,
        unk_token=UNKNOWN,
        cls_token=BEGIN,
        sep_token=END,
        mask_token=MASK,
    )
    return Pretrained(network=network, tokenizer=plain, auto_class="AutoModelForPreTraining", pipeline="fill-mask")


def prepare_from(start: Path, numbers: Numbers, text: GivenText, out_dir: Path, *, progress: Progress) -> PreparedTask:
    """Make what a manifest needs that goes on from an ALBERT as `transformers` has it, with its sizes and tokenizer.

    Args:
        start: The model's folder.
        numbers: The task's; those that the model fixes are taken from it.
        text: What is learned from.
        out_dir: Where the files go.
        progress: Told what happens.

    Raises:
        BadInput: the numbers, the text or the model cannot be used.
        NoSpace: the disk is full.
    """
    progress("Reading the model", 0.0)
    network, found = read_pretrained(start, AlbertForPreTraining, may_lack=MAY_LACK)
    read = albert_numbers({**numbers, **_sizes(network.config)})
    check_alike(network.config, albert_config(read), ALIKE)
    tokenizer = read_unigram(found.to_str().encode())
    if tokenizer.get_vocab_size() != read.vocab_size:
        message = "The model knows {vocab_size} pieces of text, and its tokenizer {pieces}."
        hint = "Bring the tokenizer that belongs to the model."
        raise BadInput(message, read.vocab_size, tokenizer.get_vocab_size(), hint=hint)
    if text.tokenizer not in TOKENIZERS:
        raise BadInput("The model to begin with has its tokenizer.", hint="Leave tokenizer out of the recipe.")
    train, held_out = read_text(text, lambda stage, share: progress(stage, 0.1 + 0.5 * share))
    progress("Counting words", 0.6)
    contents = contents_of(tokenizer, train, held_out, read)
    blobs = write_blobs(out_dir, contents)
    blobs[START] = out_dir / f"{START}.safetensors"
    write_parameters(blobs[START], _unfolded(network, read, contents[UNIGRAM]))
    progress("Ready", 1.0)
    own = f"The model has its tokenizer, so none is made as the recipe says ({text.tokenizer})."
    notes = (own,) if text.tokenizer != TOKENIZERS[0] else ()
    return PreparedTask(numbers=msgspec.to_builtins(read), blobs=blobs, notes=notes)


def _with_blanks(tokenizer: Tokenizer) -> Tokenizer:
    """The same, but the space before a blank belongs to the word that is missing: pieces begin with their spaces."""
    described = json.loads(tokenizer.to_str())
    for piece in described["added_tokens"]:
        piece["lstrip"] = piece["content"] == MASK
    return Tokenizer.from_str(json.dumps(described))


def _unfolded(network: AlbertForPreTraining, numbers: AlbertNumbers, counts: list[int]) -> PretrainedAlbert:
    """The task's model that gives the same scores as plain ALBERT."""
    model = PretrainedAlbert(numbers, added(numbers, log_frequencies(counts)))
    theirs = network.state_dict()
    model.network.load_state_dict({name: theirs[name] for name in model.network.state_dict()})
    with torch.no_grad():
        model.network.predictions.bias.sub_(model.log_frequencies_V)
    return model


def _sizes(config: AlbertConfig) -> Numbers:
    """The task's numbers that a configuration fixes."""
    return {
        "vocab_size": config.vocab_size,
        "sequence_length": config.max_position_embeddings,
        "embedding_size": config.embedding_size,
        "hidden_size": config.hidden_size,
        "intermediate_size": config.intermediate_size,
        "layers": config.num_hidden_layers,
        "heads": config.num_attention_heads,
    }


def albert_config(numbers: AlbertNumbers) -> AlbertConfig:
    """What `transformers` calls a model's sizes."""
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
    )
