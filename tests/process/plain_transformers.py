"""What a person does with an exported folder who has `transformers` and has never heard of Potluck.

    python plain_transformers.py FOLDER HELD_OUT TEXT

prints one line of JSON: the loss on the batches in the file HELD_OUT, and what the pipeline says of TEXT.
"""

import json
import sys

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoModelForPreTraining, AutoTokenizer, pipeline


def masked(folder: str, batches: dict[str, torch.Tensor], text: str) -> dict[str, object]:
    model = AutoModelForPreTraining.from_pretrained(folder).eval()
    with torch.no_grad():
        scores = model(
            input_ids=batches["pieces"], token_type_ids=batches["types"], attention_mask=batches["present"]
        ).prediction_logits
    loss = torch.nn.functional.cross_entropy(scores.flatten(0, 1)[batches["places"]], batches["words"])
    said = pipeline("fill-mask", model=folder)(text)
    return {"loss": loss.item(), "said": [[one["token_str"], one["score"]] for one in said]}


def causal(folder: str, batches: dict[str, torch.Tensor], text: str) -> dict[str, object]:
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    rows = batches["rows"]
    with torch.no_grad():
        scores = model(rows[:, :-1]).logits
    loss = torch.nn.functional.cross_entropy(scores.flatten(0, 1), rows[:, 1:].flatten())
    said = pipeline("text-generation", model=folder)(text, max_new_tokens=8, do_sample=False)
    return {"loss": loss.item(), "said": said[0]["generated_text"]}


def main() -> None:
    torch.set_num_threads(1)
    folder, held_out, text = sys.argv[1:]
    batches = {name: torch.from_numpy(array) for name, array in np.load(held_out).items()}
    found = (masked if "places" in batches else causal)(folder, batches, text)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert not any(name.partition(".")[0] == "core" for name in sys.modules)
    sys.stdout.write(json.dumps({**found, "limit": tokenizer.model_max_length}))


main()
