"""What a collaboration may read on a volunteer's computer."""

from pathlib import Path
from typing import Final

from core.base.manifest import Manifest
from core.base.problems import NotTrusted

HARMLESS_SOURCES: Final = frozenset({"", "python-docs"})
"""Sources that name nothing on this computer but the documentation that came with Python; a task's own is ""."""


def wanted_folder(manifest: Manifest) -> str:
    """The folder of a volunteer's computer that a manifest names; empty: none."""
    source = str(manifest.numbers.get("source", ""))
    return "" if source in HARMLESS_SOURCES else source


def check_source(manifest: Manifest, allowed: Path | None) -> None:
    """A manifest comes from a stranger: it reads no folder of this computer that the person has not named.

    What the worst organiser gains: a sentence that names any text of up to 80 letters.

    Args:
        manifest: Of the collaboration.
        allowed: The folder that the person named, absolute; None: none.

    Raises:
        NotTrusted: it wants another folder.
    """
    source = wanted_folder(manifest)
    if source and (allowed is None or source != str(allowed)):
        raise NotTrusted(
            f"This collaboration wants to read the folder {source[:80]!r} on this computer.",
            hint="If you trust its organiser, allow it with --text and the folder's name.",
        )
