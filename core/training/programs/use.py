"""What is done with a model that was trained: it is written as `transformers` has it, tried, or checked.

    python -m core.training.programs.use --manifest FILE --blobs DIR --state FILE export --out DIR
    python -m core.training.programs.use --manifest FILE --blobs DIR --state FILE try TEXT
    python -m core.training.programs.use --manifest FILE --blobs DIR --state FILE answer
    python -m core.training.programs.use --manifest FILE --blobs DIR --state FILE check

prints one JSON object a line: `progress` (text, fraction), then `exported` (`Exported`), `filled` or `continued`
(`core.tasks.answers`), `checked` (`check_state`), or `problem` (code, message, hint; exit code 2).
`answer` tries each line of standard input until that ends, and has one answer for each: a line is a text as JSON, or
an `AskedText`.
"""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from safetensors import SafetensorError

from core.base.manifest import Manifest, read_manifest
from core.base.problems import BadInput, Problem, UserProblem, later
from core.base.signing import Ed25519Verifier
from core.system.atomic_files import problem_of, system_error_of
from core.system.offline import offline
from core.tasks import task_of
from core.tasks.task import Blobs, Task
from core.training.programs.child import chosen_by, given_lines, reporting, say, say_problem
from core.workers.child_end import step_back

if TYPE_CHECKING:
    import torch

    from core.tasks.pretrained import Pretrained


class Exported(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="exported"):
    """What was written, and how good it is."""

    loss: float
    loss_name: str
    loss_unit: str
    baselines: dict[str, float]
    parameters: int
    """Numbers in the model."""
    auto_class: str
    """Class of `transformers` that loads the folder."""
    pipeline: str
    """What `transformers.pipeline` calls the use of it."""
    blank: str
    """What stands for a missing word; empty: the model goes on with a text."""


class AskedText(msgspec.Struct, frozen=True):
    """A text, and the state of the model that is asked about it."""

    text: str
    """Empty: the model is loaded, which is said with `ready`."""
    state: str
    """Path of its file."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The program; see the module's docstring."""
    parser = argparse.ArgumentParser(prog="use", description="Export or try the model in a state.")
    parser.add_argument("--manifest", type=Path, required=True, help="the collaboration's signed manifest")
    parser.add_argument("--blobs", type=Path, required=True, help="the folder of its files")
    parser.add_argument("--state", type=Path, required=True, help="a copy of it, in a folder that goes afterwards")
    parser.add_argument("--cache", type=Path, help="where libraries may leave files (default: beside the state)")
    uses = parser.add_subparsers(dest="use", required=True)
    export = uses.add_parser("export")
    export.add_argument("--out", type=Path, required=True, help="where the files go")
    export.add_argument("--experts", type=Path, help="a folder of their files, or the file of a run without others")
    export.add_argument("--incomplete", action="store_true", help="also where some of its experts are missing")
    uses.add_parser("try").add_argument("text", help="with blanks to be filled, or to go on with")
    uses.add_parser("answer")
    uses.add_parser("check")
    chosen = chosen_by(parser, arguments)
    return reporting(lambda: _load_and_use(chosen))


def _load_and_use(chosen: argparse.Namespace) -> None:
    try:
        offline(chosen.cache or chosen.state.parent / "cache")  # which the parent removes
        say("progress", text=later("Loading the model"), fraction=0.1)
        _use(chosen, read_manifest(chosen.manifest.read_bytes(), Ed25519Verifier()))
    except (OSError, SafetensorError) as error:
        system = system_error_of(error)
        if system is not None and chosen.use == "export":
            raise problem_of(system, chosen.out / "model.safetensors") from error
        raise UserProblem("The model cannot be read: {error}.", error) from error


def _use(chosen: argparse.Namespace, manifest: Manifest) -> None:
    if chosen.use == "check":
        from core.training.programs.check_state import checked  # noqa: PLC0415 - has torch, which takes seconds

        step_back()
        task = task_of(manifest, Blobs(chosen.blobs, manifest.blobs))
        half = partial(say, "progress", text="The first model is measured", fraction=0.5)
        say(**msgspec.to_builtins(checked(chosen.state, task, manifest, measured=half)))
        return
    if chosen.use == "export" and manifest.mixture is not None:
        from core.training.programs.mixture_export import exported  # noqa: PLC0415 - has torch, too

        task = task_of(manifest, Blobs(chosen.blobs, manifest.blobs))
        where = {"experts": chosen.experts, "out": chosen.out, "incomplete": chosen.incomplete}
        say(**msgspec.to_builtins(exported(chosen.state, task, manifest, **where)))
        return
    if manifest.mixture is not None:
        hint = "Write all of it with potluck export DIR, whose README.md says how it is loaded."
        raise BadInput("A model with experts cannot be tried: they live on many computers.", hint=hint)
    from transformers.utils import logging  # noqa: PLC0415 - takes seconds, and the parent is watched already

    from core.tasks.parameters import read_parameters  # noqa: PLC0415

    logging.disable_progress_bar()
    logging.set_verbosity_error()
    task = task_of(manifest, Blobs(chosen.blobs, manifest.blobs))
    model = read_parameters(chosen.state, task.model(0), called="The newest state").eval()
    if chosen.use == "export":
        _export(task, model, chosen.out)
        return
    if chosen.use == "try":
        _try(task.pretrained(model), chosen.text)
        return
    import torch  # noqa: PLC0415 - as above

    step_back()
    torch.set_num_threads(1)  # a sentence needs no more, and this computer averages for those who train
    _answer(task, model, chosen.state)


def _answer(task: Task, model: "torch.nn.Module", state: Path | None) -> None:
    """Answer all that is asked.

    Args:
        task: The model's.
        model: As it stands in a state.
        state: Path of that state.
    """
    from core.tasks.parameters import read_parameters  # noqa: PLC0415 - has torch

    found = task.pretrained(model)
    for line in given_lines():
        try:
            asked = msgspec.convert(line, AskedText | str)
            text = asked if isinstance(asked, str) else asked.text
            if isinstance(asked, AskedText) and Path(asked.state) != state:
                state = None  # as long as some of its numbers may be of another one
                found = task.pretrained(read_parameters(Path(asked.state), model, called="The state"))
                state = Path(asked.state)
            _try(found, text) if text else say("ready")
        except Problem as problem:
            say_problem(problem)


def _try(model: "Pretrained", text: str) -> None:
    from core.tasks.answers import continued, filled  # noqa: PLC0415 - has torch

    if model.tokenizer.mask_token is not None:
        say("filled", **msgspec.to_builtins(filled(model, text)))
    else:
        say("progress", text="Writing", fraction=0.6)
        say("continued", text=continued(model, text))


def _export(task: Task, model: "torch.nn.Module", out: Path) -> None:
    say("progress", text="Measuring it on text that it never learns from", fraction=0.3)
    evaluation = task.evaluate(model)
    say("progress", text="Writing the files", fraction=0.8)
    found = task.pretrained(model)
    found.save(out)
    done = Exported(
        loss=evaluation.score.loss,
        loss_name=task.loss_name,
        loss_unit=task.loss_unit,
        baselines={name: score.loss for name, score in evaluation.baselines.items()},
        parameters=found.network.num_parameters(),
        auto_class=found.auto_class,
        pipeline=found.pipeline,
        blank=found.tokenizer.mask_token or "",
    )
    say(**msgspec.to_builtins(done))


if __name__ == "__main__":
    sys.exit(main())
