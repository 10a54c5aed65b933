from pathlib import Path

import pytest

from core.backbone.source import check_source
from core.base.manifest import Manifest
from core.base.problems import NotTrusted


def manifest(**numbers: object) -> Manifest:
    return Manifest(name="n", organiser="o", task="albert", numbers=numbers, authority="0" * 64)


@pytest.mark.parametrize(
    "source", ["..", ".", "Notes", "~", "/etc", "../x", "C:x", "\\\\host\\share", "PYTHON-DOCS", 7, True]
)
@pytest.mark.parametrize("allowed", [None, Path("/texts")])
def test_folder_that_nobody_named_is_refused(source: object, allowed: Path | None) -> None:
    with pytest.raises(NotTrusted, match="wants to read the folder"):
        check_source(manifest(source=source), allowed)


def test_named_folder_and_the_documentation_are_allowed() -> None:
    check_source(manifest(source="/texts"), Path("/texts"))
    check_source(manifest(source="python-docs"), None)
    check_source(manifest(), None)
