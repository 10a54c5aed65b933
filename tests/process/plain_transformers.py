"""What a person does with an exported folder who has `transformers` and has never heard of Potluck.

    python plain_transformers.py FOLDER HELD_OUT TEXT

prints one line of JSON: the loss on the batches in the file HELD_OUT, and what the pipeline says of TEXT.
"""

import json
import sys

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoModelForPreTraining, AutoTokenizer, pipeline


def masked_loss(folder: str, batches: dict[str, torch.Tensor]) -> float:
    model = AutoModelForPreTraining.from_pretrained(folder).eval()
    with torch.no_grad():
        scores = model(
            input_ids=batches["pieces"], token_type_ids=batches["types"], attention_mask=batches["present"]
        ).prediction_logits
    return torch.nn.functional.cross_entropy(scores.flatten(0, 1)[batches["places"]], batches["words"]).item()


def causal_loss(folder: str, batches: dict[str, torch.Tensor]) -> float:
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    rows = batches["rows"]
    with torch.no_grad():
        scores = model(rows[:, :-1]).logits
    return torch.nn.functional.cross_entropy(scores.flatten(0, 1), rows[:, 1:].flatten()).item()


def plain_loss(folder: str, arrays: dict[str, np.ndarray]) -> float:
    batches = {name: torch.from_numpy(array) for name, array in arrays.items()}
    return (masked_loss if "places" in batches else causal_loss)(folder, batches)


def main() -> None:
    torch.set_num_threads(1)
    folder, held_out, text = sys.argv[1:]
    loss = plain_loss(folder, dict(np.load(held_out).items()))
    tokenizer = AutoTokenizer.from_pretrained(folder)
    if tokenizer.mask_token is None:
        said = pipeline("text-generation", model=folder)(text, max_new_tokens=8, do_sample=False)[0]["generated_text"]
    else:
        said = [one["score"] for one in pipeline("fill-mask", model=folder)(text)]
    assert not any(name.partition(".")[0] == "core" for name in sys.modules)
    sys.stdout.write(json.dumps({"loss": loss, "said": said, "limit": tokenizer.model_max_length}))


if __name__ == "__main__":
    main()
