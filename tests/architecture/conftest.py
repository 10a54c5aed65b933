"""What the tests of the architecture share."""

import pytest

from tests.architecture.measure import read_sources


@pytest.fixture(scope="session")
def sources():
    """All Python files of the program and of its tests, parsed once."""
    return read_sources()
