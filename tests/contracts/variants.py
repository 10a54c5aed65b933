"""What the contract suite tries: each optimiser of `OPTIMIZERS`, with the numbers that change what it does."""

from core.training.optimizers import OPTIMIZERS

VARIANTS: dict[str, dict[str, object]] = {
    "lamb": {"name": "lamb"},
    "lamb, bias outside": {"name": "lamb", "debias": "outside"},
    "lamb, 8 bits": {"name": "lamb", "bits": 8},
    "adamw": {"name": "adamw"},
    "adamw, 8 bits": {"name": "adamw", "bits": 8},
    "sgd": {"name": "sgd"},
    "sgd, larc": {"name": "sgd", "nesterov": False, "weight_decay": 0.01, "trust": 0.2},
    "muon": {"name": "muon", "weight_decay": 0.01},
}
EXACT = tuple(title for title, numbers in VARIANTS.items() if OPTIMIZERS[str(numbers["name"])].exact)
