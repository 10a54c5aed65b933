"""Charters for measurements: a recipe's, and others with the same text and other numbers."""

import sys
from pathlib import Path
from typing import Final

import msgspec

from core.backbone import charter as charters
from core.backbone.charter import Charter
from core.backbone.invitations import new_invitation
from core.base.manifest import AveragingNumbers, Numbers
from core.engine.founding import found, prepare
from core.storage.recipes import DEFAULT_RECIPE, open_recipe

NEVER: Final = 1_000_000
"""Epochs between two looks at the held-out text where a measurement wants none."""


async def charter_of(folder: Path, recipe: Path = DEFAULT_RECIPE) -> Charter:
    """Read a recipe's text, prepare its task, and found the collaboration.

    Args:
        folder: Of the new charter.
        recipe: The recipe's file.

    Raises:
        BadInput: the recipe or its text cannot be used.
        NoSpace: the disk is full.
        WorkerProblem: the preparation failed.
    """
    read = open_recipe(recipe)
    out = folder.with_name(f"{folder.name}-prepared")
    prepared = await prepare(read, out, called=recipe.name, stage=lambda *_: None)
    for note in prepared.notes:
        sys.stderr.write(f"{note}\n")
    return found(read, prepared, folder, invitation=new_invitation())


def changed(
    base: Charter,
    folder: Path,
    *,
    numbers: Numbers | None = None,
    averaging: AveragingNumbers | None = None,
    target: int | None = None,
    evaluate_every: int = NEVER,
) -> Charter:
    """The same text as another collaboration.

    Args:
        base: With the text's blobs.
        folder: Of the new charter.
        numbers: What is different about the model and its batches; None: nothing.
        averaging: How contributions are averaged; None: as they are.
        target: Samples of a step; None: as they are.
        evaluate_every: Epochs between two looks at the held-out text.
    """
    authority = charters.new_authority()
    manifest = base.manifest
    manifest = msgspec.structs.replace(
        manifest,
        numbers={**manifest.numbers, **(numbers or {})},
        blobs=charters.keep_blobs(folder, {name: base.blobs / hexed for name, hexed in manifest.blobs.items()}),
        averaging=averaging or manifest.averaging,
        target_samples=target or manifest.target_samples,
        evaluate_every=evaluate_every,
        authority=authority.peer_id.hex(),
    )
    return charters.found(folder, manifest, authority, new_invitation())
