"""A whole model with layers of experts in one process: what `potluck export` writes, and what loads that again.

    from core.tasks.experts.whole import load_whole

    model = load_whole("path/to/the/folder")
    scores = model(images)  # of the task digits: pixels from 0 to 1, shape (images, pixels)

Letters of shapes: R rows, W numbers of a row, P places of a layer, K experts that a row is given to.
"""

# ruff: noqa: N803, N806 - names of arrays end in their shapes

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol, cast

import msgspec
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import nn

from core.base.manifest import Manifest, Numbers
from core.base.mixture import ExpertNumbers
from core.base.problems import BadInput, Damaged
from core.experts.grid import ExpertGrid, Place
from core.tasks import module_of
from core.tasks.experts.blocks import new_expert
from core.tasks.experts.gate import PlaceScores, mixed

CONFIG: Final = "config.json"
TRUNK: Final = "model.safetensors"
LAYER: Final = "experts-{layer:02d}.safetensors"
"""The experts of a layer: each parameter under its place and its own name, such as "0-3.0.weight"."""
CONFIG_BYTES_MAX: Final = 1024 * 1024

Experts = Mapping[tuple[int, Place], nn.Module]
"""By layer and place."""


class WholeTrunk(Protocol):
    """A trunk, as far as it is used here; `core.tasks.experts.stages.Stages` tells more of it."""

    def enter(self, inputs: torch.Tensor) -> torch.Tensor:
        """What goes into the first layer of experts."""

    def gate(self, layer: int, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The rows that experts get, and the gate's scores."""

    def after(self, layer: int, x: torch.Tensor, mixed_RW: torch.Tensor) -> torch.Tensor:
        """What goes into the next layer."""

    def scores(self, x: torch.Tensor) -> torch.Tensor:
        """What the model says, by what comes out of the last layer."""


class MixtureModule(Protocol):
    """The module of a task whose model has layers of experts."""

    def trunk(self, numbers: Numbers, experts: ExpertNumbers) -> nn.Module:
        """A trunk with any parameters (`WholeTrunk`)."""


class WholeMixture(nn.Module):
    """A trunk and those of its experts that are here; rows are given to the best of these.

    Args:
        trunk: All of the model but its experts (`WholeTrunk`).
        numbers: The mixture's.
        experts: At least one of each layer.

    Raises:
        BadInput: a layer has none.
    """

    def __init__(self, trunk: nn.Module, numbers: ExpertNumbers, experts: Experts) -> None:
        super().__init__()
        self.trunk = trunk
        self.numbers = numbers
        grid = ExpertGrid(numbers.grid, numbers.live)
        self._scores = PlaceScores(grid)
        self.named: list[dict[int, nn.Module]] = [{} for _ in range(numbers.layers)]
        """By layer: the experts that are here, by the numbers of their places."""
        self.experts = nn.ModuleDict()
        for (layer, place), expert in experts.items():
            self.named[layer][grid.number(place)] = expert
            self.experts[expert_name(layer, place)] = expert
        for layer, named in enumerate(self.named, start=1):
            if not named:
                raise BadInput("Layer {layer} has no expert at all, so nothing comes through the model.", layer)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """What the model says of some inputs."""
        trunk = cast("WholeTrunk", self.trunk)
        return trunk.scores(self.through(trunk.enter(inputs)))

    def through(self, x: torch.Tensor) -> torch.Tensor:
        """What comes out of the last layer of experts, by what goes into the first."""
        trunk = cast("WholeTrunk", self.trunk)
        for layer, experts in enumerate(self.named):
            rows_RW, scores_RG = trunk.gate(layer, x)
            scores_RP = self._scores.of_all(scores_RG.float())
            is_here_P = torch.zeros(scores_RP.shape[1], dtype=torch.bool)
            is_here_P[list(experts)] = True
            scores_RP = scores_RP.masked_fill(~is_here_P.to(scores_RP.device), -torch.inf)
            scores_RK, places_RK = scores_RP.topk(min(self.numbers.top, len(experts)), dim=1)
            answers_RKW = rows_RW.new_zeros((*places_RK.shape, rows_RW.shape[1]))
            for number in set(places_RK.flatten().tolist()):
                row_n, rank_n = (places_RK == number).nonzero(as_tuple=True)
                answers_RKW[row_n, rank_n] = experts[number](rows_RW[row_n])
            x = trunk.after(layer, x, mixed(scores_RK, torch.ones_like(places_RK, dtype=torch.bool), answers_RKW))
        return x


def save_whole(model: WholeMixture, folder: Path, manifest: Manifest, *, letters: Sequence[str] = ()) -> None:
    """Write a model to a folder.

    Args:
        model: The trunk, and the experts that are here.
        folder: Where the files go; it is there already.
        manifest: The collaboration's.
        letters: In the order of the numbers that the model takes for them; none: it reads no letters.

    Raises:
        OSError: the disk is full, or the system does not allow it.
    """
    grid = ExpertGrid(model.numbers.grid, model.numbers.live)
    trunk = {name: tensor.contiguous() for name, tensor in model.trunk.state_dict().items()}
    save_file(trunk, folder / TRUNK, {"format": "pt"})
    missing = []
    for layer, experts in enumerate(model.named):
        tensors = {}
        for number in range(grid.live):
            own = "-".join(map(str, grid.place(number)))
            if number not in experts:
                missing.append([layer, *grid.place(number)])
                continue
            for name, tensor in experts[number].state_dict().items():
                tensors[f"{own}.{name}"] = _short(tensor)
        save_file(tensors, folder / LAYER.format(layer=layer), {"format": "pt"})
    config = {
        "task": manifest.task,
        "numbers": manifest.numbers,
        "experts": msgspec.to_builtins(model.numbers),
        "collaboration": manifest.id.hex(),
        "letters": list(letters),
        "missing": missing,
    }
    (folder / CONFIG).write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", "utf-8")


def load_whole(folder: str | Path) -> WholeMixture:
    """The model that `save_whole` has written.

    Raises:
        Damaged: a file is not what was written.
    """
    folder = Path(folder)
    try:
        with (folder / CONFIG).open("rb") as file:
            config: dict[str, Any] = msgspec.json.decode(file.read(CONFIG_BYTES_MAX), type=dict[str, Any])
        numbers = msgspec.convert(config["experts"], ExpertNumbers)
        trunk = cast("MixtureModule", module_of(config["task"])).trunk(config["numbers"], numbers)
        trunk.load_state_dict(_tensors(folder / TRUNK)[""])
        experts: dict[tuple[int, Place], nn.Module] = {}
        for layer in range(numbers.layers):
            for own, tensors in _tensors(folder / LAYER.format(layer=layer), parted=True).items():
                block = new_expert(numbers.block, width=numbers.width, factor=numbers.factor, seed=0)
                block.load_state_dict({name: tensor.float() for name, tensor in tensors.items()})
                experts[layer, tuple(map(int, own.split("-")))] = block
        return WholeMixture(trunk, numbers, experts).eval()
    except (OSError, SafetensorError, RuntimeError, ValueError, LookupError, msgspec.MsgspecError) as error:
        raise Damaged("The model in {folder} cannot be read: {error}.", folder, error) from error


def expert_name(layer: int, place: Place) -> str:
    """What an expert is called within a model."""
    return "-".join(map(str, (layer, *place)))


def _tensors(path: Path, *, parted: bool = False) -> dict[str, dict[str, torch.Tensor]]:
    """The tensors of a file, by what their names begin with where they are parted."""
    found: defaultdict[str, dict[str, torch.Tensor]] = defaultdict(dict)
    with safe_open(path, framework="pt") as file:
        for name in file.keys():  # noqa: SIM118 - it is not a dict
            own, _, rest = name.partition(".") if parted else ("", "", name)
            found[own][rest] = file.get_tensor(name)
    return found


def _short(tensor: torch.Tensor) -> torch.Tensor:
    """In float16 where that loses nothing: so hosts keep experts."""
    tensor = tensor.detach().cpu().contiguous()
    half = tensor.half()
    return half if torch.equal(half.float(), tensor) else tensor
