"""What a collaboration may read on a volunteer's computer."""

from pathlib import Path

from core.base.manifest import Manifest
from core.base.problems import NotTrusted


def wanted_folder(manifest: Manifest) -> str:
    """The folder or file of a volunteer's computer that a manifest names, the first of them; empty: none."""
    return next((source.path for source in manifest.sources if source.path), "")


def check_source(manifest: Manifest, allowed: Path | None) -> None:
    """A manifest comes from a stranger: it reads nothing on this computer that the person has not named.

    What the worst organiser gains: a sentence that names any text of up to 80 letters.

    Args:
        manifest: Manifest of the collaboration.
        allowed: The folder that the person named, absolute; None: none.

    Raises:
        NotTrusted: it wants another folder.
    """
    for source in manifest.sources:
        if source.path and (allowed is None or source.path != str(allowed)):
            message = "This collaboration wants to read the folder {path} on this computer."
            hint = "If you trust its organiser, allow it with --text and the folder's name."
            raise NotTrusted(message, repr(source.path[:80]), hint=hint)
