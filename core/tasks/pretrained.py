"""A model as `transformers` has it, for people who know nothing of Potluck: written to a folder, or read from one."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from transformers.modeling_utils import PreTrainedModel
from transformers.tokenization_utils_tokenizers import PreTrainedTokenizerFast

from core.base.problems import BadInput
from core.system.atomic_files import problem_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Pretrained:
    """A model with its tokenizer."""

    network: PreTrainedModel
    """On the CPU; its first output is the scores of the pieces, of shape (samples, pieces, vocabulary)."""
    tokenizer: PreTrainedTokenizerFast
    """Where it has a piece for a blank, the model fills blanks; otherwise it goes on with a text."""
    auto_class: str
    """The class of `transformers` that loads all of it."""
    pipeline: str
    """What `transformers.pipeline` calls the use of it."""

    def save(self, folder: Path) -> None:
        """Write config.json, model.safetensors and the tokenizer's files.

        Raises:
            NoSpace: the disk is full.
            UserProblem: the system does not allow it.
        """
        try:
            self.network.save_pretrained(folder)
            self.tokenizer.save_pretrained(folder)
            path = folder / "tokenizer_config.json"
            config = json.loads(path.read_text("utf-8")) | {"tokenizer_class": "PreTrainedTokenizerFast"}
            path.write_text(json.dumps(config, indent=2), "utf-8")  # the name that `transformers` before 5 knows, too
        except OSError as error:
            raise problem_of(error, folder) from error


def read_pretrained(
    folder: Path, kind: type[PreTrainedModel], *, may_lack: Sequence[str] = ()
) -> tuple[PreTrainedModel, Tokenizer]:
    """The model and the tokenizer in a folder of `transformers`; nothing is unpickled, no code of it is run.

    Args:
        folder: Holds config.json, model.safetensors and tokenizer.json.
        kind: The model's class.
        may_lack: Beginnings of names of parameters that begin by chance where the file has none.

    Raises:
        BadInput: it is another model, or cannot be read.
    """
    hint = "Name a folder with config.json, model.safetensors and tokenizer.json, as save_pretrained writes them."
    try:
        check_kind(json.loads((folder / "config.json").read_text("utf-8")), kind.config_class.model_type)
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        network, news = kind.from_pretrained(
            folder, use_safetensors=True, local_files_only=True, output_loading_info=True, dtype=torch.float32
        )
    except BadInput:
        raise
    except Exception as error:  # the libraries raise whatever they like at files that are not theirs
        why = str(error).strip().partition("\n")[0].rstrip(".")
        raise BadInput("The model in {folder} cannot be read: {why}.", folder, why[:200], hint=hint) from error
    lacking = sorted(name for name in news["missing_keys"] if not name.startswith(tuple(may_lack)))
    if lacking:
        raise BadInput("The model in {folder} lacks parameters, such as {lacking}.", folder, lacking[0], hint=hint)
    return network, tokenizer


def check_kind(config: Any, wanted: str) -> None:
    """Refuse a model of another kind than a task's.

    Args:
        config: What config.json says.
        wanted: The kind that the task trains.

    Raises:
        BadInput: it is another one.
    """
    found = config.get("model_type") if isinstance(config, dict) else None
    if found != wanted:
        message = "The model is of the kind {found}, and this task trains the kind {wanted}."
        hint = "Choose the task that fits the model, or another model."
        raise BadInput(message, repr(str(found)[:40]), repr(wanted), hint=hint)


def check_alike(found: Any, expected: Any, names: Sequence[str]) -> None:
    """Refuse a configuration of a model that computes otherwise than a task's.

    Args:
        found: The configuration.
        expected: Configuration of the task's model of the same size.
        names: What must be equal in both.

    Raises:
        BadInput: something is not.
    """
    for name in names:
        if getattr(found, name) != getattr(expected, name):
            message = "The model differs from this task's: its {name} is {own}, and must be {other}."
            hint = "Begin with another model, or without one."
            raise BadInput(message, name, repr(getattr(found, name)), repr(getattr(expected, name)), hint=hint)
