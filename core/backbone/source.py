"""What a collaboration may read on a volunteer's computer."""

from pathlib import Path

from core.base.manifest import Manifest
from core.base.problems import NotTrusted


def check_source(manifest: Manifest, allowed: Path | None) -> None:
    """A manifest comes from a stranger: it reads no folder of this computer that the person has not named.

    Raises:
        NotTrusted: it wants another folder.
    """
    source = manifest.numbers.get("source", "")
    folder = isinstance(source, str) and (Path(source).is_absolute() or "/" in source or "\\" in source)
    if folder and str(allowed) != source:
        raise NotTrusted(
            f"This collaboration wants to read the folder {source} on this computer.",
            hint="If you trust its organiser, allow it with --text and the folder's name.",
        )
