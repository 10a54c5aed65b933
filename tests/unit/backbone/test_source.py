from pathlib import Path

import pytest

from core.base.data_source import DataSource
from core.base.manifest import Manifest
from core.base.problems import NotTrusted
from core.joining.look import check_source, wanted_folder


def manifest(*addresses: str) -> Manifest:
    sources = tuple(DataSource(address=address) for address in addresses)
    changes = {"data": sources} if sources else {}
    return Manifest(name="n", organiser="o", task="albert", authority="0" * 64, **changes)


@pytest.mark.parametrize("address", ["..", ".", "Notes", "~", "/etc", "../x", "C:x", "\\\\host\\share", "PYTHON-DOCS"])
@pytest.mark.parametrize("allowed", [None, Path("/texts")])
def test_folder_that_nobody_named_is_refused(address: str, allowed: Path | None) -> None:
    for found in (manifest(address), manifest("python-docs", "/texts", address)):
        with pytest.raises(NotTrusted, match="wants to read the folder"):
            check_source(found, allowed)


def test_named_folder_and_what_is_no_folder_are_allowed() -> None:
    check_source(manifest("/texts"), Path("/texts"))
    check_source(manifest("python-docs", "https://example.org/a.txt", "hf://datasets/ada/poems"), None)
    check_source(manifest(), None)
    assert wanted_folder(manifest("python-docs", "/texts")) == "/texts"
    assert not wanted_folder(manifest("https://example.org/a.txt"))
